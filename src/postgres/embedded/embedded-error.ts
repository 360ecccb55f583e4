/** The embedded PostgreSQL is not available. The message says what to do about it. */
export class EmbeddedError extends Error {
  override readonly name = 'EmbeddedError'
}
