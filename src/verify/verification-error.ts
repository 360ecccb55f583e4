export type VerificationErrorKind = 'ended' | 'failed' | 'overdue' | 'abandoned'

/** A verification did not finish; the ledger may be fine. */
export class VerificationError extends Error {
  override readonly name = 'VerificationError'
  constructor(
    readonly kind: VerificationErrorKind,
    message: string,
  ) {
    super(message)
  }
}
