import type { Booking, BookingFacts } from '../../src/core/domain/booking.ts'
import { type BookingEvent, isUnitSet, type LoggedEvent, webhookEventOf } from '../../src/core/domain/booking.ts'
import { formatNight } from '../../src/core/domain/night.ts'
import { UnitState } from '../../src/core/domain/unit-state.ts'
import { decodeEntry } from '../../src/core/journal/entry-codec.ts'
import { coveredText, NO_LINK, nextLink, SHARDS, shardOf } from '../../src/core/journal/shard.ts'
import { decodeSnapshot, stateHash } from '../../src/core/journal/snapshot-codec.ts'
import { isShown } from '../../src/events/changes/change-page.ts'
import { bodyOfEntry } from '../../src/events/webhooks/envelope.ts'
import type { JournalRow } from '../support/memory-journal-store.ts'
import { CHAIN_KEYS } from '../support/samples.ts'
import { AGENCIES, unitsOf } from './sim-agencies.ts'
import { tornGroups } from './sim-groups.ts'
import type { SimStore } from './sim-store.ts'
import type { SimWorld } from './sim-world.ts'

/** Every broken promise; empty if all hold. */
export async function brokenPromises(world: SimWorld): Promise<string[]> {
  const { store } = world
  const entries = store.journal.map((row) => ({ ...row, event: decodeEntry(row) }))
  const bookings = [...store.bookings.values()].map(({ booking }) => booking)
  return [
    ...unlikeLogs(store),
    ...lostOrInvented(world, entries, bookings),
    ...tornGroups(store),
    ...soldTwice(bookings),
    ...unlikeJournal(store, entries, bookings),
    ...announcedWrongly(entries),
    ...pricedWrongly(entries),
    ...holdsOffTime(world, entries, bookings),
    ...ended(world),
    ...fencedWrongly(world),
    ...sentWrongly(world),
    ...undelivered(world),
    ...deliveredWrongly(world),
    ...unlikeFeed(world),
    ...store.history.broken,
    ...world.fates.broken,
    ...wrongSnapshots(world, entries),
    ...(await unlikeReplay(world, entries)),
  ]
}

interface Entry extends JournalRow {
  readonly event: LoggedEvent
}

function isOfBooking(event: LoggedEvent): event is BookingEvent<BookingFacts> {
  return !isUnitSet(event)
}

/** Each shard has gapless numbers, months that never fall, an unbroken chain, and the entries of its own agencies alone. */
function unlikeLogs({ journal: rows, history: { marks } }: SimStore): string[] {
  const foreign = rows.filter(({ shard, agencyId }) => shard !== shardOf(agencyId))
  const logs = Array.from({ length: SHARDS }, (_, shard) => rows.filter((row) => row.shard === shard))
  const ids = new Set(rows.map(({ id }) => id))
  return [
    ...foreign.map(({ shard, seq }) => `C1: entry ${shard}/${seq} is of another shard`),
    ...logs.flatMap((log) => log.flatMap((row, i) => unlikeNext(row, log[i - 1] ?? null, marks))),
    ...(ids.size === rows.length ? [] : ['J3: an entry was written twice']),
  ]
}

function unlikeNext(row: JournalRow, before: JournalRow | null, marks: SimStore['history']['marks']): string[] {
  const { shard, seq, month } = row
  const name = `entry ${shard}/${seq}`
  const link = nextLink(CHAIN_KEYS[shard] ?? NO_LINK, before?.link ?? NO_LINK, coveredText(row))
  const isNext = seq === (before?.seq ?? 0) + 1 || marks.get(shard)?.has(seq - 1) === true
  return [
    ...(isNext ? [] : [`J3: ${name} comes after ${before?.seq ?? 'nothing'}`]),
    ...(before === null || month >= before.month ? [] : [`The month of ${name} is before that of the entry before it`]),
    ...(Bun.deepEquals([...row.link], [...link]) ? [] : [`The chain is broken at ${name}`]),
  ]
}

/** What must hold of the ledger alone, whoever has written it. */
export function brokenLedger(world: Pick<SimWorld, 'store' | 'acknowledged' | 'denied'>): string[] {
  const entries = world.store.journal.map((row) => ({ ...row, event: decodeEntry(row) }))
  const bookings = [...world.store.bookings.values()].map(({ booking }) => booking)
  return [
    ...unlikeLogs(world.store),
    ...lostOrInvented(world, entries, bookings),
    ...tornGroups(world.store),
    ...soldTwice(bookings),
    ...unlikeJournal(world.store, entries, bookings),
  ]
}

