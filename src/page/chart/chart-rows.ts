/**
 * The units and stays that the chart shows. Three things write it: pages of the tape, the stream of changes and the
 * user's own writes. They come in any order, so a stay is only replaced by one of the same or a later version, and a
 * cancelled one is remembered.
 *
 * A list of stays is never changed, only replaced: a row is drawn again when its list is another one.
 */
import type { Day } from '../format/days.ts'
import type { ChartUnit, Stay } from './stay.ts'

export class ChartRows {
  #units: readonly ChartUnit[] = []
  readonly #byId = new Map<string, Stay>()
  /** The same stays by unit and id. */
  readonly #stored = new Map<string, Map<string, Stay>>()
  /** By unit, sorted by arrival. */
  readonly #shown = new Map<string, readonly Stay[]>()
  /** Versions of cancelled stays: a page of the tape that was read earlier must not bring them back. */
  readonly #cancelled = new Map<string, number>()
  /** Stays as they will be if the server accepts the write in flight. */
  readonly #expected = new Map<string, Stay>()
  readonly #listeners = new Set<() => void>()
  #revision = 0

  /** Changes with every change of anything. */
  get revision(): number {
    return this.#revision
  }

  get units(): readonly ChartUnit[] {
    return this.#units
  }

  /** Called after every change; returns the way to stop that. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Sorted by arrival, with the writes in flight applied. */
  staysOf(unit: string): readonly Stay[] {
    return this.#shown.get(unit) ?? NO_STAYS
  }

  /** As it is drawn. */
  stay(id: string): Stay | null {
    return this.#expected.get(id) ?? this.#byId.get(id) ?? null
  }

  /** As the server has it, whatever is in flight. */
  stored(id: string): Stay | null {
    return this.#byId.get(id) ?? null
  }

  all(): IterableIterator<Stay> {
    return this.#byId.values()
  }

  /** Adds a page of the tape. */
  add(units: readonly ChartUnit[], stays: readonly Stay[]): void {
    const known = new Map(this.#units.map((unit) => [unit.slug, unit]))
    for (const unit of units)
      known.set(unit.slug, { ...unit, closed: [...(known.get(unit.slug)?.closed ?? []), ...unit.closed] })
    this.#units = [...known.values()].sort(byName)
    const touched = new Set<string>()
    for (const stay of stays) this.#keep(stay, touched)
    this.#rebuild(touched)
  }

  /** Forgets everything but what is in flight, then adds. */
  replace(units: readonly ChartUnit[], stays: readonly Stay[]): void {
    this.#units = []
    this.#byId.clear()
    this.#stored.clear()
    this.#shown.clear()
    this.#cancelled.clear()
    this.add(units, stays)
    this.#rebuild(new Set([...this.#expected.values()].map(({ unit }) => unit)))
  }

  putUnit(unit: ChartUnit): void {
    const at = this.#units.findIndex(({ slug }) => slug === unit.slug)
    this.#units = (at === -1 ? [...this.#units, unit] : this.#units.with(at, unit)).sort(byName)
    this.#changed()
  }

  /** A booking as the server has just said it to be. */
  put(stay: Stay): void {
    const touched = new Set<string>()
    this.#keep(stay, touched)
    this.#rebuild(touched)
  }

  /** Shows a stay as it will be if a write succeeds. */
  expect(stay: Stay): void {
    const touched = new Set([stay.unit])
    const shown = this.stay(stay.id)
    if (shown !== null) touched.add(shown.unit)
    this.#expected.set(stay.id, stay)
    this.#rebuild(touched)
  }

  /** Shows what the server has: the write has failed, or its answer has been put. */
  settle(id: string): void {
    const expected = this.#expected.get(id)
    if (expected === undefined) return
    const touched = new Set([expected.unit])
    const stored = this.#byId.get(id)
    if (stored !== undefined) touched.add(stored.unit)
    this.#expected.delete(id)
    this.#rebuild(touched)
  }

  #keep(stay: Stay, touched: Set<string>): void {
    const known = this.#byId.get(stay.id)
    const versionSeen = known?.version ?? this.#cancelled.get(stay.id) ?? 0
    if (versionSeen > stay.version) return
    if (known !== undefined) {
      touched.add(known.unit)
      this.#byId.delete(stay.id)
      this.#stored.get(known.unit)?.delete(stay.id)
    }
    if (stay.status === 'cancelled') {
      this.#cancelled.set(stay.id, stay.version)
    } else {
      touched.add(stay.unit)
      this.#byId.set(stay.id, stay)
      const inUnit = this.#stored.get(stay.unit)
      if (inUnit === undefined) this.#stored.set(stay.unit, new Map([[stay.id, stay]]))
      else inUnit.set(stay.id, stay)
    }
  }

  #rebuild(touched: ReadonlySet<string>): void {
    for (const unit of touched) {
      const stays = [...(this.#stored.get(unit)?.values() ?? [])].filter(({ id }) => !this.#expected.has(id))
      for (const expected of this.#expected.values()) if (expected.unit === unit) stays.push(expected)
      this.#shown.set(
        unit,
        stays.sort((a, b) => a.arrival - b.arrival),
      )
    }
    this.#changed()
  }

  #changed(): void {
    this.#revision++
    for (const listener of this.#listeners) listener()
  }
}

const NO_STAYS: readonly Stay[] = []

const names = new Intl.Collator(undefined, { numeric: true })

/** Archived units last. */
function byName(a: ChartUnit, b: ChartUnit): number {
  return Number(a.isArchived) - Number(b.isArchived) || names.compare(a.name, b.name)
}

/** Whether nobody sleeps in the unit on any night of the stay. `exceptId`: a stay that is being moved itself. */
export function isFree(
  stays: readonly Stay[],
  { arrival, departure }: { readonly arrival: Day; readonly departure: Day },
  exceptId?: string,
): boolean {
  return !stays.some((stay) => stay.arrival < departure && arrival < stay.departure && stay.id !== exceptId)
}

/** The stay of the night that begins on a day. */
export function stayOn(stays: readonly Stay[], day: Day): Stay | null {
  return stays.find((stay) => stay.arrival <= day && day < stay.departure) ?? null
}
