import { describe, expect, spyOn, test } from 'bun:test'
import { PORTAL_OPERATIONS } from '../../../src/api/portal/portal-surface.ts'
import type { Agency } from '../../../src/core/catalogue/agency.ts'
import { isWrite, routeNameOf } from '../../../src/http/operation.ts'
import { PostgresIdempotencyRows } from '../../../src/postgres/stores/postgres-idempotency-rows.ts'
import { makeDeliveries } from '../../events/webhooks/support/make-deliveries.ts'
import { makePasskey } from '../../support/authenticator.ts'
import { FROM_THE_PAGE } from '../../support/page-sessions.ts'
import { invite, joined } from '../../support/people.ts'
import { sharedTestService } from '../../support/test-service.ts'

/* Every write of the portal, repeated with its Idempotency-Key: made once, answered twice. */

const service = await sharedTestService()

interface World {
  readonly agency: Agency
  readonly a: string
  readonly owner: string
  readonly unit: string
  readonly booking: string
  readonly guest: string
  readonly endpoint: string
}

interface Request {
  readonly path: string
  readonly body?: object
  /** Another request of the same route. Left out: there is none. */
  readonly other?: { readonly path?: string; readonly body?: object }
  /** The cookie of the person who asks; left out: an owner's token, or the operator's. */
  readonly as?: string
}

const STAY = { arrival: '2027-05-01', departure: '2027-05-08' }

async function makeWorld(): Promise<World> {
  const agency = await service.agency()
  const a = `/agencies/${agency.slug}`
  const { slug: unit } = await service.unit(agency)
  const endpoint = (await service.ask(`${a}/webhook-endpoints`, { url: 'https://localhost:9/hooks' })).body
  const guest = { firstName: 'Ana', lastName: 'Lima', email: 'ana@example.com' }
  const { booking } = (await service.ask(`${a}/bookings`, { unit, ...STAY, guest, notes: 'Late' })).body
  await makeDeliveries(service.database.url, service.ledger.epoch)
  const { secret: owner } = await service.accessToken(agency, 'owner')
  const ids = { booking: booking.id, guest: booking.guest.id, endpoint: endpoint.webhookEndpoint.id }
  return { agency, a, owner, unit, ...ids }
}

const passkeysOf = async (cookie: string) =>
  (await service.ask('/me/passkeys', undefined, { token: null, headers: { cookie } })).body.passkeys

const makeSandbox = (a: string) => service.ask(`${a}/sandbox`, undefined, { method: 'POST' })

