import { describe, expect, test } from 'bun:test'
import { apart, BookingLoad, type LoadRequest, openReads } from '../../../src/cli/bench/load.ts'
import { CliError, RefusedError } from '../../../src/cli/exit-codes.ts'
import { addNights, asNight, formatNight, parseNight } from '../../../src/core/domain/night.ts'
import { SeededRandom } from '../../../src/lib/seeded-random.ts'

const TODAY = asNight(20_000)
const slots = Array.from({ length: 6 }, (_, i) => ({
  unit: `unit-${i}`,
  arrival: formatNight(addNights(TODAY, 10)),
  departure: formatNight(addNights(TODAY, 13)),
}))
const created = (id: string) => ({ status: 201, text: JSON.stringify({ booking: { id } }) })

/** Answers as it is told, one after the other, and records what was sent. */
function client(...answers: (object | Error)[]) {
  const sent: { path: string; body: object; key: string | undefined }[] = []
  return {
    sent,
    post: async (path: string, body: object, key?: string) => {
      sent.push({ path, body, key })
      const answer = answers.shift() ?? {}
      if (answer instanceof Error) throw answer
      return answer as Record<string, unknown>
    },
  }
}
const left = () => {}

describe('reads', () => {
  const units = [
    { slug: 'a', status: 'active', minStay: 4 },
    { slug: 'b', status: 'draft', minStay: 1 },
  ]
  const SCOPES = ['read:units', 'read:availability', 'read:rates']
  const open = (scopes: readonly string[], of: unknown = units) =>
    openReads({ get: async () => ({ units: of }) }, scopes, new SeededRandom(7), TODAY)

  test('are of the units that can be booked, in the months to come, and long enough for their minimum stay', async () => {
    const load = await open(SCOPES)
    const requests = Array.from({ length: 20_000 }, () => load.next() as LoadRequest)
    const shares = Object.keys(load.operations).map(
      (name) => requests.filter(({ operation }) => operation === name).length,
    )
    expect(shares.map((count) => Math.round(count / 1_000))).toEqual([12, 5, 2, 1])
    for (const { operation, path, body = {} } of requests) {
      const fields = operation === 'quote' ? body : Object.fromEntries(new URLSearchParams(path.split('?')[1]))
      if ('unit' in fields) expect(fields['unit']).toBe('a')
      const from = fields['from'] ?? fields['arrival']
      if (from === undefined) continue
      const [first, last] = [from, fields['to'] ?? fields['departure']].map((text) => parseNight(String(text)) ?? 0)
      expect(first).toBeGreaterThanOrEqual(TODAY)
      expect((last ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(operation === 'quote' ? 4 : 31)
    }
  })

  test('leave out what the key may not read, and need the list of units', async () => {
    const load = await open(['read:units'])
    expect(Object.keys(load.operations)).toEqual(['unit'])
    expect(load.leftOut).toEqual(['availability (read:availability)', 'quote (read:rates)', 'search (read:rates)'])
    expect(load.next()?.operation).toBe('unit')
    expect(open(['read:availability'])).rejects.toThrow('the key lacks the scope read:units')
  })

  test('of an agency without units, or of something else than this service, are refused', () => {
    expect(open(SCOPES, [])).rejects.toThrow('no unit that can be booked')
    expect(open(SCOPES, 'units')).rejects.toThrow('Is it nightledger?')
  })
})

describe('bookings', () => {
  test('are of stays that do not touch each other, with room for the cleaning', () => {
    const stay = (unit: string, arrival: string, departure: string) => ({ unit, arrival, departure })
    const chosen = [
      stay('a', '2030-01-01', '2030-01-04'),
      stay('b', '2030-01-02', '2030-01-05'),
      stay('a', '2030-01-07', '2030-01-10'),
    ]
    const between = [stay('a', '2030-01-02', '2030-01-05'), stay('a', '2030-01-06', '2030-01-09')]
    const all = [...chosen, ...between].toSorted((x, y) => x.arrival.localeCompare(y.arrival))
    expect(apart(all)).toEqual(chosen)
  })

  test('alternate between confirmed and held, and each is cancelled as soon as a request is due', async () => {
    const load = new BookingLoad(slots, 'bench 1')
    const one = load.next() as LoadRequest
    expect(one.body).toEqual({ ...slots[0], sourceRef: 'bench 1' })
    const two = load.next() as LoadRequest
    expect(two.body).toMatchObject({ status: 'option', holdHours: 1 })
    expect([one.operation, two.operation, one.idempotencyKey === two.idempotencyKey]).toEqual(['book', 'hold', false])
    one.settled?.(created('bkg_1'))
    const cancel = load.next() as LoadRequest
    expect([cancel.operation, cancel.path]).toEqual(['cancel', '/bookings/bkg_1/cancel'])
    cancel.settled?.({ status: 200, text: '{}' })
    two.settled?.({ status: 409, text: '{}' })
    const service = client()
    expect(await load.cleanUp(service, left)).toEqual({ booked: 1, cancelled: 1, left: [] })
    expect(service.sent).toEqual([])
  })

  test('cancelled or refused, give their stay back: as many connections as are allowed never want for one', () => {
    const load = new BookingLoad(slots, 'bench 1')
    const random = new SeededRandom(3)
    let id = 0
    const inFlight: LoadRequest[] = []
    for (let i = 0; i < 5_000; i++) {
      while (inFlight.length < load.connectionsMax) inFlight.push(load.next() as LoadRequest)
      const [request] = inFlight.splice(random.below(inFlight.length), 1)
      const isRefused = random.chance(0.2)
      if (request?.operation === 'cancel') request.settled?.({ status: 200, text: '{}' })
      else request?.settled?.(isRefused ? { status: 409, text: '{}' } : created(`bkg_${id++}`))
    }
    expect(inFlight.every((request) => request !== null)).toBe(true)
  })

  test('that may have been made are asked for again with their key at the end, and cancelled with the others', async () => {
    const load = new BookingLoad(slots, 'bench 1')
    const requests = Array.from({ length: 4 }, () => load.next() as LoadRequest)
    requests[0]?.settled?.(null)
    requests[1]?.settled?.({ status: 500, text: '{"code":"INTERNAL"}' })
    requests[2]?.settled?.(created('bkg_made'))
    requests[3]?.settled?.({ status: 201, text: 'not JSON' })
    const refused = new RefusedError(409, { code: 'BOOKING_CONFLICT' })
    const service = client({ booking: { id: 'bkg_first' } }, refused, { booking: { id: 'bkg_third' } })
    expect(await load.cleanUp(service, left)).toEqual({ booked: 3, cancelled: 3, left: [] })
    expect(service.sent.slice(0, 3).map(({ key }) => key)).toEqual([0, 1, 3].map((i) => requests[i]?.idempotencyKey))
    expect(service.sent.slice(3).map(({ path }) => path)).toEqual(
      ['bkg_made', 'bkg_first', 'bkg_third'].map((id) => `/bookings/${id}/cancel`),
    )
  })

  test('whose cancellation was not carried out are cancelled at the end, and named if that is refused', async () => {
    const load = new BookingLoad(slots, 'bench 1')
    const creates = [load.next(), load.next()]
    for (const [i, create] of creates.entries()) create?.settled?.(created(`bkg_${i}`))
    const cancels = [load.next(), load.next()]
    for (const cancel of cancels) cancel?.settled?.(null)
    const service = client({}, new RefusedError(403, { code: 'SCOPE_MISSING' }))
    expect(await load.cleanUp(service, left)).toEqual({ booked: 2, cancelled: 1, left: ['bkg_1'] })
  })

  test('do not lose patience over a failure that passes', async () => {
    const load = new BookingLoad(slots, 'bench 1')
    load.next()?.settled?.(created('bkg_1'))
    const service = client(new CliError('Cannot reach the service'), {})
    expect(await load.cleanUp(service, left)).toEqual({ booked: 1, cancelled: 1, left: [] })
  })
})
