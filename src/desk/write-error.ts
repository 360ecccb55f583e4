import { JournalError } from '../journal/journal-error.ts'
import { AssertionError } from '../lib/assert.ts'

/**
 * What is known of a write that failed outside of the journal.
 * - `not_written`: it never reached the database, or the database took it back.
 * - `unknown`: it was sent, and nobody can say whether it was written.
 * - `begun`: a part of it is durable; the same request again goes on with the rest.
 * - `made`: it is durable, and only what the answer needs could not be read.
 */
export type WriteOutcome = 'not_written' | 'unknown' | 'begun' | 'made'

/** A write did not end in an answer. Handled once, where the request is answered. */
export class WriteError extends Error {
  override readonly name = 'WriteError'
  readonly outcome: WriteOutcome

  constructor(outcome: WriteOutcome, message: string, options?: { cause: unknown }) {
    super(message, options)
    this.outcome = outcome
  }
}

/** What follows on a write that is durable: if it fails, the change was made all the same. */
export async function afterWrite<T>(rest: Promise<T>): Promise<T> {
  try {
    return await rest
  } catch (error) {
    if (error instanceof AssertionError) throw error
    throw new WriteError('made', 'Cannot complete the answer to a change that was made', { cause: error })
  }
}

/** Whether a change of the agency's own data that failed is known not to be stored; otherwise it may be. */
export function isNotWritten(error: unknown): boolean {
  return error instanceof JournalError || (error instanceof WriteError && error.outcome === 'not_written')
}
