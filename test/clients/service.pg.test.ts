/** Both clients against the real service, behind a proxy that breaks off, repeats and refuses. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { partnerDocument } from '../../src/api/partner/partner-surface.ts'
import type { Agency } from '../../src/core/catalogue/agency.ts'
import type { Unit } from '../../src/core/domain/unit.ts'
import { startTestService } from '../support/test-service.ts'
import { AllClients, CLIENTS } from './support/all-clients.ts'
import type { Outcome, Played, Step } from './support/conformance-cases.ts'
import { type Fault, FaultProxy } from './support/fault-proxy.ts'

const service = await startTestService()
const proxy = await FaultProxy.start(service.url)
const clients = await AllClients.start()
afterAll(async () => {
  proxy?.stop()
  await clients?.stop()
  await service?.close()
})

/** Sandboxes have one: a service without sandboxes has no such route. */
const HAS_CLOCK = '/partner/v1/test/clock' in JSON.parse(await partnerDocument()).paths
const CURSOR_EXPIRED = { status: 410, json: { code: 'CURSOR_EXPIRED', title: 'Expired', requestId: 'req_1' } }

describe.each(CLIENTS)('%s', (name) => {
  let agency: Agency
  let unit: Unit
  let key: string
  beforeAll(async () => {
    agency = await service.agency()
    unit = await service.unit(agency)
    key = (await service.key(agency)).secret
  })

  async function play(faults: readonly (Fault | null)[], steps: readonly Step[]): Promise<Played> {
    proxy.begin(faults)
    const played = await clients.play(name, proxy.url, { steps }, key)
    expect(proxy.left).toBe(0)
    return played
  }
  // biome-ignore lint/suspicious/noExplicitAny: results of every shape
  const resultOf = (outcome: Outcome | undefined): any => {
    if (outcome === undefined || 'error' in outcome) throw new Error(outcome?.error.text)
    return outcome.result
  }
  const stay = (month: string) => ({ unit: unit.slug, arrival: `2027-${month}-01`, departure: `2027-${month}-05` })
  const bookingsOf = async (month: string) => {
    const query = `from=2027-${month}-01&to=2027-${month}-28&unit=${unit.slug}`
    const { body } = await service.call(`/bookings?${query}`, { key })
    return body.bookings.map(({ id }: { id: string }) => id)
  }

  test('a booking whose answer is lost is booked once, and returned', async () => {
    const { outcomes, pauses } = await play(['cut', 'cut'], [{ call: 'book', args: [stay('01')] }])
    expect(await bookingsOf('01')).toEqual([resultOf(outcomes[0]).id])
    expect(pauses).toEqual([500, 1_000])
  })
  test('a booking whose answer arrives by half is booked once, and returned', async () => {
    const { outcomes } = await play(['half'], [{ call: 'book', args: [stay('02')] }])
    expect(await bookingsOf('02')).toEqual([resultOf(outcomes[0]).id])
  })
  test('a write without a key whose answer is lost is not repeated', async () => {
    const options = { idempotencyKey: null }
    const step = { call: 'book', args: [stay('03')], options, error: { class: 'NoAnswerError' } }
    const { outcomes } = await play(['cut'], [step])
    expect(outcomes).toMatchObject([{ error: { class: 'NoAnswerError' } }])
    expect(await bookingsOf('03')).toHaveLength(1)
  })
  test('429 and 503 are waited out', async () => {
    const limited = { status: 429, headers: { 'retry-after': '2' }, json: { code: 'RATE_LIMITED', title: 'Slower' } }
    const away = { status: 503, json: { code: 'INTERNAL', title: 'Starting' } }
    const { outcomes, pauses } = await play([limited, away], [{ call: 'me' }])
    expect(resultOf(outcomes[0]).tenant.slug).toBe(agency.slug)
    expect(pauses).toEqual([2_000, 1_000])
  })
  test('kept answers come from the service the second time too, and a 304 for nothing is asked again', async () => {
    const steps = [
      { call: 'units.list' },
      { call: 'units.list' },
      { call: 'calendar', args: [{ from: '2027-01-01', to: '2027-02-01' }] },
    ]
    const { outcomes, pauses } = await play([{ status: 304, headers: { etag: '"x"' } }], steps)
    expect(resultOf(outcomes[0])).toEqual(resultOf(outcomes[1]))
    expect(resultOf(outcomes[0])[0].slug).toBe(unit.slug)
    expect(resultOf(outcomes[2])[0].unit).toBe(unit.slug)
    expect(pauses).toEqual([500])
  })
  test('a stay is booked at the price that was quoted, or not at all', async () => {
    const quote = { call: 'quote', args: [stay('04')] }
    const book = { call: 'book', args: [{ atPrice: '$result0', sourceRef: 'A-1' }] }
    const { outcomes } = await play([null, 'cut'], [quote, book])
    expect(resultOf(outcomes[1])).toMatchObject({ sourceRef: 'A-1', totalAmount: resultOf(outcomes[0]).quote.total })

    const stale = { ...resultOf(outcomes[0]), tag: '"another-price"', stay: stay('05') }
    const error = { class: 'QuoteChangedError', members: { quote: null } }
    const refused = await play([], [{ call: 'book', args: [{ atPrice: stale }], error }])
    expect(refused.outcomes).toMatchObject([
      { error: { class: 'QuoteChangedError', members: { quote: { nights: 4 } } } },
    ])
    expect(await bookingsOf('05')).toEqual([])
  })
  test('nights that are taken are a BookingConflictError that says which', async () => {
    const error = { class: 'BookingConflictError', members: { conflict: null, status: null } }
    const { outcomes } = await play(
      [],
      [
        { call: 'book', args: [stay('06')] },
        { call: 'book', args: [stay('06')], error },
      ],
    )
    const conflict = { from: '2027-06-01', bookableFrom: '2027-06-05' }
    expect(outcomes[1]).toMatchObject({ error: { class: 'BookingConflictError', members: { status: 409, conflict } } })
  })
  test('a list is complete, and each booking in it once, over pages that fail', async () => {
    const args = [{ unit: unit.slug, pageSize: 2 }]
    const { outcomes } = await play(['half', null, 'cut'], [{ call: 'bookings.list', args }])
    const { body } = await service.call(`/bookings?unit=${unit.slug}&pageSize=200`, { key })
    const ids = resultOf(outcomes[0]).map(({ id }: { id: string }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.sort()).toEqual(body.bookings.map(({ id }: { id: string }) => id).sort())
  })
  test('changes come in order and once: over streams that are torn, repeated and lost', async () => {
    const { body } = await service.call('/changes?after=start&limit=500', { key })
    const known = body.changes.map(({ id }: { id: string }) => id)
    const follow = { call: 'changes.follow', args: [{ after: 'start' }], take: known.length }
    const { outcomes } = await play(['tear', { status: 503 }, 'repeat'], [follow])
    expect(resultOf(outcomes[0]).map(({ id }: { id: string }) => id)).toEqual(known)
  })
  test('an expired cursor is a reset, and following goes on', async () => {
    const { body } = await service.call('/changes', { key })
    const booked = proxy.nextStream().then(() => service.call('/bookings', { key, json: stay('07') }))
    const follow = { call: 'changes.follow', args: [{ after: body.cursor, include: ['units'] }], take: 1 }
    const { outcomes, resets } = await play([CURSOR_EXPIRED], [follow])
    await booked
    expect(resultOf(outcomes[0])).toMatchObject([{ event: 'booking.created', data: { arrival: '2027-07-01' } }])
    expect(resets).toMatchObject([{ forget: ['bookings', 'units'] }])
  })
  test('where streams are held back, changes are polled', async () => {
    const { body } = await service.call('/changes', { key })
    await service.call('/bookings', { key, json: stay('08') })
    const follow = { call: 'changes.follow', args: [{ after: body.cursor, silenceMs: 300 }], take: 1 }
    const { outcomes } = await play(['hold', 'hold'], [follow])
    expect(resultOf(outcomes[0])).toMatchObject([{ data: { arrival: '2027-08-01' } }])
  })
  test('several stays are booked together, and cancelled', async () => {
    const stays = [stay('09'), stay('10')]
    const { outcomes } = await play(['cut'], [{ call: 'groups.book', args: [{ stays }] }])
    const { groupId, bookings } = resultOf(outcomes[0])
    expect(bookings.map(({ id }: { id: string }) => id)).toEqual([
      ...(await bookingsOf('09')),
      ...(await bookingsOf('10')),
    ])
    const cancelled = await play(['cut'], [{ call: 'groups.cancel', args: [groupId] }])
    expect(resultOf(cancelled.outcomes[0]).bookings.map(({ status }: { status: string }) => status)).toEqual([
      'cancelled',
      'cancelled',
    ])
  })
  test.skipIf(!HAS_CLOCK)(
    'a clock whose answer is lost is moved once, and what falls due has happened by then',
    async () => {
      const start = Date.UTC(2050, 2, 1, 9)
      // The member of an agency that makes it a sandbox.
      const sandboxed: object = { clock: { now: start, target: start } }
      agency = await service.agency(sandboxed as Partial<Agency>)
      unit = await service.unit(agency)
      key = (await service.key(agency)).secret
      const held = { unit: unit.slug, arrival: '2050-06-01', departure: '2050-06-05', status: 'option', holdHours: 24 }
      const { body } = await service.call('/bookings', { key, json: held })
      // No time passes between two looks at the clock: there must be enough of them.
      const advance = { call: 'test.clock.advance', args: [{ days: 2 }], options: { deadlineMs: 36_000_000 } }
      const { outcomes } = await play(['cut'], [advance, { call: 'bookings.get', args: [body.booking.id] }])
      expect(resultOf(outcomes[0])).toEqual({ now: '2050-03-03T09:00:00.000Z', status: 'ready' })
      expect(resultOf(outcomes[1])).toMatchObject({ status: 'cancelled', cancelReason: 'hold_expired' })
    },
  )
})
