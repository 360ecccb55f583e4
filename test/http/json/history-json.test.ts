import { describe, expect, test } from 'bun:test'
import type { BookingEntry, BookingHistory } from '../../../src/core/bookings/booking-lists.ts'
import type { Booking } from '../../../src/core/domain/booking.ts'
import { encodeEntry } from '../../../src/core/journal/entry-codec.ts'
import { CorruptLedgerError } from '../../../src/core/journal/journal-error.ts'
import { NO_LINK } from '../../../src/core/journal/shard.ts'
import { HISTORY_MAX, historyText } from '../../../src/http/json/history-json.ts'
import { Slices } from '../../../src/lib/slices.ts'
import { entryOf } from '../../support/journal-records.ts'
import { AGENCY, CHAIN_KEYS, night, sampleBooking } from '../../support/samples.ts'

const BOOKING = sampleBooking()

/** The change to this version: one day longer or shorter. */
function changed(version: number, change: Partial<Booking> = {}): BookingEntry {
  const before = sampleBooking({ version: version - 1, departure: night(`2027-03-0${5 + (version % 2)}`) })
  const after = { ...before, version, departure: night(`2027-03-0${6 - (version % 2)}`), ...change }
  const entry = entryOf({ kind: 'booking_changed', before, after })
  const place = {
    shard: 1,
    seq: version * 10,
    month: '2027-01-01',
    previousLink: NO_LINK,
    chainKey: CHAIN_KEYS[1] ?? NO_LINK,
  }
  return encodeEntry(AGENCY.id, entry, place)
}

/** The history of a booking with this many changes. */
class MadeHistory implements BookingHistory {
  readonly pages: { before: BookingEntry | null; limit: number }[] = []

  constructor(readonly changes: number) {}

  async read(_agencyId: string, _bookingId: string, page: { before: BookingEntry | null; limit: number }) {
    this.pages.push(page)
    const newest = page.before === null ? this.changes : page.before.seq / 10 - 1
    return Array.from({ length: Math.min(page.limit, newest) }, (_, i) => changed(newest - i))
  }
}

const OF = { agencyId: AGENCY.id, bookingId: BOOKING.id }
const versionsIn = (text: string): number[] =>
  JSON.parse(text).history.map(({ version }: { version: number }) => version)
const upTo = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, i) => first + i)

describe('the history of a booking', () => {
  test.each([
    [0, 1],
    [1, 1],
    [99, 1],
    [100, 2],
    [450, 5],
  ])('of %d changes is read in %d pages, the newest first, and shown the oldest first', async (changes, pages) => {
    const history = new MadeHistory(changes)
    expect(versionsIn(await historyText(history, OF, () => 'you'))).toEqual(upTo(1, changes))
    expect(history.pages).toHaveLength(pages)
  })

  test('is written in slices, so that nobody waits for the whole of it', async () => {
    let slices = 0
    const counted = new Slices(50, async () => {
      slices += 1
    })
    await historyText(new MadeHistory(1_000), OF, () => 'you', counted)
    expect(slices).toBe(20)
  })

  test('has the newest changes when there are too many', async () => {
    const history = new MadeHistory(HISTORY_MAX + 70)
    const versions = versionsIn(await historyText(history, OF, () => 'you'))
    expect([versions[0], versions.at(-1), versions.length]).toEqual([71, HISTORY_MAX + 70, HISTORY_MAX])
    expect(history.pages).toHaveLength(HISTORY_MAX / 100)
  }, 60_000)

  test.each<[string, BookingEntry]>([
    ['damaged', { ...changed(2), checksum: '1' }],
    ['not an announced one', changed(2, { departure: night('2027-03-05') })],
  ])('is not shown without an entry that is %s', async (_, entry) => {
    const history: BookingHistory = { read: async () => [changed(3), entry] }
    await expect(historyText(history, OF, () => 'you')).rejects.toBeInstanceOf(CorruptLedgerError)
  })
})
