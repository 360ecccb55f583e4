import type { BookingEvent, UnitEvent } from '../core/domain/event.ts'
import { UnitState } from '../core/domain/unit-state.ts'
import { decodeEntry, type StoredEntry, unitsOf } from '../core/journal/entry-codec.ts'
import type { UnitAddress } from '../core/journal/recovery.ts'
import { decodeSnapshot, type StoredSnapshot, stateHash } from '../core/journal/snapshot-codec.ts'
import { eventKind } from '../webhooks/envelope.ts'
import type { Findings } from './findings.ts'
import type { ProjectedBooking, VerifyStore } from './verify-store.ts'

/** A resident unit's state in the memory of a running service. */
export interface LiveUnit {
  readonly seq: number
  readonly hash: string
}

/** More snapshots than are kept of a unit. */
const SNAPSHOTS_MAX = 100

/** Replays one unit, page by page, and compares its rows, snapshots and memory with the replay. */
export async function verifyUnit(input: {
  readonly store: VerifyStore
  readonly unit: UnitAddress
  readonly lastSeq: number
  readonly limit: number
  readonly found: Findings
  readonly memory: LiveUnit | null
  /** Whether the journal entry of this number has an event. */
  readonly isAnnounced: (seq: number) => boolean
}): Promise<void> {
  const { store, unit, lastSeq, limit, found, memory } = input
  found.units += 1
  const snapshots = await store.snapshots(unit, lastSeq, SNAPSHOTS_MAX)
  const replay = new Replay(unit.unitId, [...snapshots.map(({ seq }) => seq), ...(memory === null ? [] : [memory.seq])])
  const until = Math.max(lastSeq, memory?.seq ?? 0)
  for (let after = 0; ; ) {
    const page = await store.entries(unit, { after, until, limit })
    const entries = readable(page, unit.unitId, found)
    if (!replay.apply(entries, found)) return
    const within = entries.filter(({ seq }) => seq <= lastSeq)
    for (const { event } of within) if (unitsOf(event).unitId === unit.unitId) found.entries += 1
    const changes = within.flatMap(({ seq, event }) =>
      event.kind !== 'unit_set' && event.after.unitId === unit.unitId ? [{ seq, event }] : [],
    )
    verifyAnnounced(changes, input)
    await verifyRows(lastOfEachBooking(within, unit.unitId), input)
    found.bookings += changes.filter(({ event }) => event.kind === 'booking_created').length
    const last = page.at(-1)
    if (last === undefined || page.length < limit) break
    after = last.seq
  }
  if (memory !== null && replay.hashes.get(memory.seq) !== memory.hash)
    found.add(
      'memory',
      unit.unitId,
      String(memory.seq),
      'the actor in memory differs from a replay of the journal (U1)',
    )
  for (const snapshot of snapshots) verifySnapshot(snapshot, replay.hashes, found)
}

interface Entry {
  readonly seq: number
  readonly event: UnitEvent
}

interface Change {
  readonly seq: number
  readonly event: BookingEvent
}

function readable(stored: readonly StoredEntry[], unitId: string, found: Findings): Entry[] {
  return stored.flatMap((entry) => {
    try {
      return [{ seq: entry.seq, event: decodeEntry(entry) }]
    } catch (error) {
      found.add('journal', unitId, String(entry.seq), messageOf(error))
      return []
    }
  })
}

/** The unit's state as it was after each entry; its hash is taken where something can be compared with it. */
class Replay {
  readonly hashes = new Map<number, string>()
  readonly #wanted: ReadonlySet<number>
  readonly #state: UnitState

  constructor(unitId: string, wanted: readonly number[]) {
    this.#wanted = new Set(wanted)
    this.#state = UnitState.empty(unitId)
    this.#note(0)
  }

  /** @returns whether all of them could be applied */
  apply(entries: readonly Entry[], found: Findings): boolean {
    for (const { seq, event } of entries) {
      try {
        this.#state.apply(event, seq)
      } catch (error) {
        found.add('journal', this.#state.unitId, String(seq), messageOf(error))
        return false
      }
      this.#note(seq)
    }
    return true
  }

  #note(seq: number): void {
    if (this.#wanted.has(seq)) this.hashes.set(seq, stateHash(this.#state))
  }
}

function verifySnapshot(snapshot: StoredSnapshot, hashes: ReadonlyMap<number, string>, found: Findings): void {
  found.snapshots += 1
  const { state, defect } = decodeSnapshot(snapshot)
  if (state === null) found.add('snapshot', snapshot.unitId, String(snapshot.seq), defect ?? 'it cannot be read')
  else if (hashes.get(snapshot.seq) !== snapshot.hash)
    found.add('snapshot', snapshot.unitId, String(snapshot.seq), 'it differs from a replay of the journal (S1)')
}

/** Checks that every change that must be announced has its event. The content of the events is checked in verify-events.ts. */
function verifyAnnounced(
  changes: readonly Change[],
  { found, isAnnounced, unit }: { found: Findings; isAnnounced: (seq: number) => boolean; unit: UnitAddress },
): void {
  for (const { seq, event } of changes) {
    const wanted = eventKind(event)
    if (wanted !== null && !isAnnounced(seq))
      found.add('event', unit.unitId, String(seq), `it is missing and should be ${wanted}`)
  }
}

/** Without bookings whose last entry says that they have left the unit: they are checked in the unit they moved to. */
function lastOfEachBooking(entries: readonly Entry[], unitId: string): Change[] {
  const last = new Map<string, Change>()
  for (const { seq, event } of entries) if (event.kind !== 'unit_set') last.set(event.after.id, { seq, event })
  return [...last.values()].filter(({ event }) => event.after.unitId === unitId)
}

/**
 * The row of a booking is what the entry says that it names; one that names a later entry is looked at there, and
 * `strayBookings` finds those that name none of theirs.
 */
async function verifyRows(
  changes: readonly Change[],
  { store, unit, lastSeq, found }: { store: VerifyStore; unit: UnitAddress; lastSeq: number; found: Findings },
): Promise<void> {
  if (changes.length === 0) return
  const stored = await store.bookingsById(
    unit.agencyId,
    changes.map(({ event }) => event.after.id),
  )
  const rows = new Map(stored.map((row) => [row.booking.id, row]))
  for (const change of changes) {
    const { id } = change.event.after
    const row = rows.get(id)
    if (row === undefined) found.add('booking', unit.unitId, id, 'it is in the journal but not in the table')
    // Above `lastSeq` it was changed since the look at the journal's end: the next verification sees it.
    else if (row.seq <= change.seq && row.seq <= lastSeq) verifyRow(row, change, found)
  }
}

function verifyRow(row: ProjectedBooking, { seq, event }: Change, found: Findings): void {
  const booking = event.after
  const { id, unitId } = booking
  const members = (Object.keys(booking) as (keyof typeof booking)[]).filter(
    (name) => row.booking[name] !== booking[name],
  )
  if (members.length > 0) found.add('booking', unitId, id, `${members.join(', ')} differ from journal entry ${seq}`)
  if (row.seq !== seq)
    found.add('booking', unitId, id, `its last entry is ${row.seq}, but the journal has a later one, ${seq}`)
  if (!row.hasGuest) found.add('guest', unitId, id, `its guest ${row.guestId} does not exist`)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
