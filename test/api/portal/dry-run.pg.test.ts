/** See docs/design.md#dry-runs-and-moves: a test per sentence. */
import { beforeEach, describe, expect, test } from 'bun:test'
import type { Agency } from '../../../src/core/catalogue/agency.ts'
import { uuidOf } from '../../../src/lib/ids.ts'
import { SeededRandom } from '../../../src/lib/seeded-random.ts'
import type { HttpAnswer } from '../../support/http-call.ts'
import { sampleId, sampleRules } from '../../support/samples.ts'
import { sharedTestService } from '../../support/test-service.ts'

let agency: Agency
let path: string

const service = await sharedTestService()
beforeEach(async () => {
  agency = await service.agency()
  path = `/agencies/${agency.slug}`
  await service.unit(agency, { slug: 'sea-view', name: 'Sea View', rules: sampleRules({ basePrice: 10_000 }) })
  await service.unit(agency, { slug: 'garden', name: 'Garden', rules: sampleRules({ basePrice: 20_000 }) })
})

type Headers = Record<string, string>
interface Asked {
  readonly method: 'POST' | 'PATCH'
  readonly at: string
  readonly json: object
  readonly headers?: Headers
}
const send = ({ method, at, json, headers = {} }: Asked, query = '') =>
  service.ask(`${path}${at}${query}`, json, { method, headers })
const dryRun = (params: Asked) => send(params, '?dryRun=true')
const create = (json: object, headers?: Headers): Asked => ({
  method: 'POST',
  at: '/bookings',
  json,
  ...(headers && { headers }),
})
const change = (id: string, json: object, headers?: Headers): Asked => ({
  method: 'PATCH',
  at: `/bookings/${id}`,
  json,
  ...(headers && { headers }),
})
const cancel = (id: string, headers?: Headers): Asked => ({
  method: 'POST',
  at: `/bookings/${id}/cancel`,
  json: { reason: 'ill' },
  ...(headers && { headers }),
})
const STAY = { unit: 'sea-view', arrival: '2027-03-01', departure: '2027-03-05' }
const book = async (more: object = {}) => (await send(create({ ...STAY, ...more }))).body.booking

/** Everything that a write could leave behind. */
async function left(): Promise<unknown> {
  const id = uuidOf(agency.id)
  const [counts] = await service.database.sql`
    select (select count(*)::int from journal where agency_id = ${id}) as entries,
      (select count(*)::int from audit_line where agency_id = ${id}) as lines,
      (select count(*)::int from idempotency where agency_id = ${id}) as answers,
      (select count(*)::int from guest where agency_id = ${id}) as guests,
      (select jsonb_agg(to_jsonb(booking) order by booking_id) from booking where agency_id = ${id}) as bookings`
  return { ...counts, applied: service.ledger.commands.changesOf(agency) }
}

/** Without what is drawn for each request, or says when. */
function comparable({ status, body }: HttpAnswer) {
  const { requestId: _, ...rest } = body
  if (rest.booking === undefined) return { status, ...rest }
  const { updatedAt, createdAt, cancelledAt, holdExpiresAt, ...booking } = rest.booking
  // A change may be made in the millisecond of the booking.
  const isDated = booking.version === 1 ? updatedAt === createdAt : updatedAt >= createdAt
  const times = [cancelledAt, holdExpiresAt].map((time: string | null) => time !== null)
  return { booking: { ...booking, times, isDated } }
}

