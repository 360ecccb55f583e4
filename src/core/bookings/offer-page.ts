import type { MinorUnits } from '../domain/money.ts'
import type { Night } from '../domain/night.ts'

export const OFFER_SORTS = ['total', '-total', 'arrival', 'name'] as const
export type OfferSort = (typeof OFFER_SORTS)[number]

/** A stay in the unit with this place in the list of units. */
export interface FoundStay {
  readonly unit: number
  readonly arrival: Night
  readonly total: MinorUnits
}

/**
 * One page of a list that is found piece by piece and never held as a whole: a heap of the rows up to the end of the page, the last of
 * them at the root. A row beyond the page costs one comparison, and no step of the work takes long. 16 bytes a row.
 */
export class OfferPage {
  readonly #sort: OfferSort
  readonly #offset: number
  readonly #rowsMax: number
  readonly #ranks: Uint32Array
  #units = new Uint32Array(64)
  #arrivals = new Uint32Array(64)
  #totals = new Float64Array(64)
  #size = 0
  #found = 0

  /** @param ranks by a unit's place in the list: the place of its name, which is the same for units of the same name */
  constructor(sort: OfferSort, { offset, limit }: { offset: number; limit: number }, ranks: Uint32Array) {
    this.#sort = sort
    this.#offset = offset
    this.#rowsMax = offset + limit
    this.#ranks = ranks
  }

  /** Rows added, on this page or not. */
  get found(): number {
    return this.#found
  }

  /** @returns how many rows it was compared with: at most one and twice the binary logarithm of those on the heap */
  add(unit: number, arrival: Night, total: MinorUnits): number {
    this.#found += 1
    if (this.#size < this.#rowsMax) {
      if (this.#size === this.#units.length) this.#grow()
      this.#set(this.#size, unit, arrival, total)
      this.#size += 1
      return this.#rise(this.#size - 1)
    }
    if (!this.#isBefore(unit, arrival, total, 0)) return 1
    this.#set(0, unit, arrival, total)
    return 1 + this.#sink()
  }

  /** The rows of the page, in order. Call it once, at the end: it empties the heap. */
  take(): FoundStay[] {
    const rows: FoundStay[] = []
    while (this.#size > this.#offset) {
      rows.push({ unit: this.#units[0] ?? 0, arrival: (this.#arrivals[0] ?? 0) as Night, total: this.#totals[0] ?? 0 })
      this.#size -= 1
      this.#copy(this.#size, 0)
      this.#sink()
    }
    return rows.reverse()
  }

  /** Whether a row comes before the one at `at` (docs/partner-additions.md#3-get-search-what-can-be-booked-with-exact-totals). */
  #isBefore(unit: number, arrival: number, total: number, at: number): boolean {
    if (this.#sort === 'total' || this.#sort === '-total') {
      const difference = total - (this.#totals[at] ?? 0)
      if (difference !== 0) return this.#sort === 'total' ? difference < 0 : difference > 0
    }
    const byArrival = arrival - (this.#arrivals[at] ?? 0)
    if (this.#sort === 'arrival' && byArrival !== 0) return byArrival < 0
    const other = this.#units[at] ?? 0
    const byName = (this.#ranks[unit] ?? 0) - (this.#ranks[other] ?? 0)
    if (byName !== 0) return byName < 0
    return byArrival === 0 ? unit < other : byArrival < 0
  }

  #isRowBefore(a: number, b: number): boolean {
    return this.#isBefore(this.#units[a] ?? 0, this.#arrivals[a] ?? 0, this.#totals[a] ?? 0, b)
  }

  #rise(from: number): number {
    let compared = 0
    for (let at = from; at > 0; ) {
      const parent = (at - 1) >> 1
      compared += 1
      if (!this.#isRowBefore(parent, at)) break
      this.#swap(at, parent)
      at = parent
    }
    return compared
  }

  /** From the root. */
  #sink(): number {
    let compared = 0
    for (let at = 0; ; ) {
      const left = 2 * at + 1
      if (left >= this.#size) break
      const right = left + 1
      const last = right < this.#size && this.#isRowBefore(left, right) ? right : left
      compared += 2
      if (!this.#isRowBefore(at, last)) break
      this.#swap(at, last)
      at = last
    }
    return compared
  }

  #swap(a: number, b: number): void {
    const [unit, arrival, total] = [this.#units[a] ?? 0, this.#arrivals[a] ?? 0, this.#totals[a] ?? 0]
    this.#copy(b, a)
    this.#set(b, unit, arrival, total)
  }

  #copy(from: number, to: number): void {
    this.#set(to, this.#units[from] ?? 0, this.#arrivals[from] ?? 0, this.#totals[from] ?? 0)
  }

  #set(at: number, unit: number, arrival: number, total: number): void {
    this.#units[at] = unit
    this.#arrivals[at] = arrival
    this.#totals[at] = total
  }

  #grow(): void {
    const rows = 2 * this.#units.length
    this.#units = extended(this.#units, new Uint32Array(rows))
    this.#arrivals = extended(this.#arrivals, new Uint32Array(rows))
    this.#totals = extended(this.#totals, new Float64Array(rows))
  }
}

function extended<T extends Uint32Array | Float64Array>(from: T, to: T): T {
  to.set(from)
  return to
}
