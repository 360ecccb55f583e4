/**
 * Holds the journal, which is the truth, against everything derived from it: snapshots, rows, events, audit lines and,
 * inside a running service, the actors' memory. Reads only, and runs beside a live service.
 */
import type { Booking } from '../domain/booking.ts'
import type { BookingEvent, UnitEvent } from '../domain/event.ts'
import { formatNight } from '../domain/night.ts'
import { UnitState } from '../domain/unit-state.ts'
import { decodeEntry, type StoredEntry, unitsOf } from '../journal/entry-codec.ts'
import type { UnitAddress } from '../journal/recovery.ts'
import { decodeSnapshot, stateHash } from '../journal/snapshot-codec.ts'
import { eventKind } from '../webhooks/envelope.ts'
import type { ProjectedBooking, StoredEvent, VerifyStore } from './verify-store.ts'

/** Something that is not what the journal says. */
export interface Difference {
  readonly what: 'journal' | 'snapshot' | 'booking' | 'guest' | 'event' | 'audit' | 'delivery' | 'memory'
  readonly unitId: string | null
  /** Where to look: an id or a sequence number. */
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
  readonly differences: readonly Difference[]
}

/** The memory of a running service: the hash of a resident unit's state and its sequence number; null if not resident. */
export type LiveUnit = (unitId: string) => { seq: number; hash: string } | null

const UNITS_PER_LOOK = 500

/** Checks everything up to the journal's end at the moment of the call. */
export async function verify(
  store: VerifyStore,
  options: { readonly live?: LiveUnit; readonly onProgress?: (units: number) => void } = {},
): Promise<Verification> {
  const { lastSeq, entries, numbers } = await store.extent()
  const found = new Findings()
  if (entries !== lastSeq || numbers !== lastSeq) {
    found.add(
      'journal',
      null,
      String(lastSeq),
      `it has ${entries} entries and ${numbers} numbers up to ${lastSeq} (J3)`,
    )
  }
  let after: UnitAddress = { agencyId: '', unitId: '' }
  let traces: AgencyTraces = { agencyId: '', events: new Map(), auditLines: new Map() }
  for (;;) {
    const units = await store.units(after, UNITS_PER_LOOK)
    for (const unit of units) {
      if (traces.agencyId !== unit.agencyId) traces = await tracesOf(store, unit.agencyId, lastSeq)
      await verifyUnit({ store, unit, lastSeq, found, live: options.live, traces })
    }
    options.onProgress?.(found.units)
    const last = units.at(-1)
    if (last === undefined) break
    after = last
  }
  for (const id of await store.strayDeliveries()) found.add('delivery', null, id, 'its event or endpoint is missing')
  for (const id of await store.orphanedDeliveries())
    found.add('delivery', null, id, 'it is pending, and its endpoint is deleted')
  return found.report(lastSeq)
}

class Findings {
  units = 0
  entries = 0
  bookings = 0
  snapshots = 0
  events = 0
  readonly #differences: Difference[] = []

  add(what: Difference['what'], unitId: string | null, at: string, message: string): void {
    this.#differences.push({ what, unitId, at, message })
  }