describe('a dry run', () => {
  test('of a new booking answers 200 with the booking and its quote, which the write then makes', async () => {
    const pending = create({ ...STAY, adults: 3, children: 1, extraBed: true, notes: 'late', status: 'option' })
    const tried = await dryRun(pending)
    expect(tried.status).toBe(200)
    const { booking } = (await send(pending)).body
    expect(comparable(tried)).toEqual(
      comparable({ body: { booking: { ...booking, id: tried.body.booking.id } } } as never),
    )
    expect(tried.body.quote.total).toBe(booking.totalAmount)
    expect((await service.get(`${path}/bookings/${tried.body.booking.id}`)).status).toBe(404)
  })

  test('of a change or a cancellation answers with the booking as it would be, with its guest, and what the stay costs now', async () => {
    const guest = { firstName: 'Ana', lastName: 'Reis' }
    const { id, guest: made } = await book({ guest, notes: 'late' })
    const move = { unit: 'garden', departure: '2027-03-06' }
    const asks: [Asked, object][] = [
      [change(id, { ...move, pricing: 'keep' }), { quote: { total: 105_000 }, booking: { totalAmount: 45_000 } }],
      [change(id, move), { quote: { total: 105_000 }, booking: { totalAmount: 105_000, unitSlug: 'garden' } }],
      [change(id, { status: 'checked_in' }), { quote: { total: 45_000 }, booking: { totalAmount: 45_000 } }],
      [change(id, {}), { quote: { total: 45_000 }, booking: { version: 1 } }],
      [cancel(id), { quote: null, booking: { status: 'cancelled', cancelReason: 'ill' } }],
    ]
    for (const [pending, expected] of asks) {
      const tried = await dryRun(pending)
      expect(tried).toMatchObject({ status: 200, body: expected })
      expect(tried.body.booking).toMatchObject({ guest: { id: made.id }, notes: 'late' })
    }
  })

  test('leaves nothing: no entry, no audit line, no event, no guest, no stored answer, whatever it says', async () => {
    const { id } = await book({ guest: { firstName: 'Ana', lastName: 'Reis', email: 'ana@example.com' } })
    await send(create({ ...STAY, unit: 'garden' }))
    const gone = await book({ arrival: '2027-04-01', departure: '2027-04-02' })
    await send(cancel(gone.id))
    const key = { 'Idempotency-Key': 'k1' }
    const old = { 'If-Match': '"7"' }
    const { secret } = await service.accessToken(agency, 'viewer')
    const before = await left()
    const { cursor } = (await service.get(`${path}/tape?from=2027-03-01&to=2027-04-01`)).body
    const guest = { firstName: 'New', lastName: 'Guest', email: 'new@example.com' }
    const asks: [number, Asked][] = [
      [200, create({ ...STAY, arrival: '2027-05-01', departure: '2027-05-02', guest, notes: 'x' }, key)],
      [409, create(STAY, key)],
      [404, create({ ...STAY, unit: 'nowhere' })],
      [400, create({ ...STAY, departure: 'soon' })],
      [400, create({ ...STAY, departure: STAY.arrival })],
      [200, change(id, { departure: '2027-03-09' }, key)],
      [409, change(id, { unit: 'garden' })],
      [409, change(id, { status: 'draft' })],
      [409, change(gone.id, { departure: '2027-04-03' })],
      [412, change(id, { departure: '2027-03-09' }, old)],
      [400, change(id, { holdExpiresAt: '2027-03-09' })],
      [404, change(sampleId('bkg', 'none'), { status: 'confirmed' })],
      [404, change(id, { unit: 'nowhere' })],
      [200, change(id, { status: 'cancelled' })],
      [200, cancel(id, key)],
      [200, cancel(gone.id)],
      [412, cancel(id, old)],
      [400, cancel(id, { 'If-Match': 'x' })],
    ]
    for (const [status, pending] of asks) expect([pending, (await dryRun(pending)).status]).toEqual([pending, status])
    const refused = await service.ask(
      `${path}/bookings/${id}/cancel?dryRun=true`,
      {},
      { method: 'POST', token: secret },
    )
    expect(refused).toMatchObject({ status: 403, body: { code: 'ROLE_MISSING', role: 'desk' } })
    expect(await left()).toEqual(before)
    expect((await service.get(`${path}/changes?after=${cursor}`)).body.changes).toEqual([])
  })

  test('does not look at an Idempotency-Key: the write with the same one is made afterwards', async () => {
    const pending = create(STAY, { 'Idempotency-Key': 'once' })
    expect((await dryRun(pending)).status).toBe(200)
    const made = await send(pending)
    expect([made.status, made.headers.get('idempotency-replayed')]).toEqual([201, null])
    expect((await dryRun(pending)).status).toBe(409)
    const again = await send(pending)
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true'])
    expect((await dryRun(create({ ...STAY, unit: 'garden' }, { 'Idempotency-Key': 'é"' }))).status).toBe(200)
  })

  test.each(['maybe', '', 'TRUE', 'true&dryRun=true'])(
    'is asked for with true or false: %p is a 400',
    async (value) => {
      expect(await send(create(STAY), `?dryRun=${value}`)).toMatchObject({ status: 400, body: { code: 'VALIDATION' } })
    },
  )

  test('is none with dryRun=false, and one however the name is encoded', async () => {
    const encoded = await send(create(STAY, { 'Idempotency-Key': 'k' }), '?dry%52un=%74rue')
    expect([encoded.status, encoded.body.quote.total]).toEqual([200, 45_000])
    expect((await send(create(STAY), '?dryRun=false')).status).toBe(201)
  })

  const SEED = Number(process.env['DRY_RUN_SEED'] ?? 20_270_501)
  test(`says of any write what the write then answers or refuses (seed ${SEED})`, async () => {
    const random = new SeededRandom(SEED)
    const day = (n: number) => new Date(Date.UTC(2027, 0, 1 + n)).toISOString().slice(0, 10)
    const ids: string[] = [sampleId('bkg', 'none')]
    const statuses = new Map<number, number>()
    for (let i = 0; i < 250; i++) {
      const from = random.below(40)
      const dates = { arrival: day(from), departure: day(from + 1 + random.below(6)) }
      const unit = random.pick(['sea-view', 'garden'])
      const id = random.pick(ids)
      const headers: Headers = random.chance(0.2) ? { 'If-Match': `"${1 + random.below(3)}"` } : {}
      const pricing = random.pick(['keep', 'reprice'])
      const pending = random.pick([
        create({
          ...dates,
          unit,
          type: random.pick(['guest', 'block', 'owner_stay']),
          status: random.pick(['option', 'confirmed']),
        }),
        change(id, { ...dates, unit, pricing }, headers),
        change(id, { ...dates, pricing }, headers),
        change(id, { status: random.pick(['confirmed', 'checked_in', 'checked_out', 'cancelled']) }, headers),
        change(id, { holdExpiresAt: random.pick(['2020-01-01', '2030-01-01']) }, headers),
        cancel(id, headers),
      ])
      const tried = await dryRun(pending)
      const made = await send(pending)
      statuses.set(made.status, (statuses.get(made.status) ?? 0) + 1)
      expect(tried.status).toBe(made.status === 201 ? 200 : made.status)
      if (made.status === 201) {
        ids.push(made.body.booking.id)
        tried.body.booking.id = made.body.booking.id
      }
      const { quote: _, ...said } = tried.body
      expect(comparable({ ...tried, body: said })).toEqual(comparable(made))
    }
    for (const status of [200, 201, 400, 404, 409, 412]) expect(statuses.get(status) ?? 0).toBeGreaterThan(2)
  })
})

