/** The service's own PostgreSQL cannot be had. The message says what to do about it. */
export class EmbeddedError extends Error {
  override readonly name = 'EmbeddedError'
}
