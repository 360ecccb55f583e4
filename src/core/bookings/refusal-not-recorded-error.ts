/** A write was refused, so nothing was changed. It is not known whether the refusal is in the audit trail. */
export class RefusalNotRecordedError extends Error {
  override readonly name = 'RefusalNotRecordedError'

  constructor(options: { cause: unknown }) {
    super('Cannot tell whether a refusal is in the audit trail: the database does not answer', options)
  }
}
