/**
 * Retries storing a revocation every second until it succeeds or is cancelled. Also after a fence: the epoch of this writer
 * may just have risen, and a process that has been fenced out exits anyway.
 */

import type { InvalidChange } from '../core/domain/night-guard.ts'
import { AssertionError } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'

/** The slug is another agency's, or another unit's of the same agency. */
interface SlugTaken {
  readonly code: 'SLUG_TAKEN'
  readonly slug: string
}

/** The agency has a sandbox, or is one. */
interface SandboxExists {
  readonly code: 'SANDBOX_EXISTS'
  /** Of the sandbox. */
  readonly slug: string
}

/**
 * Another guest of the agency has the e-mail: guests are matched by it, so it must be unique (docs/design.md#data-outside-units). Or another
 * person has it: a provider signs them in by it.
 */
interface EmailTaken {
  readonly code: 'EMAIL_TAKEN'
  readonly email: string
}

/** The agency would have no owner left who can sign in, or the person no passkey. */
interface LastOne {
  readonly code: 'LAST_OWNER' | 'LAST_PASSKEY'
}

/** The unit no longer has the rates, or the restrictions, that the change was based on. */
export interface RulesChanged {
  readonly code: 'RATES_CHANGED' | 'RESTRICTIONS_CHANGED'
}

/** The booking no longer has the notes that the change was based on. */
interface NotesChanged {
  readonly code: 'NOTES_CHANGED'
  /** Those that it has. */
  readonly notes: string | null
}

/** Why a change of the agency's own data is refused. A value, never thrown. */
type AgencyRefusal = SlugTaken | SandboxExists | EmailTaken | LastOne | RulesChanged | NotesChanged | InvalidChange

export type AgencyOutcome<T> =
  | { readonly kind: 'done'; readonly value: T }
  | { readonly kind: 'refused'; readonly refusal: AgencyRefusal }
  | { readonly kind: 'not_found' }

export function done<T>(value: T): AgencyOutcome<T> {
  return { kind: 'done', value }
}

export function refused(refusal: AgencyRefusal): Extract<AgencyOutcome<never>, { kind: 'refused' }> {
  return { kind: 'refused', refusal }
}

export const NOT_FOUND = { kind: 'not_found' } as const

/** Pause between two attempts to store, or to read, what is not known to be stored. */
export const RETRY_EVERY_MS = 1_000

interface Pending {
  readonly store: () => Promise<void>
  cancel: () => void
}

export class StoreRetries {
  readonly #clock: Clock
  /** One entry for each thing that exists, at most. */
  readonly #pending = new Map<string, Pending>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Replaces what is still pending for `id`.
   * @param store may run although an earlier attempt was written: repeating it must change nothing
   */
  later(id: string, store: () => Promise<void>): void {
    this.cancel(id)
    const pending: Pending = { store, cancel: () => {} }
    this.#pending.set(id, pending)
    this.#schedule(id, pending)
  }

  /** Does not undo an attempt in progress. */
  cancel(id: string): void {
    this.#pending.get(id)?.cancel()
    this.#pending.delete(id)
  }

  #schedule(id: string, pending: Pending): void {
    pending.cancel = this.#clock.after(RETRY_EVERY_MS, () => void this.#attempt(id, pending))
  }

  async #attempt(id: string, pending: Pending): Promise<void> {
    const isStored = await this.#isStored(pending)
    if (this.#pending.get(id) !== pending) return
    if (isStored) this.#pending.delete(id)
    else this.#schedule(id, pending)
  }

  async #isStored({ store }: Pending): Promise<boolean> {
    try {
      await store()
      return true
    } catch (error) {
      if (error instanceof AssertionError) throw error
      return false
    }
  }
}

/** What gives others access. */
export type Access = 'key' | 'access_token' | 'person' | 'agency' | 'calendar_address' | 'session' | 'other_session'

/**
 * Access was revoked in this process until it exits, but it is not known whether the revocation is stored. Repeating the request
 * stores it.
 */
export class RevocationNotStoredError extends Error {
  override readonly name = 'RevocationNotStoredError'
  readonly access: Access

  constructor(access: Access, options: { cause: unknown }) {
    super(`Cannot store that access is closed: ${access}`, options)
    this.access = access
  }
}
