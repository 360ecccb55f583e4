/**
 * Why a record did not become durable. Handled once, where a request is answered.
 * - `full`: too many records already wait. Surely not written.
 * - `held_too_long`: the database was away for longer than a write is held. Surely not written.
 * - `fenced`: another writer has taken over; this process is ending. Surely not written.
 * - `closed`: this process is ending. Surely not written.
 * - `poisoned`: the database refused the data: a bug of ours (J4). Surely not written.
 * - `outcome_unknown`: the batch was sent, and nobody can say any more whether it was written.
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
