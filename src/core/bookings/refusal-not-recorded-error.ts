/** A write was refused, so nothing was changed, and nobody can say whether its line is in the audit trail. */
export class RefusalNotRecordedError extends Error {
  override readonly name = 'RefusalNotRecordedError'

  constructor(options: { cause: unknown }) {
    super('Cannot tell whether a refusal is in the audit trail: the database does not answer', options)
  }
}
