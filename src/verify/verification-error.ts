/**
 * - `not_started`: there was no process for it.
 * - `ended`: its process ended.
 * - `failed`: the database did not answer.
 * - `broken`: a bug of ours; its process has logged it.
 * - `overdue`: it took longer than `VERIFICATION_MS_MAX`.
 * - `abandoned`: nobody waited for it.
 */
export type VerificationErrorKind = 'not_started' | 'ended' | 'failed' | 'broken' | 'overdue' | 'abandoned'

/** A verification did not finish; the ledger may be fine. */
export class VerificationError extends Error {
  override readonly name = 'VerificationError'
  constructor(
    readonly kind: VerificationErrorKind,
    message: string,
    options?: { cause: unknown },
  ) {
    super(message, options)
  }
}