const WRITES: Record<string, (world: World) => Request | Promise<Request>> = {
  createAgency: ({ agency }) => {
    const body = { slug: `new-${agency.slug}`, name: 'New', currency: 'EUR', timezone: 'Europe/Lisbon' }
    return { path: '/agencies', body, other: { body: { ...body, name: 'Other' } } }
  },
  changeAgency: ({ a }) => ({ path: a, body: { name: 'Renamed' }, other: { body: { name: 'Other' } } }),
  createAccessToken: ({ a }) => ({
    path: `${a}/access-tokens`,
    body: { name: 'Rui', role: 'desk' },
    other: { body: { name: 'Rui', role: 'owner' } },
  }),
  revokeAccessToken: async ({ a, agency }) => {
    const { token } = await service.accessToken(agency, 'desk')
    return { path: `${a}/access-tokens/${token.id}`, other: { path: `${a}/access-tokens/tok_other` } }
  },
  createPerson: ({ a }) => ({
    path: `${a}/people`,
    body: { name: 'Rui', role: 'desk' },
    other: { body: { name: 'Rui', role: 'owner' } },
  }),
  updatePerson: async ({ a, agency }) => {
    const { person } = await invite(service, agency, { role: 'desk' })
    return { path: `${a}/people/${person.id}`, body: { role: 'viewer' }, other: { body: { role: 'owner' } } }
  },
  removePerson: async ({ a, agency }) => {
    const { person } = await invite(service, agency, { role: 'desk' })
    return { path: `${a}/people/${person.id}`, other: { path: `${a}/people/per_other` } }
  },
  invitePerson: async ({ a, agency }) => {
    const { person } = await invite(service, agency, { role: 'desk' })
    return { path: `${a}/people/${person.id}/invitations` }
  },
  createPasskey: async ({ agency }) => {
    const { cookie } = await joined(service, agency, 'viewer')
    const as = { token: null, headers: { ...FROM_THE_PAGE, cookie } }
    const { options } = (await service.ask('/me/passkeys/options', undefined, { method: 'POST', ...as })).body
    const { passkey } = makePasskey(options)
    return {
      path: '/me/passkeys',
      body: { name: 'phone', passkey },
      other: { body: { name: 'x', passkey } },
      as: cookie,
    }
  },
  updatePasskey: async ({ agency }) => {
    const { cookie } = await joined(service, agency, 'viewer')
    const [{ id }] = await passkeysOf(cookie)
    return { path: `/me/passkeys/${id}`, body: { name: 'old' }, other: { body: { name: 'new' } }, as: cookie }
  },
  deletePasskey: async ({ agency }) => {
    const { cookie } = await joined(service, agency, 'viewer')
    const as = { token: null, headers: { ...FROM_THE_PAGE, cookie } }
    const { options } = (await service.ask('/me/passkeys/options', undefined, { method: 'POST', ...as })).body
    await service.ask('/me/passkeys', { name: 'phone', passkey: makePasskey(options).passkey }, as)
    const [{ id }] = await passkeysOf(cookie)
    return { path: `/me/passkeys/${id}`, as: cookie }
  },
  createSandbox: ({ a }) => ({ path: `${a}/sandbox` }),
  resetSandbox: async ({ a }) => {
    await makeSandbox(a)
    return { path: `${a}/sandbox/reset` }
  },
  deleteSandbox: async ({ a }) => {
    await makeSandbox(a)
    return { path: `${a}/sandbox` }
  },
  moveSandboxClock: async ({ a }) => {
    await makeSandbox(a)
    return {
      path: `${a}/sandbox/clock`,
      body: { advanceSeconds: 60 },
      other: { body: { advanceSeconds: 61 } },
    }
  },
  setRetention: ({ a }) => ({
    path: `${a}/retention`,
    body: { guestMonths: 24 },
    other: { body: { guestMonths: 25 } },
  }),
  createKey: ({ a }) => ({ path: `${a}/keys`, body: { name: 'Website' }, other: { body: { name: 'Other' } } }),
  revokeKey: async ({ a, agency }) => {
    const { key } = await service.key(agency)
    return { path: `${a}/keys/${key.id}`, other: { path: `${a}/keys/key_other` } }
  },
  createUnit: ({ a }) => {
    const body = { slug: 'loft', name: 'Loft', basePrice: 100 }
    return { path: `${a}/units`, body, other: { body: { ...body, slug: 'attic' } } }
  },
  changeUnit: ({ a, unit }) => ({
    path: `${a}/units/${unit}`,
    body: { basePrice: 1 },
    other: { body: { basePrice: 2 } },
  }),
  setRates: ({ a, unit }) => ({
    path: `${a}/units/${unit}/rates`,
    body: { lengthOfStayDiscounts: [{ minNights: 7, pct: 10 }] },
    other: { body: {} },
  }),
  setRestrictions: ({ a, unit }) => ({
    path: `${a}/units/${unit}/restrictions`,
    body: { advanceNoticeHours: 24 },
    other: { body: {} },
  }),
  createFeeType: ({ a }) => {
    const body = { label: 'Linen', kind: 'fixed', amount: 500 }
    return { path: `${a}/fee-types`, body, other: { body: { ...body, amount: 600 } } }
  },
  changeFeeType: async ({ a, agency }) => {
    const { id } = await service.feeType(agency)
    return { path: `${a}/fee-types/${id}`, body: { active: false }, other: { body: { active: true } } }
  },
  createBooking: ({ a, unit }) => {
    const guest = { firstName: 'Anna', lastName: 'Lima', email: 'ANA@example.com' }
    const body = { unit, arrival: '2027-06-01', departure: '2027-06-03', notes: 'Cot', guest }
    return { path: `${a}/bookings`, body, other: { body: { ...body, departure: '2027-06-04' } } }
  },
  changeBooking: ({ a, booking }) => ({
    path: `${a}/bookings/${booking}`,
    body: { departure: '2027-05-09' },
    other: { body: { departure: '2027-05-10' } },
  }),
  cancelBooking: ({ a, booking }) => ({
    path: `${a}/bookings/${booking}/cancel`,
    body: { reason: 'Ill' },
    other: { body: {} },
  }),
  createGroup: ({ a, unit }) => {
    const stays = [
      { unit, arrival: '2027-06-01', departure: '2027-06-03' },
      { unit, arrival: '2027-06-03', departure: '2027-06-05' },
    ]
    const body = { stays, guest: { firstName: 'A', lastName: 'B' } }
    return { path: `${a}/bookings/group`, body, other: { body: { ...body, guest: null } } }
  },
  cancelGroup: async ({ a, unit }) => {
    const stays = [
      { unit, arrival: '2027-06-01', departure: '2027-06-03' },
      { unit, arrival: '2027-06-03', departure: '2027-06-05' },
    ]
    const { groupId } = (await service.ask(`${a}/bookings/group`, { stays })).body
    return { path: `${a}/bookings/group/${groupId}/cancel`, body: { reason: 'Off' }, other: { body: {} } }
  },
  setBookingNotes: ({ a, booking }) => ({
    path: `${a}/bookings/${booking}/notes`,
    body: { notes: 'Late' },
    other: { body: { notes: 'Early' } },
  }),
  eraseBookingTexts: ({ a, booking }) => ({ path: `${a}/bookings/${booking}/erase-texts` }),
  eraseGuest: ({ a, guest }) => ({ path: `${a}/guests/${guest}/erase` }),
  changeGuest: ({ a, guest }) => ({
    path: `${a}/guests/${guest}`,
    body: { phone: '+1' },
    other: { body: { phone: '+2' } },
  }),
  changeCalendarFeed: ({ a, unit }) => ({ path: `${a}/units/${unit}/calendar-feed` }),
  createWebhookEndpoint: ({ a }) => ({
    path: `${a}/webhook-endpoints`,
    body: { url: 'https://localhost:10/hooks' },
    other: { body: { url: 'https://localhost:9/hooks' } },
  }),
  changeWebhookEndpoint: ({ a, endpoint }) => ({
    path: `${a}/webhook-endpoints/${endpoint}`,
    body: { description: 'Channel' },
    other: { body: { description: null } },
  }),
  deleteWebhookEndpoint: ({ a, endpoint }) => ({ path: `${a}/webhook-endpoints/${endpoint}` }),
  rotateWebhookSecret: ({ a, endpoint }) => ({
    path: `${a}/webhook-endpoints/${endpoint}/rotate-secret`,
    body: { overlapHours: 1 },
    other: { body: { overlapHours: 2 } },
  }),
  pingWebhookEndpoint: ({ a, endpoint }) => ({ path: `${a}/webhook-endpoints/${endpoint}/ping` }),
  resendWebhookDeliveries: ({ a, endpoint }) => ({
    path: `${a}/webhook-endpoints/${endpoint}/resend`,
    body: { since: '2020-01-01T00:00:00Z' },
    other: { body: { since: '2021-01-01T00:00:00Z' } },
  }),
  resendWebhookDelivery: async ({ a, endpoint }) => {
    const { deliveries } = (await service.get(`${a}/webhook-endpoints/${endpoint}/deliveries`)).body
    return { path: `${a}/deliveries/${deliveries[0].id}/resend` }
  },
}

