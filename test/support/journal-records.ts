import type { Booking, Instant, UnitEvent, UnitSet } from '../../src/core/domain/booking.ts'
import { encodeBatch, headAt, type LogEnd } from '../../src/core/journal/batch.ts'
import type { BatchToAppend, WriterTerm } from '../../src/core/journal/journal-store.ts'
import type { Entry, Envelope, JournalRecord } from '../../src/core/journal/record.ts'
import { shardOf } from '../../src/core/journal/shard.ts'
import { AGENCY, CALLER, CHAIN_KEYS, sampleBooking, sampleId, sampleUnit } from './samples.ts'

/** In the middle of the months that tests write in. */
const AT = Date.UTC(2027, 0, 15)

export const ENVELOPE: Envelope = { unitSlug: 'sea-view', unitName: 'Sea View', currency: 'EUR' }

let entries = 0

/** Each with an id of its own. */
export function entryOf(event: UnitEvent, change: Partial<Entry> = {}): Entry {
  const envelope = event.kind === 'unit_set' ? null : ENVELOPE
  return { id: sampleId('evt', ++entries), event, at: AT, caller: CALLER, envelope, ...change }
}

interface Of {
  readonly agencyId?: string
  readonly at?: Instant
}

/** @param label of the booking's id, and of that of its unit, which has no other booking */
export function booked(
  label: string,
  { agencyId = AGENCY.id, at = AT, ...of }: Of & Partial<Booking> = {},
): JournalRecord {
  const event = {
    kind: 'booking_created' as const,
    after: sampleBooking({ id: sampleId('bkg', label), unitId: sampleId('unt', label), ...of }),
  }
  return { agencyId, at, entries: [entryOf(event, { at })] }
}

export function unitSet(
  unitId: string,
  { agencyId = AGENCY.id, at = AT }: Of = {},
  change: Partial<UnitSet> = {},
): JournalRecord {
  const unit = sampleUnit({ id: unitId, slug: unitId })
  return { agencyId, at, entries: [entryOf({ kind: 'unit_set', unit, ...change }, { at })] }
}

/** One record with the entries of several. */
export function together(...records: readonly JournalRecord[]): JournalRecord {
  const [first = { agencyId: AGENCY.id, at: AT }] = records
  return { ...first, entries: records.flatMap((record) => record.entries ?? []) }
}

/** A line of the audit trail without an entry. */
export function audited(label: string, count = 1, { agencyId = AGENCY.id, at = AT }: Of = {}): JournalRecord {
  const { actor, route, requestId } = CALLER
  const audit = {
    auditId: sampleId('aud', label),
    at,
    actor,
    route,
    requestId,
    outcome: 'MIN_STAY',
    bookingId: null,
    count,
  }
  return { agencyId, at, audit }
}

/** The booking that a record makes; null when it makes none. */
export function bookingIn(record: JournalRecord | undefined): string | null {
  const event = record?.entries?.[0]?.event
  return event?.kind === 'booking_created' ? event.after.id : null
}

/** Agencies of as many different shards, in the order of their shards. */
export function agenciesOfShards(count: number): string[] {
  const found = new Map<number, string>()
  for (let label = 1; found.size < count; label++) {
    const id = sampleId('agc', `shard ${label}`)
    if (!found.has(shardOf(id))) found.set(shardOf(id), id)
  }
  return [...found].sort(([a], [b]) => a - b).map(([, id]) => id)
}

/** The batch that a writer of this term sends after others, which are durable. */
export function batchOf(
  term: WriterTerm,
  records: readonly JournalRecord[],
  { after = [], log = {} }: { after?: readonly BatchToAppend[]; log?: Partial<LogEnd> } = {},
): BatchToAppend {
  const heads = term.shards.map(({ lastSeq, lastMonth, lastLink }) => ({ lastSeq, lastMonth, lastLink }))
  for (const { entries: encoded } of after.flatMap((batch) => batch.records))
    for (const entry of encoded) heads[entry.shard] = headAt(entry)
  const numbered = encodeBatch(records, { heads, chainKeys: CHAIN_KEYS, newestMonth: term.newestMonth, ...log })
  return { shards: term.shards.filter(({ shard }) => numbered.some((of) => of.shard === shard)), records: numbered }
}

/** What is left of a batch without the shards of some agencies. */
export function without(batch: BatchToAppend, ...agencyIds: readonly string[]): BatchToAppend {
  const left = agencyIds.map(shardOf)
  const isLeft = ({ shard }: { shard: number }) => !left.includes(shard)
  return { shards: batch.shards.filter(isLeft), records: batch.records.filter(isLeft) }
}
