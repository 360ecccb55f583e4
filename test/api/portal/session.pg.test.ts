/** The sessions of the portal's page, over HTTP: signing in and out, and what a request with the cookie may do. */
import { describe, expect, mock, spyOn, test } from 'bun:test'
import { connect } from 'node:net'
import { PortalAccess } from '../../../src/accounts/portal-access.ts'
import { PortalSessions } from '../../../src/accounts/portal-sessions.ts'
import { type Clock, MINUTE_MS, systemClock } from '../../../src/lib/clock.ts'
import { sha256Hex, uuidOf } from '../../../src/lib/ids.ts'
import { eventually } from '../../support/eventually.ts'
import { FROM_THE_PAGE, isCleared, signIn, signOut } from '../../support/page-sessions.ts'
import { parseAnswers } from '../../support/raw-http.ts'
import { TEST_PORTAL_TOKEN } from '../../support/service-process.ts'
import { sharedTestService } from '../../support/test-service.ts'

/** Moved on by tests in which something expires. */
let shiftMs = 0
const clock: Clock = { ...systemClock, now: () => systemClock.now() + shiftMs }
const service = await sharedTestService({ clock })
const agency = await service.agency()

type Headers = Record<string, string>

/** With the cookie alone. */
const get = (cookie: string, path = '/me', headers: Headers = {}) =>
  service.ask(path, undefined, { token: null, headers: { cookie, ...headers } })
/** A write as the page sends it, unless the headers say otherwise. */
const write = (cookie: string, path: string, json: unknown, headers: Headers = FROM_THE_PAGE) =>
  service.ask(path, json, { token: null, headers: { cookie, ...headers } })

async function signedIn(role: 'viewer' | 'owner' = 'owner') {
  const { token, secret } = await service.accessToken(agency, role, { name: 'Ana' })
  return { token, secret, ...(await signIn(service.url, secret)) }
}

