import { describe, expect, mock, spyOn, test } from 'bun:test'
import { connect } from 'node:net'
import { PortalAccess } from '../../../src/accounts/portal-access.ts'
import { type Clock, MINUTE_MS, systemClock } from '../../../src/lib/clock.ts'
import { sha256Hex } from '../../../src/lib/ids.ts'
import { eventually } from '../../support/eventually.ts'
import { parseAnswers } from '../../support/raw-http.ts'
import { sharedTestService } from '../../support/test-service.ts'

/** Moved on by tests in which something expires. */
let shiftMs = 0
const clock: Clock = { ...systemClock, now: () => systemClock.now() + shiftMs }

const service = await sharedTestService({ clock })

const as = (token: string, path: string, json?: unknown, method?: string) =>
  service.ask(path, json, { token, ...(method === undefined ? {} : { method }) })

describe('an access token', () => {
  test('is shown once, stored as its hash, and listed without its secret', async () => {
    const agency = await service.agency()
    const path = `/agencies/${agency.slug}/access-tokens`
    const made = await service.ask(path, { name: 'Maria', role: 'desk' })
    expect(made.status).toBe(201)
    expect(made.body.secret).toMatch(/^hp_live_[A-Za-z0-9_-]{43}$/)
    expect(made.body.accessToken).toEqual({
      id: expect.stringMatching(/^tok_[0-9a-f]{32}$/),
      name: 'Maria',
      role: 'desk',
      prefix: made.body.secret.slice(0, 14),
      createdAt: expect.any(String),
      expiresAt: null,
      revokedAt: null,
    })
    expect((await service.get(path)).body).toMatchObject({ accessTokens: [made.body.accessToken], totalItems: 1 })
    const [row] = await service.ledger
      .sql`select secret_sha256, to_jsonb(t)::text as all from access_token t where name = 'Maria'`
    expect(row?.['secret_sha256']).toBe(sha256Hex(made.body.secret))
    expect(row?.['all']).not.toContain(made.body.secret.slice(14))
  })

  test('says who it is; so does the operator', async () => {
    const agency = await service.agency()
    const { token, secret } = await service.accessToken(agency, 'manager', { name: 'Ana' })
    expect((await as(secret, '/me')).body).toEqual({
      actor: { kind: 'access_token', id: token.id, name: 'Ana', role: 'manager', agency: agency.slug },
    })
    expect((await service.get('/me')).body).toEqual({
      actor: { kind: 'operator', id: null, name: null, role: 'operator', agency: null },
    })
  })

  test('can be made and revoked by an owner, not by a manager', async () => {
    const agency = await service.agency()
    const path = `/agencies/${agency.slug}/access-tokens`
    const owner = await service.accessToken(agency, 'owner')
    const manager = await service.accessToken(agency, 'manager')
    const draft = { name: 'Rui', role: 'viewer' }
    expect((await as(manager.secret, path, draft)).body).toMatchObject({ code: 'ROLE_MISSING', role: 'owner' })
    const made = await as(owner.secret, path, draft)
    expect(made.status).toBe(201)
    const one = `${path}/${made.body.accessToken.id}`
    expect((await as(made.body.secret, '/me')).status).toBe(200)
    expect((await as(manager.secret, one, undefined, 'DELETE')).status).toBe(403)
    const revoked = await as(owner.secret, one, undefined, 'DELETE')
    expect(revoked.body.accessToken.revokedAt).not.toBeNull()
    expect((await as(made.body.secret, '/me')).status).toBe(401)
    expect((await as(owner.secret, one, undefined, 'DELETE')).body).toEqual(revoked.body)
    expect((await as(owner.secret, `${path}/tok_none`, undefined, 'DELETE')).body.title).toBe('No such access token')
  })

  test('expires', async () => {
    const agency = await service.agency()
    const path = `/agencies/${agency.slug}/access-tokens`
    const past = { name: 'x', role: 'viewer', expiresAt: '2020-01-01' }
    expect((await service.ask(path, past)).body).toMatchObject({ code: 'VALIDATION', errors: [{ field: 'expiresAt' }] })
    const made = await service.ask(path, { ...past, expiresAt: new Date(clock.now() + MINUTE_MS).toISOString() })
    expect((await as(made.body.secret, '/me')).status).toBe(200)
    shiftMs += MINUTE_MS
    expect((await as(made.body.secret, '/me')).status).toBe(401)
  })

  test('of a suspended agency is refused until the agency is active again', async () => {
    const agency = await service.agency()
    const { secret } = await service.accessToken(agency, 'owner')
    await service.patch(`/agencies/${agency.slug}`, { status: 'suspended' })
    expect((await as(secret, '/me')).status).toBe(401)
    await service.patch(`/agencies/${agency.slug}`, { status: 'active' })
    expect((await as(secret, '/me')).status).toBe(200)
  })

  test.each([
    ['no name', { role: 'desk' }, 'name'],
    ['a blank name', { name: ' ', role: 'desk' }, 'name'],
    ['a name of which nothing is seen', { name: '\u200d', role: 'desk' }, 'name'],
    ['a name of a letter that is blank', { name: '\u3164', role: 'desk' }, 'name'],
    ['a name that turns the direction of the text', { name: 'Maria \u202e(renwo)', role: 'desk' }, 'name'],
    ['a name that looks like another', { name: 'Ma\u200bria', role: 'desk' }, 'name'],
    ['no role', { name: 'x' }, 'role'],
    ['the operator', { name: 'x', role: 'operator' }, 'role'],
  ])('is not made with %s', async (_, draft, field) => {
    const agency = await service.agency()
    const answer = await service.ask(`/agencies/${agency.slug}/access-tokens`, draft)
    expect(answer.body).toMatchObject({ code: 'VALIDATION', errors: [{ field }] })
  })

  test('that is revoked while the body of a request arrives is refused, and nothing is done', async () => {
    const agency = await service.agency()
    const { token, secret } = await service.accessToken(agency, 'owner')
    const admitted = spyOn(PortalAccess.prototype, 'admit')
    const body = JSON.stringify({ name: 'Too late' })
    const socket = connect(service.port, '127.0.0.1')
    let received = Buffer.alloc(0)
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, Buffer.from(chunk as Uint8Array)])
    })
    const head = [
      ...[`POST /portal/v1/agencies/${agency.slug}/keys HTTP/1.1`, 'Host: x', `Authorization: Bearer ${secret}`],
      ...['Content-Type: application/json', `Content-Length: ${body.length}`],
    ]
    socket.write(`${head.join('\r\n')}\r\n\r\n${body.slice(0, 1)}`)
    await eventually('the request is admitted', () => admitted.mock.calls.length > 0)
    mock.restore()
    service.ledger.catalogue.putAccessToken({ ...token, revokedAt: Date.now() })
    socket.write(body.slice(1))
    await eventually('it is answered', () => parseAnswers(received).length > 0)
    socket.destroy()
    expect(parseAnswers(received)[0]?.status).toBe(401)
    expect((await service.get(`/agencies/${agency.slug}/keys`)).body.totalItems).toBe(0)
  })

  test('opens neither the partner surface nor the tools', async () => {
    const { secret } = await service.accessToken(await service.agency(), 'owner')
    expect((await service.asPartner(secret, '/me')).status).toBe(401)
    expect((await service.mcp(secret, { jsonrpc: '2.0', id: 1, method: 'ping' })).status).toBe(401)
  })
})

