import { AssertionError } from '../../lib/assert.ts'
import { JournalError } from '../journal/journal-error.ts'

/**
 * What is known about a write that failed outside of the journal.
 * - `not_written`: it never reached the database, or the database rolled it back.
 * - `unknown`: it was sent, and the outcome is unknown.
 * - `started`: a part of it is durable; repeating the request continues with the rest.
 * - `made`: it is durable, but what the answer needs could not be read.
 */
export type WriteOutcome = 'not_written' | 'unknown' | 'started' | 'made'

/** A write failed. Handled once, where the request is answered. */
export class WriteError extends Error {
  override readonly name = 'WriteError'
  readonly outcome: WriteOutcome

  constructor(outcome: WriteOutcome, message: string, options?: { cause: unknown }) {
    super(message, options)
    this.outcome = outcome
  }
}

/**
 * Nothing was written, because an earlier attempt at the same request was: its outcome was unknown to its caller, and its answer is kept.
 */
export class AlreadyAnsweredError extends WriteError {
  constructor(options: { cause: unknown }) {
    super('not_written', 'Cannot change the data of an agency: the request has been answered', options)
  }
}

/** Nothing was written, because the agency is a sandbox that is being reset or deleted, or has been meanwhile (E3). */
export class SandboxEndsError extends WriteError {
  constructor(options?: { cause: unknown }) {
    super('not_written', 'Cannot write to a sandbox: it is being reset or deleted', options)
  }
}

/** For work after a durable write: if it fails, the change was still made. */
export async function afterWrite<T>(rest: Promise<T>): Promise<T> {
  try {
    return await rest
  } catch (error) {
    if (error instanceof AssertionError) throw error
    throw new WriteError('made', 'Cannot complete the answer to a change that was made', { cause: error })
  }
}

/** Whether a failed change of the agency's own data is known not to be stored. If not, it may be stored. */
export function isNotWritten(error: unknown): boolean {
  return error instanceof JournalError || (error instanceof WriteError && error.outcome === 'not_written')
}

/** A write was refused, so nothing was changed. It is not known whether the refusal is in the audit trail. */
export class RefusalNotRecordedError extends Error {
  override readonly name = 'RefusalNotRecordedError'

  constructor(options: { cause: unknown }) {
    super('Cannot tell whether a refusal is in the audit trail: the database does not answer', options)
  }
}