const OPERATIONS = PORTAL_OPERATIONS.filter(isWrite)

test('every write of the portal is among them', () => {
  expect(OPERATIONS.map(({ id }) => id).toSorted()).toEqual(Object.keys(WRITES).toSorted())
})

describe.each(OPERATIONS.map((operation) => [operation.id, operation] as const))('%s', (id, operation) => {
  test('is made once per Idempotency-Key, and answered again without its secret', async () => {
    const world = await makeWorld()
    const { path, body, other, as } = (await WRITES[id]?.(world)) ?? { path: '' }
    const key = { 'Idempotency-Key': `"${id}"` }
    const ask = (request: { path: string; body?: object }) =>
      service.ask(request.path, request.body, {
        method: operation.method,
        headers: as === undefined ? key : { ...key, ...FROM_THE_PAGE, cookie: as },
        ...(operation.role === 'operator' ? {} : { token: as === undefined ? world.owner : null }),
      })
    const pending = { path, ...(body === undefined ? {} : { body }) }
    const first = await ask(pending)
    expect([first.status, first.headers.get('idempotency-replayed')]).toEqual([operation.answer.status, null])
    const again = await ask(pending)
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([first.status, 'true'])
    const { secret, invitation } = first.body
    const kept = invitation === undefined ? first.body : { ...first.body, invitation: { ...invitation, link: null } }
    expect(again.body).toEqual(secret === undefined ? kept : { ...kept, secret: null })
    if (secret === undefined && invitation === undefined) expect(again.text).toBe(first.text)
    if (other !== undefined) {
      const reused = await ask({ ...pending, ...other })
      expect([reused.status, reused.body.code]).toEqual([422, 'IDEMPOTENCY_KEY_REUSED'])
    }
    const slug = id === 'createAgency' ? `new-${world.agency.slug}` : world.agency.slug
    const { audit } = (await service.get(`/agencies/${slug}/audit?pageSize=200`)).body
    const outcomes = audit
      .filter(({ route, requestId }: Record<string, string>) => route === routeNameOf(operation) && requestId !== null)
      .map(({ outcome }: { outcome: string }) => outcome)
    const expected = [
      ...(other !== undefined && id !== 'createAgency' ? ['IDEMPOTENCY_KEY_REUSED'] : []),
      'REPLAYED',
      // The clock is of the sandbox, and so is the line that it was moved.
      ...(id === 'moveSandboxClock' ? [] : ['OK']),
    ]
    expect(outcomes.slice(0, expected.length)).toEqual(expected)
  })
})