describe('signing in', () => {
  test('says who one is, and gives a cookie that scripts, other sites and other paths do not get', async () => {
    const { token, answer, cookie } = await signedIn('viewer')
    expect(answer.status).toBe(200)
    const actor = { kind: 'access_token', id: token.id, name: 'Ana', role: 'viewer', agency: agency.slug }
    expect(answer.body).toEqual({ actor })
    expect(answer.headers.get('set-cookie')).toMatch(
      /^nightledger_session=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/portal$/,
    )
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect((await get(cookie)).body).toEqual({ actor })
  })

  test('works with the operator’s token, and with a blank around it', async () => {
    const { answer, cookie } = await signIn(service.url, ` ${TEST_PORTAL_TOKEN}\n`)
    expect(answer.body.actor.kind).toBe('operator')
    expect((await get(cookie, '/agencies')).status).toBe(200)
  })

  test.each([
    ['over TLS, as the browser says', { origin: 'https://desk.example' }, true],
    ['over TLS, as the proxy says', { 'x-forwarded-proto': 'https' }, true],
    ['over plain HTTP', { 'x-forwarded-proto': 'http' }, false],
  ])('%s gives a cookie that is sent over TLS only, or not', async (_, headers, isSecure) => {
    const { secret } = await service.accessToken(agency, 'viewer')
    const { answer, cookie } = await signIn(service.url, secret, headers)
    expect(answer.headers.get('set-cookie')?.endsWith('; Secure')).toBe(isSecure)
    const out = await service.ask('//portal/session', undefined, {
      method: 'DELETE',
      token: null,
      headers: { ...FROM_THE_PAGE, ...headers, cookie },
    })
    expect(out.headers.get('set-cookie')?.endsWith('; Secure')).toBe(isSecure)
  })

  test('with a wrong, revoked or expired token, or one of a suspended agency, gives 401 and no cookie', async () => {
    const closed = await service.agency()
    const tokens = [
      'x'.repeat(51),
      (await service.accessToken(agency, 'owner', { revokedAt: 1 })).secret,
      (await service.accessToken(agency, 'owner', { expiresAt: 1 })).secret,
      (await service.accessToken(closed, 'owner')).secret,
    ]
    await service.patch(`/agencies/${closed.slug}`, { status: 'suspended' })
    for (const token of tokens) {
      const { answer } = await signIn(service.url, token)
      expect([answer.status, answer.body.code, answer.headers.get('set-cookie')]).toEqual([401, 'UNAUTHORIZED', null])
      expect(answer.body.title).toBe('This token is not valid: it may be mistyped, revoked or expired')
    }
  })

  test.each([
    ['no token', {}],
    ['an empty token', { token: '' }],
    ['a token that is no text', { token: 1 }],
    ['a token beyond any length', { token: 'x'.repeat(1_025) }],
  ])('with %s is a 400', async (_, json) => {
    expect((await service.ask('//portal/session', json, { headers: FROM_THE_PAGE })).body.code).toBe('VALIDATION')
  })

  test('never takes over an id that the browser has: it makes a new one, and ends the old session', async () => {
    const { secret, cookie } = await signedIn()
    const forged = `nightledger_session=${'A'.repeat(43)}`
    const first = await signIn(service.url, secret, { cookie: forged })
    expect(first.cookie).not.toBe(forged)
    expect((await get(forged)).status).toBe(401)
    const second = await signIn(service.url, secret, { cookie })
    expect([(await get(second.cookie)).status, (await get(cookie)).status]).toEqual([200, 401])
    expect((await get(first.cookie)).status).toBe(200)
  })

  test('is stored as a hash', async () => {
    const { cookie } = await signedIn()
    const secret = cookie.slice('nightledger_session='.length)
    const rows = await service.ledger.sql<{ row: string }[]>`
      select to_jsonb(s)::text as row from portal_session s where secret_sha256 = ${sha256Hex(secret)}`
    expect(rows.length).toBe(1)
    expect(rows[0]?.row).not.toContain(secret)
  })
})

