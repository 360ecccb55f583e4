/** A log of one shard in memory, as a writer makes it, for verifications without a database. */
import type { BookingEvent, UnitEvent } from '../../../src/core/domain/booking.ts'
import { type EncodedEntry, type EntryPart, encodeEntry } from '../../../src/core/journal/entry-codec.ts'
import { type ChainKey, type Link, NO_LINK, newChainKey, shardOf } from '../../../src/core/journal/shard.ts'
import { Findings } from '../../../src/verify/findings.ts'
import { verifyShard } from '../../../src/verify/verify-shard.ts'
import type { ShardExtent } from '../../../src/verify/verify-store.ts'
import { AGENCY, CALLER, night, sampleBooking, sampleId, sampleUnit } from '../../support/samples.ts'

export const SHARD = shardOf(AGENCY.id)
export const CHAIN_KEY: ChainKey = newChainKey()
const ENVELOPE = { unitSlug: 'sea-view', unitName: 'Sea View', currency: 'EUR' }

/** The unit, and one booking after the other. */
export function sampleEvents(bookings: number): UnitEvent[] {
  const created = Array.from({ length: bookings }, (_, i): BookingEvent => {
    const arrival = night(`2027-03-${String(1 + i).padStart(2, '0')}`)
    const stay = { arrival, departure: (arrival + 1) as typeof arrival }
    return { kind: 'booking_created', after: sampleBooking({ id: sampleId('bkg', i), ...stay }) }
  })
  return [{ kind: 'unit_set', unit: sampleUnit() }, ...created]
}

/** The entries of `events`, after number `after`. */
export function sampleLog(
  events: readonly UnitEvent[],
  {
    after = 0,
    previousLink: first = NO_LINK,
    step = 1,
    parts = [],
  }: { after?: number; previousLink?: Link; step?: number; parts?: readonly (EntryPart | undefined)[] } = {},
): EncodedEntry[] {
  let previousLink = first
  return events.map((event, i) => {
    const seq = after + (i + 1) * step
    const place = { shard: SHARD, seq, month: '2027-01-01', previousLink, chainKey: CHAIN_KEY.key, part: parts[i] }
    const entry = { id: sampleId('evt', seq), event, at: Date.UTC(2027, 0, 1), caller: CALLER }
    const encoded = encodeEntry(AGENCY.id, { ...entry, envelope: event.kind === 'unit_set' ? null : ENVELOPE }, place)
    previousLink = encoded.link
    return encoded
  })
}

/** Of a log from its first entry on. */
const EXTENT = { shard: SHARD, base: 0, baseLink: NO_LINK, mark: 0, markLink: NO_LINK }

/** What a verification of these rows finds, as texts `what at`. */
export async function foundIn(
  rows: readonly EncodedEntry[],
  extent: Partial<ShardExtent> = {},
  { key = CHAIN_KEY, limit = 2 }: { key?: ChainKey | null; limit?: number } = {},
): Promise<string[]> {
  const found = new Findings()
  const sorted = rows.toSorted((a, b) => a.seq - b.seq || (a.month < b.month ? -1 : 1))
  await verifyShard({
    store: {
      log: async (_, { after, until, limit: rowsMax }) =>
        sorted.filter(({ seq, month }) => seq <= until && isAfter({ seq, month }, after)).slice(0, rowsMax),
    },
    extent: { ...EXTENT, lastSeq: sorted.at(-1)?.seq ?? 0, ...extent },
    key,
    limit,
    found,
  })
  return found.report().differences.map(({ what, at }) => `${what} ${at}`)
}

function isAfter(row: { seq: number; month: string }, after: { seq: number; month: string } | null): boolean {
  return after === null || row.seq > after.seq || (row.seq === after.seq && row.month > after.month)
}
