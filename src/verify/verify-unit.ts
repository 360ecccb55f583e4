import type { BookingFacts } from '../core/domain/booking.ts'
import { type BookingEvent, isUnitSet, type LoggedEvent, webhookEventOf } from '../core/domain/booking.ts'
import { UnitState } from '../core/domain/unit-state.ts'
import { decodeEntry, unitsOf } from '../core/journal/entry-codec.ts'
import type { UnitAddress } from '../core/journal/recovery.ts'
import { decodeSnapshot, stateHash } from '../core/journal/snapshot-codec.ts'
import { entryName, type Findings } from './findings.ts'
import type { ProjectedBooking, ShardExtent, UnitEntry, VerifiedSnapshot, VerifyStore } from './verify-store.ts'

/** A resident unit's state in the memory of a running service. */
export interface LiveUnit {
  readonly seq: number
  readonly hash: string
}

const MISSING_BASE = 'entries of the unit were archived, and the snapshot that takes their place is missing'

/** More than the number of snapshots kept per unit. */
const SNAPSHOTS_MAX = 100

interface Input {
  readonly store: VerifyStore
  readonly unit: UnitAddress
  /** Of the unit's shard. */
  readonly extent: ShardExtent
  readonly limit: number
  readonly found: Findings
  readonly memory: LiveUnit | null
}

/** Replays one unit, page by page, and compares the replay with its rows, its snapshots and its state in memory. */
export async function verifyUnit(input: Input): Promise<void> {
  const { store, unit, extent, limit, found, memory } = input
  const { shard, lastSeq } = extent
  found.units += 1
  const known = await store.snapshots(unit, SNAPSHOTS_MAX)
  for (const { seq } of known.filter(({ isAhead }) => isAhead))
    found.add('snapshot', unit.unitId, entryName(shard, seq), 'the snapshot is ahead of the log (S3)')
  // What was written since the verification began is checked by the next one.
  const snapshots = known.filter(({ seq, isAhead }) => seq <= lastSeq && !isAhead)
  // One after the archived entries is of a month that could not be archived yet.
  const base = snapshots.find(({ isBase, seq }) => isBase && seq <= extent.base) ?? null
  const isWhole = base !== null || extent.base === 0 || !(await store.hasArchivedEntries(unit))
  if (!isWhole) found.add('snapshot', unit.unitId, unit.unitId, MISSING_BASE)
  const replay = new Replay(input, { snapshots, base, isWhole })
  const until = Math.max(lastSeq, memory?.seq ?? 0)
  for (let after = extent.base; ; ) {
    const page = await store.entries(unit, { after, until, limit })
    const entries = readable(page, input)
    replay.apply(entries)
    const changes = entries.flatMap(({ seq, event }) =>
      seq <= lastSeq && !isUnitSet(event) && event.after.unitId === unit.unitId ? [{ seq, event }] : [],
    )
    for (const entry of entries) if (entry.seq <= lastSeq) verifyAnnounced(entry, input)
    await verifyRows(lastOfEachBooking(changes), input)
    found.bookings += changes.filter(({ event }) => event.kind === 'booking_created').length
    const last = page.at(-1)
    if (last === undefined || page.length < limit) break
    after = last.seq
  }
  if (!replay.isComplete) return
  if (memory !== null && replay.hashes.get(memory.seq) !== memory.hash)
    found.add(
      'memory',
      unit.unitId,
      entryName(shard, memory.seq),
      'the state in memory differs from a replay of the journal (U1)',
    )
  for (const snapshot of snapshots) verifySnapshot(snapshot, { shard, hashes: replay.hashes, found })
}

interface Entry {
  readonly seq: number
  readonly event: LoggedEvent
  readonly isAnnounced: boolean
}

interface Change {
  readonly seq: number
  readonly event: BookingEvent<BookingFacts>
}

function readable(stored: readonly UnitEntry[], { unit, extent, found }: Input): Entry[] {
  return stored.flatMap((entry) => {
    try {
      return [{ seq: entry.seq, event: decodeEntry(entry), isAnnounced: entry.isAnnounced }]
    } catch (error) {
      found.add('journal', unit.unitId, entryName(extent.shard, entry.seq), messageOf(error))
      return []
    }
  })
}

/**
 * Replays entries into a unit's state. Takes a hash of it at each number that something is to be compared with. Entries that the
 * base snapshot includes are not applied: what they build on was archived.
 */
class Replay {
  readonly hashes = new Map<number, string>()
  readonly #wanted: ReadonlySet<number>
  readonly #input: Input
  readonly #base: VerifiedSnapshot | null
  /** Null when it could not be replayed to the end. */
  #state: UnitState | null