describe('a move', () => {
  const auditOf = async (id: string) => (await service.get(`${path}/audit?booking=${id}`)).body.audit

  test('that keeps the price leaves the total as it is, whatever the nights and the unit; without a word it is priced again', async () => {
    const { id, totalAmount } = await book()
    const longer = (await send(change(id, { departure: '2027-03-20', pricing: 'keep' }))).body.booking
    expect(longer).toMatchObject({ totalAmount, nights: 19 })
    expect((await send(change(id, { unit: 'garden', pricing: 'keep' }))).body.booking).toMatchObject({ totalAmount })
    const back = (await send(change(id, { ...STAY, pricing: 'keep' }))).body.booking
    expect(back).toMatchObject({ totalAmount, unitSlug: 'sea-view', version: 4, arrival: STAY.arrival })
    expect((await send(change(id, { departure: '2027-03-06' }))).body.booking.totalAmount).toBe(55_000)
    expect((await send(change(id, { departure: '2027-03-07', pricing: 'reprice' }))).body.booking.totalAmount).toBe(
      65_000,
    )
    const lines = await auditOf(id)
    expect(lines.map(({ pricing }: { pricing: string | null }) => pricing)).toEqual([
      'reprice',
      'reprice',
      'keep',
      'keep',
      'keep',
      null,
    ])
  })

  test('of another kind of change says nothing of the price, and a wrong word is a 400', async () => {
    const { id } = await book()
    await send(change(id, { status: 'checked_in', pricing: 'keep' }))
    expect((await auditOf(id)).map(({ pricing }: { pricing: null }) => pricing)).toEqual([null, null])
    const wrong = await send(change(id, { departure: '2027-03-06', pricing: 'free' }))
    expect(wrong).toMatchObject({ status: 400, body: { errors: [{ field: 'pricing' }] } })
  })

  test('that keeps the price is announced as every move, and found in order by a verification', async () => {
    const partner = (await service.key(agency)).secret
    const { id } = await book()
    const { cursor } = (await service.call('/changes', { key: partner })).body
    await send(change(id, { unit: 'garden', pricing: 'keep' }))
    await send(change(id, { unit: 'sea-view' }))
    const { changes } = (await service.call(`/changes?after=${cursor}`, { key: partner })).body
    const [kept, priced] = changes
    expect([kept.event, Object.keys(kept.data)]).toEqual([priced.event, Object.keys(priced.data)])
    expect(JSON.stringify(changes)).not.toContain('pricing')
    expect((await service.ask('/verification')).body.verification.differences).toEqual([])
  })

  test('can be undone: back to its dates and unit with its price, and a cancelled block is made again as it was', async () => {
    const stay = await book()
    await send(change(stay.id, { unit: 'garden', arrival: '2027-03-02', departure: '2027-03-09', pricing: 'keep' }))
    const seen = { 'If-Match': '"2"' }
    const undone = (await send(change(stay.id, { ...STAY, pricing: 'keep' }, seen))).body.booking
    const { updatedAt: _, version, ...restored } = undone
    const { updatedAt: __, version: ___, ...original } = stay
    expect([restored, version]).toEqual([original, 3])

    const wanted = { unit: 'garden', arrival: '2027-05-01', departure: '2027-05-04', type: 'block', notes: 'Painting' }
    const block = (await send(create(wanted))).body.booking
    await send(cancel(block.id))
    const again = (await send(create(wanted))).body.booking
    expect({ ...again, id: '', createdAt: '', updatedAt: '' }).toEqual({
      ...block,
      id: '',
      createdAt: '',
      updatedAt: '',
    })
    expect((await send(change(block.id, { status: 'confirmed' }))).body.code).toBe('INVALID_TRANSITION')
  })
})