describe('a request with the cookie', () => {
  test('is served as one with the token: with its role, in its agency', async () => {
    const { cookie } = await signedIn('viewer')
    expect((await get(cookie, `/agencies/${agency.slug}/units`)).status).toBe(200)
    expect((await get(cookie, `/agencies/${(await service.agency()).slug}/units`)).status).toBe(404)
    const refused = await write(cookie, `/agencies/${agency.slug}/keys`, {})
    expect(refused.body).toMatchObject({ code: 'ROLE_MISSING', role: 'owner' })
  })

  test('that could change something must come from the page itself', async () => {
    const { cookie } = await signedIn()
    const host = service.url.slice('http://'.length)
    const page = { 'x-nightledger-page': '1' }
    const cases: [Headers, boolean][] = [
      [{ ...page, 'sec-fetch-site': 'same-origin' }, true],
      [{ ...page, origin: `http://${host}` }, true],
      [{ ...page, origin: `HTTP://${host}` }, true],
      [{}, false],
      [page, false],
      [{ 'sec-fetch-site': 'same-origin', origin: `http://${host}` }, false],
      [{ ...page, 'x-nightledger-page': '0', origin: `http://${host}` }, false],
      ...['same-site', 'cross-site', 'none', ''].map(
        (site) => [{ ...page, origin: `http://${host}`, 'sec-fetch-site': site }, false] as [Headers, boolean],
      ),
      ...[
        'null',
        '',
        'http://127.0.0.1',
        `http://${host}.evil.example`,
        `http://evil.example`,
        `http://x@evil.example:80`,
      ].map((origin) => [{ ...page, origin }, false] as [Headers, boolean]),
    ]
    for (const [headers, isServed] of cases) {
      const answer = await write(cookie, `/agencies/${agency.slug}/keys`, { name: 'Website' }, headers)
      expect([headers, answer.status]).toEqual([headers, isServed ? 201 : 403])
      if (!isServed) expect([answer.body.code, isCleared(answer)]).toEqual(['CROSS_ORIGIN', false])
    }
    expect((await get(cookie)).status).toBe(200)
  })

  test('with another Host than the page has, as behind a proxy that replaces it, is refused with both names', async () => {
    const { cookie } = await signedIn()
    const answer = await write(
      cookie,
      `/agencies/${agency.slug}/keys`,
      { name: 'Website' },
      { 'x-nightledger-page': '1', origin: 'https://bookings.example.com' },
    )
    const host = service.url.slice('http://'.length)
    expect([answer.status, answer.body.title]).toEqual([
      403,
      `This request did not come from the page, or a proxy changes its Host: Origin names "bookings.example.com", Host "${host}". They must be equal`,
    ])
  })

  test('from elsewhere neither signs in nor out', async () => {
    const { secret, cookie } = await signedIn()
    for (const method of ['POST', 'DELETE']) {
      const sent = { method, headers: { cookie, 'sec-fetch-site': 'cross-site', 'x-nightledger-page': '1' } }
      const answer = await service.ask('//portal/session', { token: secret }, sent)
      expect([answer.body.code, answer.headers.get('set-cookie')]).toEqual(['CROSS_ORIGIN', null])
    }
    expect((await get(cookie)).status).toBe(200)
  })

  test('of any unsafe method is looked at: POST, PATCH, PUT and DELETE', async () => {
    const { cookie } = await signedIn()
    const a = `/agencies/${agency.slug}`
    const requests = [
      ['POST', `${a}/units`],
      ['PATCH', `${a}/units/x`],
      ['PUT', `${a}/units/x/rates`],
      ['DELETE', `${a}/keys/x`],
    ] as const
    for (const [method, path] of requests) {
      const answer = await service.ask(path, {}, { token: null, method, headers: { cookie } })
      expect([method, answer.body.code]).toEqual([method, 'CROSS_ORIGIN'])
    }
  })

  test('and a token goes by the token, valid or not, and keeps its cookie', async () => {
    const { cookie } = await signedIn('viewer')
    const { secret } = await service.accessToken(agency, 'owner', { name: 'Rui' })
    const headers = { cookie }
    expect((await service.ask('/me', undefined, { token: secret, headers })).body.actor.name).toBe('Rui')
    expect((await service.ask(`/agencies/${agency.slug}/keys`, {}, { token: secret, headers })).status).toBe(201)
    for (const authorization of ['Bearer wrong', 'Basic x', '']) {
      const answer = await service.ask('/me', undefined, { token: null, headers: { ...headers, authorization } })
      expect([answer.status, answer.headers.get('set-cookie')]).toEqual([401, null])
    }
  })

  test('beside other cookies finds its own', async () => {
    const { cookie } = await signedIn()
    for (const cookies of [`a=b; ${cookie}`, `${cookie}; nightledger_session_of=x`, ` ${cookie} ;theme=dark;;x`])
      expect((await get(cookies)).status).toBe(200)
  })

  test('gets 401 when it is of no session, twice there, oversized or malformed, and none is taken from the browser', async () => {
    const { cookie } = await signedIn()
    const [name, value = ''] = cookie.split('=')
    const cookies = [
      `${name}=${'A'.repeat(43)}`,
      `${name}=`,
      `${name}=${value}x`,
      `${name}="${value}"`,
      `${name}=${value.slice(1)}`,
      `${name}=${'x'.repeat(10_000)}`,
      `${cookie}; ${cookie}`,
      `${name}=${'A'.repeat(43)}; ${cookie}`,
      `${cookie}; ${name}=`,
    ]
    for (const sent of cookies) {
      const answer = await get(sent)
      // By the time that the answer arrives, the browser may have the cookie of a newer session.
      expect([sent, answer.status, answer.headers.get('set-cookie')]).toEqual([sent, 401, null])
      expect(answer.body.title).toStartWith('Missing or invalid portal token')
    }
    expect((await get(cookie)).status).toBe(200)
  })

  test('opens neither the partner surface nor the tools', async () => {
    const { cookie } = await signedIn()
    expect((await service.call('/me', { headers: { cookie } })).status).toBe(401)
    expect((await service.mcp(null, { jsonrpc: '2.0', id: 1, method: 'ping' }, { cookie })).status).toBe(401)
  })

  test('is of no use to other origins: no answer allows credentials, and no preflight is answered', async () => {
    const { cookie } = await signedIn()
    const headers = { cookie, origin: 'https://evil.example' }
    const preflight = { ...headers, 'access-control-request-method': 'POST' }
    const answers = [
      await get(cookie, '/me', headers),
      await service.ask('//portal/session', { token: 'x' }, { headers }),
      await service.ask('//portal/session', undefined, { method: 'OPTIONS', headers: preflight }),
      await service.ask(`/agencies/${agency.slug}/keys`, undefined, { method: 'OPTIONS', headers: preflight }),
    ]
    for (const answer of answers) {
      expect(answer.headers.get('access-control-allow-credentials')).toBeNull()
      expect(answer.headers.get('access-control-allow-headers')).toBeNull()
      expect([null, '*']).toContain(answer.headers.get('access-control-allow-origin'))
    }
    expect(answers.slice(2).map(({ status }) => status)).toEqual([404, 404])
  })
})