function lostOrInvented(
  { store, acknowledged, denied }: Pick<SimWorld, 'store' | 'acknowledged' | 'denied'>,
  entries: readonly Entry[],
  bookings: readonly Booking[],
): string[] {
  const nameOf = (row: JournalRow): string => {
    const event = decodeEntry(row)
    if (!isOfBooking(event)) return ''
    const { id, version, status } = event.after
    return `${row.shard} ${row.seq} ${id} ${version} ${status}`
  }
  // What a lossy fail-over has taken may be gone, and nothing else.
  const written = new Set([...entries, ...store.history.lost].map(nameOf))
  const lost = acknowledged.flatMap(({ agencyId, seq, bookingId, version, status }) => {
    const isThere = seq === null || written.has(`${shardOf(agencyId)} ${seq} ${bookingId} ${version} ${status}`)
    return isThere ? [] : [`U1: change ${version} of ${bookingId} was acknowledged as ${seq} and is not there`]
  })
  const refs = bookings.map(({ sourceRef }) => sourceRef)
  const twice = refs.length === new Set(refs).size ? [] : ['J3: a booking was written twice']
  const made = new Set([...refs, ...bookings.map(({ cancelReason }) => cancelReason)])
  return [...lost, ...twice, ...denied.filter((ref) => made.has(ref)).map((ref) => `${ref} was denied and is there`)]
}

function soldTwice(bookings: readonly Booking[]): string[] {
  const sold = new Map<string, string>()
  return bookings.flatMap((booking) => {
    if (booking.status === 'cancelled') return []
    const problems: string[] = []
    for (let n = booking.arrival; n < booking.departure; n++) {
      const night = `${booking.unitId} ${formatNight(n as Booking['arrival'])}`
      if (sold.has(night)) problems.push(`${night} is sold to ${sold.get(night)} and ${booking.id}`)
      sold.set(night, booking.id)
    }
    return problems
  })
}

/** The rows that lists show match the journal, but for versions that a restore has raised. */
function unlikeJournal(
  { history: { versionMark } }: SimStore,
  entries: readonly Entry[],
  bookings: readonly Booking[],
): string[] {
  const fold = new Map<string, BookingFacts>()
  for (const { event } of entries) if (isOfBooking(event)) fold.set(event.after.id, event.after)
  const rows = new Map(
    bookings.map(({ sourceRef: _, cancelReason: __, ...facts }) => {
      const version = fold.get(facts.id)?.version ?? facts.version
      const isRaised = versionMark > 0 && facts.version === Math.max(version + 1, versionMark)
      return [facts.id, isRaised ? { ...facts, version } : facts]
    }),
  )
  return Bun.deepEquals(fold, rows) ? [] : ['J2: the rows of the bookings are not what the journal says']
}

/** An entry is announced if its change fires a webhook event, and not otherwise. */
function announcedWrongly(entries: readonly Entry[]): string[] {
  return entries.flatMap(({ shard, seq, event, isAnnounced }) => {
    const isNews = webhookEventOf(event) !== null
    return isAnnounced === isNews ? [] : [`entry ${shard}/${seq} is ${isNews ? 'not ' : ''}announced`]
  })
}

/** A move says whether it was priced again; nothing but a move that was has changed a total. */
function pricedWrongly(entries: readonly Entry[]): string[] {
  return entries.flatMap(({ shard, seq, event }) => {
    if (event.kind !== 'booking_changed') return []
    const { before, after, pricing } = event
    const isMove = (['arrival', 'departure', 'unitId'] as const).some((name) => before[name] !== after[name])
    const isPriced = before.totalAmount === after.totalAmount || pricing === 'reprice'
    return isMove === (pricing !== undefined) && isPriced ? [] : [`entry ${shard}/${seq} is priced wrongly`]
  })
}

/** Every event has reached the healthy receiver. */
export function undelivered({ store, webhooks }: Pick<SimWorld, 'store' | 'webhooks'>): string[] {
  return store.announced.flatMap(({ agencyId, id }) =>
    webhooks.receivedBy(agencyId, id).length > 0 ? [] : [`W7: ${id} has never been delivered`],
  )
}

/** Receivers get what the journal announces and nothing else, with the same bytes each time; senders send what is theirs, in time. */
export function deliveredWrongly({ store, webhooks }: Pick<SimWorld, 'store' | 'webhooks'>): string[] {
  const announced = new Map(store.announced.map((row) => [row.id, row]))
  const lost = new Set(store.history.lost.map(({ id }) => id))
  const wrong = [...webhooks.received].flatMap(([deliveryId, bodies]) => {
    const row = announced.get(deliveryId.split(' ')[0] ?? '')
    if (row === undefined && lost.has(deliveryId.split(' ')[0] ?? '')) return []
    if (row === undefined) return [`W7: ${deliveryId} was sent and is not in the journal`]
    const sourceRef = store.bookings.get(row.bookingId ?? '')?.booking.sourceRef ?? null
    const expected = bodyOfEntry(row, sourceRef)
    return bodies.every((body) => body === expected) ? [] : [`W3: ${deliveryId} was sent with other bytes`]
  })
  return [...wrong, ...webhooks.broken]
}