describe('the audit trail', () => {
  test('names the token of every change: through the journal, outside of it, and of refusals', async () => {
    const agency = await service.agency()
    const { token, secret } = await service.accessToken(agency, 'owner', { name: 'Ana' })
    const unit = await service.unit(agency)
    const a = `/agencies/${agency.slug}`
    const stay = { unit: unit.slug, arrival: '2027-03-01', departure: '2027-03-04' }
    const booked = await as(secret, `${a}/bookings`, stay)
    expect(booked.status).toBe(201)
    await as(secret, `${a}/bookings`, stay)
    await as(secret, `${a}/keys`, { name: 'Website' })
    await as(secret, `${a}/bookings`, { unit: 'nothing' })
    const { audit } = (await service.get(`${a}/audit?token=${token.id}`)).body
    const actor = { kind: 'access_token', id: token.id, name: 'Ana' }
    expect(audit.map(({ actor, route, outcome }: Record<string, unknown>) => ({ actor, route, outcome }))).toEqual([
      { actor, route: 'POST /portal/v1/agencies/{agencySlug}/bookings', outcome: 'VALIDATION' },
      { actor, route: 'POST /portal/v1/agencies/{agencySlug}/keys', outcome: 'OK' },
      { actor, route: 'POST /portal/v1/agencies/{agencySlug}/bookings', outcome: 'BOOKING_CONFLICT' },
      { actor, route: 'POST /portal/v1/agencies/{agencySlug}/bookings', outcome: 'OK' },
    ])
    expect((await service.get(`${a}/audit?actor=access_token`)).body.totalItems).toBe(4)
    expect((await service.get(`${a}/audit?key=${token.id}`)).body.totalItems).toBe(0)
    expect((await service.get(`${a}/audit?token=${token.id}&actor=portal`)).body.totalItems).toBe(0)
    expect((await service.get('/verification')).body.verification.differences).toEqual([])
  })

  test('counts the write attempts made with a token that is no longer valid', async () => {
    const agency = await service.agency()
    const { token, secret } = await service.accessToken(agency, 'owner', { revokedAt: Date.UTC(2026, 0, 2) })
    const a = `/agencies/${agency.slug}`
    for (let i = 0; i < 3; i++) await as(secret, `${a}/bookings`, {})
    await as(secret, `${a}/bookings`)
    await service.ledger.refusals.flush()
    const { audit } = (await service.get(`${a}/audit?token=${token.id}`)).body
    const sum = audit.reduce((counted: number, { count }: { count: number }) => counted + count, 0)
    expect(audit[0]).toMatchObject({ outcome: 'UNAUTHORIZED', actor: { kind: 'access_token', id: token.id } })
    expect(sum).toBe(3)
  })
})
