/**
 * Why a record did not become durable. Handled once, where a request is answered. Every kind but `outcome_unknown` means
 * that the record is not written and never will be.
 * - `full`: too many records already wait.
 * - `held_too_long`: the record was not written within the time that a write may wait.
 * - `fenced`: another writer has taken over; this process is exiting.
 * - `not_owner`: another process of the cluster owns the shard, or will in a moment; this one continues with its other shards.
 * - `closed`: this process is exiting.
 * - `poisoned`: the database rejected the data: a bug of ours (J4).
 * - `outcome_unknown`: the batch was sent, and it is no longer possible to find out whether it was written.
 */
export type JournalErrorKind =
  | 'full'
  | 'held_too_long'
  | 'fenced'
  | 'not_owner'
  | 'closed'
  | 'poisoned'
  | 'outcome_unknown'

export class JournalError extends Error {
  override readonly name = 'JournalError'
  readonly kind: JournalErrorKind

  constructor(kind: JournalErrorKind, message: string, options?: { cause: unknown }) {
    super(message, options)
    this.kind = kind
  }
}

export function journalFull(waiting: number): JournalError {
  return new JournalError('full', `Cannot append: ${waiting} records already wait`)
}

export function heldTooLong(queuedMsMax: number): JournalError {
  return new JournalError(
    'held_too_long',
    `Cannot append: the database did not accept the record within ${queuedMsMax} ms`,
  )
}

export function fenced(cause: unknown): JournalError {
  return new JournalError('fenced', 'Cannot append: another writer has taken over', { cause })
}

/** @param cause of a fence; left out when the shard was given up */
export function notOwner(cause?: unknown): JournalError {
  const message = 'Cannot append: this process does not own the shard'
  return cause === undefined
    ? new JournalError('not_owner', message)
    : new JournalError('not_owner', message, { cause })
}

export function journalClosed(): JournalError {
  return new JournalError('closed', 'Cannot append: the journal is closed')
}

export function poisoned(cause: unknown): JournalError {
  return new JournalError('poisoned', 'Cannot append: the database refused the record', { cause })
}

export function outcomeUnknown(cause: unknown): JournalError {
  return new JournalError('outcome_unknown', 'Cannot tell whether the record was appended', { cause })
}

/** A journal row or snapshot does not say what it said when it was written. */
export class CorruptLedgerError extends Error {
  override readonly name = 'CorruptLedgerError'
}

/** @throws CorruptLedgerError */
export function corrupt(what: string): never {
  throw new CorruptLedgerError(`Cannot read the ledger: ${what} is not as it was written`)
}