/** Every reader of the feed was shown every change of its agency that it includes, once and in order. */
function unlikeFeed({ store, partners }: SimWorld): string[] {
  return partners.readers.flatMap(({ name, agencyId, include, shown, faults }) => {
    const seqs = store.announced
      .filter((row) => row.agencyId === agencyId && isShown(include, row))
      .map(({ seq }) => seq)
    const isSame = shown.length === seqs.length && shown.every((seq, i) => seq === seqs[i])
    return [
      ...faults.map((fault) => `F1: ${name} was answered ${fault}`),
      ...(isSame ? [] : [`F1: ${name} was shown ${shown.join(' ')} of ${seqs.join(' ')}`]),
    ]
  })
}

/** No process has found one of its own invariants broken. */
function ended({ processes }: SimWorld): string[] {
  return processes.flatMap(({ name, bugs }) => bugs.map((bug) => `A bug ended ${name}: ${bug}`))
}

/** Only a process of which another one has taken over some shard is fenced. */
function fencedWrongly({ processes }: SimWorld): string[] {
  return processes.flatMap(({ name, isFencedWrongly }) =>
    isFencedWrongly ? [`J5: ${name} was fenced though nobody had taken over`] : [],
  )
}

/** One append of a shard at a time, and nothing new after a fence. */
function sentWrongly({ processes }: SimWorld): string[] {
  return processes.flatMap(({ name, appends }) => appends.broken.map((what) => `${what}, by ${name}`))
}

function holdsOffTime({ clock }: SimWorld, entries: readonly Entry[], bookings: readonly Booking[]): string[] {
  const early = entries.flatMap(({ event, actor }) => {
    // The agency may end a hold at any time; the timer may not.
    if (event.kind !== 'booking_cancelled' || actor.kind !== 'system') return []
    const { holdExpiresAt } = event.before
    const isOnTime = holdExpiresAt !== null && (event.after.cancelledAt ?? 0) >= holdExpiresAt
    return isOnTime ? [] : [`${event.after.id} expired before its time`]
  })
  const overdue = bookings.filter(({ holdExpiresAt }) => holdExpiresAt !== null && holdExpiresAt < clock.now() - 11_000)
  return [...early, ...overdue.map(({ id }) => `${id} is held beyond its time`)]
}

/** Whoever wrote it, no snapshot is ahead of the log; what recovery would trust is what the log says (S1, S3). */
function wrongSnapshots({ store }: SimWorld, entries: readonly Entry[]): string[] {
  return store.snapshots.flatMap((snapshot) => {
    const { unitId, agencyId, seq } = snapshot
    const name = `S3: the snapshot of ${unitId} at ${seq}`
    if (store.history.isAhead(snapshot)) return [`${name} is ahead of the log`]
    const { state } = decodeSnapshot(snapshot)
    if (state === null) return []
    const replayed = UnitState.empty(unitId)
    try {
      for (const { event, ...of } of entries)
        if (of.shard === shardOf(agencyId) && of.seq <= seq && (of.unitId === unitId || of.otherUnitId === unitId))
          replayed.apply(event, of.seq)
    } catch {
      // As the comparison of memory with the journal says.
      return []
    }
    return stateHash(state) === stateHash(replayed) ? [] : [`${name} is not what its journal says`]
  })
}

/** The memory of the remaining process equals a full replay. */
async function unlikeReplay(world: SimWorld, entries: readonly Entry[]): Promise<string[]> {
  const problems: string[] = []
  const units = AGENCIES.flatMap(({ id: agencyId }) =>
    unitsOf(agencyId).map(({ id: unitId }) => ({ agencyId, unitId })),
  )
  for (const { agencyId, unitId } of units) {
    const replayed = UnitState.empty(unitId)
    try {
      for (const { seq, event, ...of } of entries) {
        if (of.unitId === unitId || of.otherUnitId === unitId) replayed.apply(event, seq)
      }
    } catch (error) {
      problems.push(`U3: the journal of ${unitId} cannot be replayed: ${(error as Error).message}`)
      continue
    }
    const reading = Promise.allSettled([world.last.directory.read({ agencyId, unitId })])
    await world.clock.advance(100)
    const [read] = await reading
    if (read.status === 'rejected') problems.push(`S1: ${unitId} cannot be recovered: ${read.reason}`)
    else if (stateHash(read.value) !== stateHash(replayed)) problems.push(`S1: ${unitId} is not what its journal says`)
  }
  return problems
}
