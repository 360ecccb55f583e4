/** A difference between the journal and something derived from it, or damage to the journal itself. */
export interface Difference {
  readonly what: 'journal' | 'snapshot' | 'booking' | 'guest' | 'event' | 'audit' | 'delivery' | 'memory'
  readonly unitId: string | null
  /** Location: an id or a sequence number. */
  readonly at: string
  readonly message: string
}

export interface Verification {
  readonly lastSeq: number
  readonly units: number
  readonly entries: number
  readonly bookings: number
  readonly snapshots: number
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

  report(lastSeq: number): Verification {
    const { units, entries, bookings, snapshots, events } = this
    const differences = this.#differences
    return { lastSeq, units, entries, bookings, snapshots, events, differences, differenceCount: this.#count }
  }
}