describe('a session ends', () => {
  test('with sign-out, for good, and only there', async () => {
    const { secret, cookie } = await signedIn()
    const other = (await signIn(service.url, secret)).cookie
    const out = await signOut(service.url, cookie)
    expect([out.status, out.body, isCleared(out)]).toEqual([200, { actor: null }, true])
    const ended = await get(cookie)
    expect([ended.status, ended.headers.get('set-cookie')]).toEqual([401, null])
    expect((await get(other)).status).toBe(200)
    const value = cookie.slice('nightledger_session='.length)
    expect(
      (await service.ledger.sql`select from portal_session where secret_sha256 = ${sha256Hex(value)}`).length,
    ).toBe(0)
    // Once more, and without a session: nothing happens.
    for (const again of [cookie, 'a=b']) expect((await signOut(service.url, again)).status).toBe(200)
    // The token itself is as it was.
    expect((await service.ask('/me', undefined, { token: secret })).status).toBe(200)
  })

  test('with the revocation of its token, from the next request on, also its own', async () => {
    const { token, cookie } = await signedIn()
    const path = `/agencies/${agency.slug}/access-tokens/${token.id}`
    const revoked = await service.ask(path, undefined, {
      method: 'DELETE',
      token: null,
      headers: { ...FROM_THE_PAGE, cookie },
    })
    expect(revoked.status).toBe(200)
    expect((await get(cookie)).status).toBe(401)
  })

  test('with the expiry of its token', async () => {
    const { secret } = await service.accessToken(agency, 'viewer', { expiresAt: clock.now() + MINUTE_MS })
    const { cookie } = await signIn(service.url, secret)
    expect((await get(cookie)).status).toBe(200)
    shiftMs += MINUTE_MS
    expect((await get(cookie)).status).toBe(401)
  })

  test('with the suspension of the agency, also when that is lifted before anybody asks', async () => {
    const closed = await service.agency()
    const { secret } = await service.accessToken(closed, 'owner')
    const { cookie } = await signIn(service.url, secret)
    await service.patch(`/agencies/${closed.slug}`, { status: 'suspended' })
    await service.patch(`/agencies/${closed.slug}`, { status: 'active' })
    expect((await get(cookie)).status).toBe(401)
    expect((await service.ask('/me', undefined, { token: secret })).status).toBe(200)
  })

  test('while the body of its write arrives: nothing is done', async () => {
    const { cookie } = await signedIn()
    const before = (await service.get(`/agencies/${agency.slug}/keys`)).body.totalItems
    const admitted = spyOn(PortalAccess.prototype, 'admitSession')
    const body = JSON.stringify({ name: 'Too late' })
    const socket = connect(service.port, '127.0.0.1')
    let received = Buffer.alloc(0)
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, Buffer.from(chunk as Uint8Array)])
    })
    const head = [
      ...[`POST /portal/v1/agencies/${agency.slug}/keys HTTP/1.1`, 'Host: x', `Cookie: ${cookie}`, 'Origin: http://x'],
      ...['X-Nightledger-Page: 1', 'Content-Type: application/json', `Content-Length: ${body.length}`],
    ]
    socket.write(`${head.join('\r\n')}\r\n\r\n${body.slice(0, 1)}`)
    await eventually('the request is admitted', () => admitted.mock.calls.length > 0)
    mock.restore()
    await signOut(service.url, cookie)
    socket.write(body.slice(1))
    await eventually('it is answered', () => parseAnswers(received).length > 0)
    socket.destroy()
    expect(parseAnswers(received)[0]?.status).toBe(401)
    expect((await service.get(`/agencies/${agency.slug}/keys`)).body.totalItems).toBe(before)
  })

  test('once, however many sign out of it, use it and sign in again at the same time', async () => {
    const { secret, cookie } = await signedIn()
    const all = await Promise.all(
      Array.from({ length: 30 }, (_, i) =>
        [
          () => signOut(service.url, cookie),
          () => get(cookie),
          async () => (await signIn(service.url, secret, { cookie })).answer,
        ][i % 3]?.(),
      ),
    )
    for (const answer of all) expect([200, 401]).toContain(answer?.status ?? 0)
    expect((await get(cookie)).status).toBe(401)
    const news = all.flatMap(
      (answer) => answer?.headers.get('set-cookie')?.match(/nightledger_session=[\w-]{43}/) ?? [],
    )
    expect(news.length).toBe(10)
    for (const one of news) expect((await get(one)).status).toBe(200)
  })
})