test('after all these, everything derived agrees with the journal', async () => {
  expect((await service.get('/verification')).body.verification.differences).toEqual([])
})

describe('an Idempotency-Key', () => {
  const KEY = { 'Idempotency-Key': 'k' }
  const keysOf = async (a: string) => (await service.get(`${a}/keys`)).body.totalItems

  test('is scoped by token, agency and route; both tokens of the operator share a scope', async () => {
    const [one, two] = [await makeWorld(), await makeWorld()]
    const { secret: colleague } = await service.accessToken(one.agency, 'owner')
    const ask = (a: string, token?: string) =>
      service.ask(`${a}/keys`, { name: 'x' }, { headers: KEY, ...(token === undefined ? {} : { token }) })
    const answers = [await ask(one.a, one.owner), await ask(one.a, colleague), await ask(one.a), await ask(two.a)]
    expect(answers.map(({ status, headers }) => [status, headers.get('idempotency-replayed')])).toEqual(
      answers.map(() => [201, null]),
    )
    expect(await keysOf(one.a)).toBe(3)
    expect((await ask(one.a)).body).toEqual({ ...answers[2]?.body, secret: null })
  })

  test('that is malformed is 400 and leaves its line; on a read it is ignored', async () => {
    const { a, owner } = await makeWorld()
    const bad = { 'Idempotency-Key': 'a b' }
    const answer = await service.ask(`${a}/keys`, {}, { headers: bad, token: owner })
    expect(answer.body).toMatchObject({ code: 'VALIDATION', errors: [{ field: 'Idempotency-Key' }] })
    expect((await service.ask(`${a}/keys`, undefined, { headers: bad })).status).toBe(200)
    expect((await service.get(`${a}/audit?actor=access_token`)).body.audit[0].outcome).toBe('VALIDATION')
  })

  test('of a refused write is free again', async () => {
    const { a, unit, owner } = await makeWorld()
    const ask = (body: object) => service.ask(`${a}/bookings`, body, { headers: KEY, token: owner })
    expect((await ask({ unit, ...STAY })).status).toBe(409)
    expect((await ask({ unit, arrival: '2027-07-01', departure: '2027-07-02' })).status).toBe(201)
  })

  test('sent ten times at once makes one key', async () => {
    const { a, owner } = await makeWorld()
    const before = await keysOf(a)
    const pending = Array.from({ length: 10 }, () => service.ask(`${a}/keys`, {}, { headers: KEY, token: owner }))
    const answers = await Promise.all(pending)
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201))
    expect(answers.filter(({ body }) => body.secret !== null)).toHaveLength(1)
    expect(new Set(answers.map(({ body }) => body.key.id)).size).toBe(1)
    expect(await keysOf(a)).toBe(before + 1)
  })

  test('is that of a body, whatever the order of its members', async () => {
    const { a, owner } = await makeWorld()
    const ask = (raw: string) => service.ask(`${a}/access-tokens`, undefined, { raw, headers: KEY, token: owner })
    const first = await ask('{"name":"x","role":"desk"}')
    expect((await ask('{ "role": "desk", "name": "x" }')).body).toEqual({ ...first.body, secret: null })
  })

  test('does not keep a revocation waiting for the database: it is made though no earlier answer can be looked for', async () => {
    const { a, agency, unit, owner } = await makeWorld()
    const [{ key }, { token }] = [await service.key(agency), await service.accessToken(agency, 'desk')]
    const before = await keysOf(a)
    const find = spyOn(PostgresIdempotencyRows.prototype, 'find').mockRejectedValue(new Error('away'))
    const ask = (path: string, method: string, json?: object) =>
      service.ask(path, json, { method, headers: KEY, token: owner })
    const answers = [
      await ask(`${a}/keys/${key.id}`, 'DELETE'),
      await ask(`${a}/access-tokens/${token.id}`, 'DELETE'),
      await ask(`${a}/units/${unit}/calendar-feed`, 'POST'),
      await service.ask(a, { status: 'suspended' }, { method: 'PATCH', headers: KEY }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    await service.patch(a, { status: 'active' })
    expect((await ask(`${a}/keys`, 'POST', {})).status).toBe(500)
    find.mockRestore()
    expect(await keysOf(a)).toBe(before)
  })

  test('does not keep a revocation waiting for a database that does not answer', async () => {
    const { a, agency, owner } = await makeWorld()
    const { secret, token } = await service.accessToken(agency, 'desk')
    const stalled = Promise.withResolvers<null>()
    const find = spyOn(PostgresIdempotencyRows.prototype, 'find').mockReturnValue(stalled.promise)
    const revoke = () => service.ask(`${a}/access-tokens/${token.id}`, undefined, revocation)
    const revocation = { method: 'DELETE', headers: KEY, token: owner }
    const first = await revoke()
    expect(first.status).toBe(200)
    expect((await service.ask('/me', undefined, { token: secret })).status).toBe(401)
    stalled.resolve(null)
    find.mockRestore()
    expect((await revoke()).body).toEqual(first.body)
    const { audit } = (await service.ask(`${a}/audit?outcome=OK`)).body
    const routes = (audit as { route: string }[]).map(({ route }) => route)
    expect(routes.filter((route) => route.startsWith('DELETE'))).toHaveLength(2)
  })

  test('keeps no secret, and no personal data that a booking came with', async () => {
    const rows = await service.ledger.sql<{ body: string }[]>`select body from idempotency`
    const all = rows.map(({ body }) => body).join('\n')
    expect(rows.length).toBeGreaterThan(OPERATIONS.length)
    for (const secret of [
      /h[rp]_live_[A-Za-z0-9_-]{7}/,
      /hl_/,
      /whsec_/,
      /token=/,
      /[Ss]ealed": ?"[^"]/,
      /"notes"/,
      /Cot/,
    ])
      expect(all).not.toMatch(secret)
  })
})
