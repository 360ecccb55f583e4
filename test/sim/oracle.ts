import type { Booking } from '../../src/core/domain/booking.ts'
import type { BookingEvent, UnitEvent } from '../../src/core/domain/event.ts'
import { formatNight } from '../../src/core/domain/night.ts'
import { UnitState } from '../../src/core/domain/unit-state.ts'
import { decodeEntry } from '../../src/core/journal/entry-codec.ts'
import { stateHash } from '../../src/core/journal/snapshot-codec.ts'
import { AGENCY } from '../support/samples.ts'
import type { SimWorld } from './sim-world.ts'

/** Every broken promise; empty if all hold. */
export async function brokenPromises(world: SimWorld): Promise<string[]> {
  const { store } = world
  const entries = store.journal.map((entry) => ({ ...entry, event: decodeEntry(entry) }))
  return [
    ...gaps(store.journal.map(({ seq }) => seq)),
    ...lostOrInvented(world, entries),
    ...soldTwice([...store.bookings.values()].map(({ booking }) => booking)),
    ...unlikeJournal(world, entries),
    ...withoutTrace(world, entries),
    ...holdsOffTime(world, entries),
    ...fencedWrongly(world),
    ...undelivered(world),
    ...(await unlikeReplay(world, entries)),
  ]
}

interface Entry {
  readonly seq: number
  readonly unitId: string
  readonly otherUnitId: string | null
  readonly event: UnitEvent
}

function isOfBooking(event: UnitEvent): event is BookingEvent {
  return event.kind !== 'unit_set'
}

function gaps(seqs: readonly number[]): string[] {
  return seqs.flatMap((seq, i) => (seq === i + 1 ? [] : [`J3: entry ${i + 1} of the journal has the number ${seq}`]))
}

function lostOrInvented({ acknowledged, denied }: SimWorld, entries: readonly Entry[]): string[] {
  const bySeq = new Map(entries.map((entry) => [entry.seq, entry]))
  const lost = acknowledged.flatMap(({ seq, bookingId, version, status }) => {
    if (seq === null) return []
    const event = bySeq.get(seq)?.event
    const isThere =
      event !== undefined &&
      isOfBooking(event) &&
      event.after.id === bookingId &&
      event.after.version === version &&
      event.after.status === status
    return isThere ? [] : [`U1: change ${version} of ${bookingId} was acknowledged as ${seq} and is not there`]
  })
  const refs = entries.flatMap(({ event }) => (event.kind === 'booking_created' ? [event.after.sourceRef] : []))
  const twice = refs.length === new Set(refs).size ? [] : ['J3: a booking was written twice']
  const written = new Set(refs)
  return [...lost, ...twice, ...denied.filter((ref) => written.has(ref)).map((ref) => `${ref} was denied and is there`)]
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

/** The rows that lists show match the journal. */
function unlikeJournal({ store }: SimWorld, entries: readonly Entry[]): string[] {
  const fold = new Map<string, Booking>()
  for (const { event } of entries) if (isOfBooking(event)) fold.set(event.after.id, event.after)
  const rows = new Map([...store.bookings].map(([id, { booking }]) => [id, booking]))
  return Bun.deepEquals(fold, rows) ? [] : ['J2: the rows of the bookings are not what the journal says']
}

/** Every change has exactly one audit line, and one event if it is announced. */
function withoutTrace({ store }: SimWorld, entries: readonly Entry[]): string[] {
  const events = new Map(store.events.map((event) => [event.seq, event]))
  const problems = entries.flatMap(({ seq, event }) => {
    if (!isOfBooking(event)) return []
    const isNews =
      event.kind !== 'booking_changed' ||
      (['status', 'arrival', 'departure', 'unitId'] as const).some((name) => event.before[name] !== event.after[name])
    return events.has(seq) === isNews ? [] : [`change ${seq} has ${isNews ? 'no' : 'an'} event`]
  })
  const changes = entries.filter(({ event }) => isOfBooking(event)).length
  const lines = [...store.audit.values()].filter((line) => line.outcome === 'OK' && line.bookingId !== null).length
  if (events.size !== store.events.length) problems.push('an event was written twice')
  return lines < changes ? [...problems, `${changes} changes have ${lines} audit lines`] : problems
}

/** Every event has reached the healthy receiver, with the same bytes each time; no attempt was made before its time. */
function undelivered({ store, webhooks }: SimWorld): string[] {
  const missing = store.events.flatMap((event) => {
    const bodies = webhooks.received.get(`${event.eventId} to healthy`) ?? []
    if (bodies.length === 0) return [`${event.eventId} has never been delivered`]
    return bodies.every((body) => body === event.body) ? [] : [`W3: ${event.eventId} was sent with other bytes`]
  })
  return [...missing, ...webhooks.untimely]
}

/** Only older writers are fenced; the one that took over last is left alone. */
function fencedWrongly({ processes }: SimWorld): string[] {
  return processes.flatMap(({ journal: { epoch }, fencedByEpoch }) =>
    fencedByEpoch === epoch ? [`J5: the writer of epoch ${epoch} was fenced though nobody had taken over`] : [],
  )
}

function holdsOffTime({ store, clock }: SimWorld, entries: readonly Entry[]): string[] {
  // The agency may end a hold at any time; the timer may not.
  const endedByTimer = new Set(
    [...store.audit.values()].flatMap(({ actor, bookingId }) => (actor.kind === 'system' ? [bookingId] : [])),
  )
  const early = entries.flatMap(({ event }) => {
    if (event.kind !== 'booking_cancelled' || !endedByTimer.has(event.after.id)) return []
    const { holdExpiresAt } = event.before
    const isOnTime = holdExpiresAt !== null && (event.after.cancelledAt ?? 0) >= holdExpiresAt
    return isOnTime ? [] : [`${event.after.id} expired before its time`]
  })
  const overdue = [...store.bookings.values()].filter(
    ({ booking }) => booking.holdExpiresAt !== null && booking.holdExpiresAt < clock.now() - 11_000,
  )
  return [...early, ...overdue.map(({ booking }) => `${booking.id} is held beyond its time`)]
}

/** The memory of the remaining process equals a full replay. */
async function unlikeReplay(world: SimWorld, entries: readonly Entry[]): Promise<string[]> {
  const problems: string[] = []
  for (const { id: unitId } of world.units) {
    const replayed = UnitState.empty(unitId)
    try {
      for (const { seq, event, ...of } of entries) {
        if (of.unitId === unitId || of.otherUnitId === unitId) replayed.apply(event, seq)
      }
    } catch (error) {
      problems.push(`U3: the journal of ${unitId} cannot be replayed: ${(error as Error).message}`)
      continue
    }
    const reading = world.last.directory.read({ agencyId: AGENCY.id, unitId })
    await world.clock.advance(100)
    if (stateHash(await reading) !== stateHash(replayed)) problems.push(`S1: ${unitId} is not what its journal says`)
  }
  return problems
}