describe('a write with a session', () => {
  test('is in the audit trail with the token’s name, and so is one that was refused for its origin', async () => {
    const { token, cookie } = await signedIn()
    const a = `/agencies/${agency.slug}`
    await write(cookie, `${a}/keys`, { name: 'Website' })
    await write(cookie, `${a}/keys`, { name: 'Website' }, {})
    const { audit } = (await service.get(`${a}/audit?token=${token.id}`)).body
    const actor = { kind: 'access_token', id: token.id, name: 'Ana' }
    expect(audit).toEqual([
      expect.objectContaining({ actor, outcome: 'CROSS_ORIGIN' }),
      expect.objectContaining({ actor, outcome: 'OK' }),
      expect.objectContaining({ actor, route: 'POST /portal/session' }),
    ])
  })

  test('shares its Idempotency-Key with the token and its other sessions', async () => {
    const { secret, cookie } = await signedIn()
    const key = { 'idempotency-key': 'once' }
    const path = `/agencies/${agency.slug}/fee-types`
    const draft = { label: 'City tax', kind: 'fixed', amount: 800 }
    const made = await write(cookie, path, draft, { ...FROM_THE_PAGE, ...key })
    expect(made.status).toBe(201)
    const other = (await signIn(service.url, secret)).cookie
    const repeated = [
      await write(other, path, draft, { ...FROM_THE_PAGE, ...key }),
      await service.ask(path, draft, { token: secret, headers: key }),
    ]
    for (const { headers, body } of repeated)
      expect([headers.get('idempotency-replayed'), body]).toEqual(['true', made.body])
    const strange = await signedIn()
    expect(
      (await write(strange.cookie, path, draft, { ...FROM_THE_PAGE, ...key })).headers.has('idempotency-replayed'),
    ).toBe(false)
  })
})