  /** @param from.isWhole whether what was archived has a base */
  constructor(
    input: Input,
    from: { snapshots: readonly VerifiedSnapshot[]; base: VerifiedSnapshot | null; isWhole: boolean },
  ) {
    const { unit, memory } = input
    this.#input = input
    this.#wanted = new Set([...from.snapshots.map(({ seq }) => seq), ...(memory === null ? [] : [memory.seq])])
    this.#base = from.base
    if (this.#base !== null) this.#state = decodeSnapshot(this.#base).state
    else this.#state = from.isWhole ? UnitState.empty(unit.unitId) : null
    if (this.#base !== null && this.#state === null)
      this.#addSnapshot(this.#base.seq, 'the snapshot that takes the place of archived entries cannot be read')
    this.#note()
  }

  get isComplete(): boolean {
    return this.#state !== null
  }

  apply(entries: readonly Entry[]): void {
    const { unit, extent, found } = this.#input
    for (const { seq, event } of entries) {
      if (this.#state === null || seq <= (this.#base?.seq ?? 0)) continue
      try {
        this.#state.apply(event, seq)
      } catch (error) {
        found.add('journal', unit.unitId, entryName(extent.shard, seq), messageOf(error))
        this.#state = null
        return
      }
      this.#note()
    }
  }

  #note(): void {
    if (this.#state !== null && this.#wanted.has(this.#state.seq))
      this.hashes.set(this.#state.seq, stateHash(this.#state))
  }

  #addSnapshot(seq: number, message: string): void {
    const { unit, extent, found } = this.#input
    found.add('snapshot', unit.unitId, entryName(extent.shard, seq), message)
  }
}

function verifySnapshot(
  snapshot: VerifiedSnapshot,
  { shard, hashes, found }: { shard: number; hashes: ReadonlyMap<number, string>; found: Findings },
): void {
  found.snapshots += 1
  const at = entryName(shard, snapshot.seq)
  const { state, defect } = decodeSnapshot(snapshot)
  if (state === null) found.add('snapshot', snapshot.unitId, at, defect ?? 'the snapshot cannot be read')
  else if (hashes.get(snapshot.seq) !== snapshot.hash)
    found.add('snapshot', snapshot.unitId, at, 'the snapshot differs from a replay of the journal (S1)')
}

/** An entry of two units is checked with the one that it is filed under. */
function verifyAnnounced({ seq, event, isAnnounced }: Entry, { unit, extent, found }: Input): void {
  if (unitsOf(event).unitId !== unit.unitId) return
  const wanted = webhookEventOf(event)
  if (wanted !== null) found.events += 1
  if (isAnnounced !== (wanted !== null))
    found.add(
      'journal',
      unit.unitId,
      entryName(extent.shard, seq),
      wanted === null
        ? 'the entry is announced, but fires no event'
        : `the entry fires ${wanted}, but is not announced`,
    )
}

function lastOfEachBooking(changes: readonly Change[]): Change[] {
  const last = new Map<string, Change>()
  for (const change of changes) last.set(change.event.after.id, change)
  return [...last.values()]
}

/**
 * Checks that the row of a booking matches the entry that the row names. A row that names a later entry is checked
 * there, and `strayBookings` finds rows that name no entry of their booking.
 */
async function verifyRows(changes: readonly Change[], { store, unit, extent, found }: Input): Promise<void> {
  if (changes.length === 0) return
  const stored = await store.bookingsById(
    unit.agencyId,
    changes.map(({ event }) => event.after.id),
  )
  const rows = new Map(stored.map((row) => [row.booking.id, row]))
  for (const change of changes) {
    const { id } = change.event.after
    const row = rows.get(id)
    if (row === undefined) found.add('booking', unit.unitId, id, 'the booking is in the journal but not in the table')
    // Above `lastSeq`, the row has changed since this verification began; the next one checks it.
    else if (row.seq <= change.seq && row.seq <= extent.lastSeq) verifyRow(row, change, found)
  }
}

/** The journal has the facts of a booking, not its free texts. */
function verifyRow(row: ProjectedBooking, { seq, event }: Change, found: Findings): void {
  const facts = event.after
  const { id, unitId } = facts
  const members = (Object.keys(facts) as (keyof BookingFacts)[]).filter((name) => row.booking[name] !== facts[name])
  // after_restore raises it without an entry, so that no version is given twice.
  const raised = row.versionMark === 0 ? facts.version : Math.max(facts.version + 1, row.versionMark)
  if (members.length === 1 && members[0] === 'version' && row.booking.version === raised) members.pop()
  if (members.length > 0) found.add('booking', unitId, id, `${members.join(', ')} differ from journal entry ${seq}`)
  if (row.seq !== seq) found.add('booking', unitId, id, `the row names journal entry ${row.seq}, but ${seq} is later`)
  if (!row.hasGuest) found.add('guest', unitId, id, `guest ${row.guestId} does not exist`)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
