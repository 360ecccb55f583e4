import { expect, test } from 'bun:test'
import type { AgencyChange } from '../../../src/api/portal/agency-change.ts'
import { AgencyChangeTexts } from '../../../src/api/portal/agency-change-text.ts'
import { RENDERINGS } from '../../../src/api/portal/renderings.ts'
import type { AgencyBooking } from '../../../src/core/bookings/booking-lists.ts'
import { FairShares } from '../../../src/lib/queues.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { sampleBooking, sampleId, sampleUnit } from '../../support/samples.ts'

const booking = (label: string) => sampleBooking({ id: sampleId('bkg', label) })
function changeOf(label: string): AgencyChange {
  const envelope = { unitSlug: 'sea-view', unitName: 'Sea View', currency: 'EUR' }
  const thing = { event: 'booking.created', booking: booking(label), envelope } as const
  return { cursor: label, id: label, seq: 1, at: 0, thing }
}

function opened() {
  const reads: string[][] = []
  const answers: (() => void)[] = []
  const found = (ids: readonly string[]) =>
    new Map(
      ['a', 'b', 'c']
        .map(booking)
        .flatMap((each): [string, AgencyBooking][] =>
          ids.includes(each.id) ? [[each.id, { booking: each, guest: null, notes: `Notes ${reads.length}` }]] : [],
        ),
    )
  const findAll = (_: string, ids: readonly string[]) => {
    reads.push([...ids])
    const { promise, resolve } = Promise.withResolvers<ReadonlyMap<string, AgencyBooking>>()
    answers.push(() => resolve(found(ids)))
    return promise
  }
  const texts = new AgencyChangeTexts({
    bookings: { findAll },
    renderings: new FairShares({ ...RENDERINGS, clock: new FakeClock() }),
  })
  return { texts, reads, answerAll: () => answers.splice(0).map((answer) => answer()) }
}

test('a booking is read once for all that need it at the same time, and again for those that come later', async () => {
  const { texts, reads, answerAll } = opened()
  const [a, b, c] = ['a', 'b', 'c'].map(changeOf) as [AgencyChange, AgencyChange, AgencyChange]
  const readers = [texts.render('agc', [a, b]), texts.render('agc', [a, b]), texts.render('agc', [b, c])]
  answerAll()
  const pages = await Promise.all(readers)
  expect(reads).toEqual([[a, b].map(({ thing }) => ('booking' in thing ? thing.booking.id : '')), [booking('c').id]])
  expect(pages.map((page) => page.map(({ cursor }) => cursor))).toEqual([
    ['a', 'b'],
    ['a', 'b'],
    ['b', 'c'],
  ])
  expect(pages[1]).toEqual(pages[0])
  const later = texts.render('agc', [a])
  answerAll()
  expect(JSON.parse((await later)[0]?.json ?? '').data.notes).toBe('Notes 3')
})

test('a page without bookings costs no read', async () => {
  const { texts, reads } = opened()
  const thing = { event: 'unit.updated', unit: sampleUnit() } as const
  expect(await texts.render('agc', [{ cursor: 'u', id: 'u', seq: 1, at: 0, thing }])).toHaveLength(1)
  expect(reads).toEqual([])
})

test('a booking that is not stored is a failure, not a gap', async () => {
  const { texts, answerAll } = opened()
  const rendering = texts.render('agc', [changeOf('a'), changeOf('missing')]).catch((error: Error) => error.name)
  answerAll()
  expect(await rendering).toBe('CorruptLedgerError')
})