  report(lastSeq: number): Verification {
    const { units, entries, bookings, snapshots, events } = this
    return { lastSeq, units, entries, bookings, snapshots, events, differences: this.#differences }
  }
}

interface AgencyTraces {
  readonly agencyId: string
  /** By sequence number. */
  readonly events: ReadonlyMap<number, StoredEvent>
  /** By booking. */
  readonly auditLines: ReadonlyMap<string, number>
}

async function tracesOf(store: VerifyStore, agencyId: string, lastSeq: number): Promise<AgencyTraces> {
  const [events, auditLines] = await Promise.all([store.events(agencyId, lastSeq), store.auditLines(agencyId)])
  return { agencyId, events: new Map(events.map((event) => [event.seq, event])), auditLines }
}

async function verifyUnit(input: {
  store: VerifyStore
  unit: UnitAddress
  lastSeq: number
  found: Findings
  live: LiveUnit | undefined
  traces: AgencyTraces
}): Promise<void> {
  const { store, unit, lastSeq, found, live } = input
  found.units += 1
  const memory = live?.(unit.unitId) ?? null
  const stored = await store.entries(unit, Math.max(lastSeq, memory?.seq ?? 0))
  const entries = readable(stored, unit, found)
  const hashes = replay(entries, unit, found)
  if (hashes === null) return
  if (memory !== null && hashes.get(memory.seq) !== memory.hash) {
    found.add('memory', unit.unitId, String(memory.seq), 'the actor is not what a replay of the journal gives (U1)')
  }
  for (const snapshot of await store.snapshots(unit, lastSeq)) {
    found.snapshots += 1
    const { state, defect } = decodeSnapshot(snapshot)
    if (state === null) found.add('snapshot', unit.unitId, String(snapshot.seq), defect ?? 'it cannot be read')
    else if (hashes.get(snapshot.seq) !== snapshot.hash) {
      found.add('snapshot', unit.unitId, String(snapshot.seq), 'it is not what a replay of the journal gives (S1)')
    }
  }
  const within = entries.filter(({ seq }) => seq <= lastSeq)
  found.entries += within.filter(({ event }) => unitsOf(event).unitId === unit.unitId).length
  await verifyRows({ store, unit, lastSeq, entries: within, found, traces: input.traces })
  verifyEvents(input.traces, unit, within, found)
}

interface Entry {
  readonly seq: number
  readonly event: UnitEvent
}

function readable(stored: readonly StoredEntry[], { unitId }: UnitAddress, found: Findings): Entry[] {
  return stored.flatMap((entry) => {
    try {
      return [{ seq: entry.seq, event: decodeEntry(entry) }]
    } catch (error) {
      found.add('journal', unitId, String(entry.seq), error instanceof Error ? error.message : String(error))
      return []
    }
  })
}

/** The hash of the unit's state after each of its entries; null when they cannot be replayed. */
function replay(entries: readonly Entry[], { unitId }: UnitAddress, found: Findings): Map<number, string> | null {
  const state = UnitState.empty(unitId)
  const hashes = new Map<number, string>()
  for (const { seq, event } of entries) {
    try {
      state.apply(event, seq)
    } catch (error) {
      found.add('journal', unitId, String(seq), error instanceof Error ? error.message : String(error))
      return null
    }
    hashes.set(seq, stateHash(state))
  }
  return hashes
}

/** The rows of the unit's bookings are what its last events say; none is missing, none is invented. */
async function verifyRows(input: {
  store: VerifyStore
  unit: UnitAddress
  lastSeq: number
  entries: readonly Entry[]
  found: Findings
  traces: AgencyTraces
}): Promise<void> {
  const { store, unit, lastSeq, entries, found } = input
  const expected = new Map<string, { seq: number; booking: Booking }>()
  for (const { seq, event } of entries) {
    if (event.kind !== 'unit_set') expected.set(event.after.id, { seq, booking: event.after })
  }
  for (const [id, { booking }] of expected) if (booking.unitId !== unit.unitId) expected.delete(id)

  const rows = new Map((await store.bookingsIn(unit)).map((row) => [row.booking.id, row]))
  const elsewhere = [...expected.keys()].filter((id) => !rows.has(id))
  for (const row of await store.bookingsById(unit.agencyId, elsewhere)) rows.set(row.booking.id, row)

  for (const [id, { seq, booking }] of expected) {
    found.bookings += 1
    const row = rows.get(id)
    // Changed since the look at the journal's end: the next verification sees it.
    if (row !== undefined && row.seq > lastSeq) continue
    if (row === undefined) found.add('booking', unit.unitId, id, 'the journal has it, the table has not')
    else verifyRow(row, seq, booking, input)
  }
  for (const [id, row] of rows) {
    if (!expected.has(id) && row.seq <= lastSeq) {
      found.add('booking', unit.unitId, id, 'the table has it, the journal has not')
    }
  }
}

function verifyRow(
  row: ProjectedBooking,
  seq: number,
  booking: Booking,
  { found, traces }: { found: Findings; traces: AgencyTraces },
): void {
  const members = (Object.keys(booking) as (keyof Booking)[]).filter((name) => row.booking[name] !== booking[name])
  const { id, unitId } = booking
  if (members.length > 0) found.add('booking', unitId, id, `${members.join(', ')} differ from journal entry ${seq}`)
  if (row.seq !== seq) found.add('booking', unitId, id, `it says entry ${row.seq}, the journal's last of it is ${seq}`)
  if (!row.hasGuest) found.add('guest', unitId, id, `its guest ${row.guestId} does not exist`)
  const lines = traces.auditLines.get(id) ?? 0
  if (lines < booking.version) found.add('audit', unitId, id, `${booking.version} changes have ${lines} lines`)
}

/** Every change that is news has its event, with the booking of that moment; no other change has one. */
function verifyEvents(traces: AgencyTraces, unit: UnitAddress, entries: readonly Entry[], found: Findings): void {
  for (const { seq, event } of entries) {
    // A move is filed under the unit it went to, and looked at there.
    if (event.kind === 'unit_set' || event.after.unitId !== unit.unitId) continue
    const wanted = eventKind(event)
    const stored = traces.events.get(seq)
    if (stored !== undefined) found.events += 1
    if ((stored?.kind ?? null) !== wanted) {
      const [is, should] = [stored?.kind ?? 'missing', wanted ?? 'none']
      found.add('event', unit.unitId, String(seq), `it is ${is} and should be ${should}`)
    } else if (stored !== undefined && !isOf(stored, event)) {
      found.add('event', unit.unitId, String(seq), 'its body is not of this change')
    }
  }
}

function isOf({ seq, body }: StoredEvent, { after }: BookingEvent): boolean {
  return (
    body.seq === seq &&
    body.id === after.id &&
    body.version === after.version &&
    body.status === after.status &&
    body.arrival === formatNight(after.arrival) &&
    body.departure === formatNight(after.departure) &&
    body.totalAmount === after.totalAmount
  )
}
