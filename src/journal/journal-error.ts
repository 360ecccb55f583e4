/**
 * Why a record did not become durable. Handled once, where a request is answered. Every kind but `outcome_unknown` means
 * that the record is not written and never will be.
 * - `full`: too many records already wait.
 * - `held_too_long`: the database did not take the record within the time that a write is held.
 * - `fenced`: another writer has taken over; this process is ending.
 * - `closed`: this process is ending.
 * - `poisoned`: the database refused the data: a bug of ours (J4).
 * - `outcome_unknown`: the batch was sent, and whether it was written cannot be found out any more.
 */
export type JournalErrorKind = 'full' | 'held_too_long' | 'fenced' | 'closed' | 'poisoned' | 'outcome_unknown'

export class JournalError extends Error {
  override readonly name = 'JournalError'
  readonly kind: JournalErrorKind

  constructor(kind: JournalErrorKind, message: string, options?: { cause: unknown }) {
    super(message, options)
    this.kind = kind
  }
}
