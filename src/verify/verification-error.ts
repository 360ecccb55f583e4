/**
 * - `not_started`: its process could not be started.
 * - `ended`: its process ended.
 * - `failed`: the database did not answer.
 * - `broken`: a bug in this program; the process has logged it.
 * - `overdue`: it took longer than `VERIFICATION_MS_MAX`.
 * - `abandoned`: no caller was waiting for it any more.
 */
export type VerificationErrorKind = 'not_started' | 'ended' | 'failed' | 'broken' | 'overdue' | 'abandoned'

/** A verification did not finish. This says nothing about the ledger. */
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
