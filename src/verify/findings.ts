/** What can differ: the log itself, its chain, or something derived from it. */
export const DIFFERENCE_KINDS = [
  'journal',
  'chain',
  'checkpoint',
  'snapshot',
  'booking',
  'guest',
  'delivery',
  'memory',
] as const

/** A difference between the journal and something derived from it, or damage to the journal itself. */
export interface Difference {
  readonly what: (typeof DIFFERENCE_KINDS)[number]
  readonly unitId: string | null
  /** Location: an id, or an entry as `entryName` names it. */
  readonly at: string
  readonly message: string
}

export interface Verification {
  readonly units: number
  readonly entries: number
  readonly bookings: number
  readonly snapshots: number
  /** Entries that fire a webhook event. */
  readonly events: number
  /** At most `DIFFERENCES_MAX`. */
  readonly differences: readonly Difference[]
  /** Number of differences found, including those beyond `DIFFERENCES_MAX`. */
  readonly differenceCount: number
}

/** A completely damaged ledger differs in every row. The first differences are enough to see what happened. */
export const DIFFERENCES_MAX = 1_000

/** The findings of a verification so far. */
export class Findings {
  units = 0
  entries = 0
  bookings = 0
  snapshots = 0
  events = 0
  #count = 0
  readonly #differences: Difference[] = []

  add(what: Difference['what'], unitId: string | null, at: string, message: string): void {
    this.#count += 1
    if (this.#differences.length < DIFFERENCES_MAX) this.#differences.push({ what, unitId, at, message })
  }

  report(): Verification {
    const { units, entries, bookings, snapshots, events } = this
    return { units, entries, bookings, snapshots, events, differences: this.#differences, differenceCount: this.#count }
  }
}

/** `17/4711`: entry 4711 of shard 17. */
export function entryName(shard: number, seq: number): string {
  return `${shard}/${seq}`
}

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
