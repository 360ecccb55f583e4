import { afterAll, describe, expect, test } from 'bun:test'
import { PostgresAgencyBookings } from '../../../src/postgres/stores/postgres-agency-bookings.ts'
import { openTestLedger } from '../../support/ledger.ts'
import { CALLER } from '../../support/samples.ts'

/* An id of another form names nothing: it is not found, as one that nobody has, and is no error. */

const service = await openTestLedger()
const agency = await service.agency()
const booking = await service.book(agency, await service.unit(agency), '2027-03-01', '2027-03-04')
afterAll(() => service.close())

const OF_ANOTHER_FORM: readonly [string, (id: string) => string][] = [
  ['the prefix of something else', (id) => `gsx${id.slice(3)}`],
  ['capitals', (id) => id.toUpperCase()],
  ['dashes', (id) => `${id.slice(0, 12)}-${id.slice(12)}`],
  ['a digit less', (id) => id.slice(0, -1)],
  ['a digit more', (id) => `${id}0`],
  ['no prefix', (id) => id.slice(4)],
  ['quotes', () => `bkg_' or true --`],
  ['nothing', () => ''],
]

describe.each(OF_ANOTHER_FORM)('an id with %s', (_, changed) => {
  const filter = { from: null, to: null, status: null, unitId: null, groupId: null }
  const page = { offset: 0, limit: 10 }

  test('finds no booking', async () => {
    const { bookingRows, sql, lists } = service.ledger
    const id = changed(booking.id)
    expect(await bookingRows.find(agency.id, id)).toBeNull()
    expect(await new PostgresAgencyBookings(sql, lists).find(agency.id, id)).toBeNull()
    const cancelled = await service.ledger.commands.cancel(agency, { bookingId: id, reason: null }, CALLER)
    expect(cancelled.kind).toBe('not_found')
  })

  test('lists no bookings', async () => {
    const { bookingList, sql, lists } = service.ledger
    const none = { rows: [], total: 0 }
    expect(await bookingList.list(agency.id, { ...filter, unitId: changed(booking.unitId) }, page)).toEqual(none)
    const wanted = {
      ...filter,
      departedBefore: null,
      type: null,
      source: null,
      sourceRef: null,
      guestId: changed(booking.id),
    }
    const listed = new PostgresAgencyBookings(sql, lists).list(agency.id, wanted, { ...page, order: 'latest_first' })
    expect(await listed).toEqual(none)
    expect(await bookingList.ofGuest(agency.id, changed(booking.id), 10)).toEqual([])
  })

  test('finds no guest', async () => {
    expect(await service.ledger.guestList.find(agency.id, changed(booking.id))).toBeNull()
  })
})