describe('the audit trail of the agency', () => {
  const linesOf = async (tokenId: string) =>
    (await service.get(`/agencies/${agency.slug}/audit?token=${tokenId}`)).body.audit as Record<string, unknown>[]

  test('says who signed in and out, once each, without any secret', async () => {
    const { token, secret, cookie, answer } = await signedIn()
    await signOut(service.url, cookie)
    await signOut(service.url, cookie)
    const lines = await linesOf(token.id)
    const about = { actor: { kind: 'access_token', id: token.id, name: 'Ana' }, outcome: 'OK', count: 1 }
    expect(lines).toEqual([
      expect.objectContaining({ ...about, route: 'DELETE /portal/session' }),
      expect.objectContaining({
        ...about,
        route: 'POST /portal/session',
        requestId: answer.headers.get('x-request-id'),
      }),
    ])
    const text = JSON.stringify(lines)
    for (const hidden of [secret, cookie.split('=')[1] ?? '', sha256Hex(secret)]) expect(text).not.toContain(hidden)
  })

  test('counts who tries to sign in with a token that is no longer valid', async () => {
    const { token, secret } = await service.accessToken(agency, 'owner', { revokedAt: 1 })
    for (let n = 0; n < 3; n++) await signIn(service.url, secret)
    await eventually('the line is written', async () => (await linesOf(token.id))[0]?.['count'] === 3)
    expect(await linesOf(token.id)).toMatchObject([{ route: 'POST /portal/session', outcome: 'UNAUTHORIZED' }])
  })

  test('has a line of everybody who is signed in: without one, nobody is', async () => {
    const { token, secret } = await service.accessToken(agency, 'owner')
    const line = spyOn(service.ledger.commands, 'auditSuccess').mockRejectedValueOnce(new Error('away'))
    const { answer } = await signIn(service.url, secret)
    line.mockRestore()
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([500, null])
    await eventually(
      'the session has ended',
      async () =>
        (await service.ledger.sql`select from portal_session where token_id = ${uuidOf(token.id)}`).length === 0,
    )
  })
})

describe('the time to idle', () => {
  /** Whether the request counted as use of the session. */
  const counts = async (send: (cookie: string) => Promise<unknown>): Promise<boolean> => {
    const { cookie } = await signedIn()
    const touched = spyOn(PortalSessions.prototype, 'touch')
    await send(cookie)
    const isTouched = touched.mock.calls.length > 0
    touched.mockRestore()
    return isTouched
  }
  const automatic = { 'x-nightledger-automatic': '1' }
  const a = () => `/agencies/${agency.slug}`

  test.each<[string, boolean, (cookie: string) => Promise<unknown>]>([
    ['a read that somebody asked for', true, (cookie) => get(cookie)],
    ['a read that the page sends by itself', false, (cookie) => get(cookie, '/me', automatic)],
    ['the feed of changes', false, (cookie) => get(cookie, `${a()}/changes`)],
    [
      'a write, whatever it says',
      true,
      (cookie) => write(cookie, `${a()}/keys`, {}, { ...FROM_THE_PAGE, ...automatic }),
    ],
  ])('of %s: begins again, %p', async (_, isUse, send) => {
    expect(await counts(send)).toBe(isUse)
  })
})

test('the document names both ways in for every operation that needs one', async () => {
  const document = (await service.get('/openapi.json')).body
  expect(document.components.securitySchemes).toMatchObject({
    portalToken: { type: 'http', scheme: 'bearer' },
    portalSession: { type: 'apiKey', in: 'cookie', name: 'nightledger_session' },
  })
  expect(document.paths['/portal/v1/me'].get.security).toEqual([{ portalToken: [] }, { portalSession: [] }])
  expect(document.paths['/portal/session'].post.security).toEqual([])
  expect(Object.keys(document.paths['/portal/session'])).toEqual(['post', 'delete'])
})
