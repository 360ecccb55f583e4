/** Signing in with a real OpenID provider, up to the link that signs in. What the link does is in oidc-people.pg.test.ts. */
import { afterAll, beforeAll, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { type OidcFailure, OidcSignIn } from '../../../src/accounts/oidc-sign-in.ts'
import { OIDC, redirectUriOf } from '../../../src/api/portal/oidc.ts'
import type { PortalDependencies, PortalLedger } from '../../../src/api/portal/portal-dependencies.ts'
import { elysiaRoutes } from '../../../src/http/route.ts'
import { type Clock, HOUR_MS, MINUTE_MS, systemClock } from '../../../src/lib/clock.ts'
import { systemIds } from '../../../src/lib/ids.ts'
import { RequestStats } from '../../../src/observability/request-stats.ts'
import { eventually } from '../../support/eventually.ts'
import { freePort } from '../../support/free-port.ts'
import { type IdentityProvider, startIdentityProvider, Wanderer } from '../../support/identity-provider.ts'

const SECRET_KEY = new Uint8Array(32).fill(7)
const COOKIE = 'nightledger_oidc'
let shiftMs = 0
/** Each test is an hour after the one before: failures are reported at most every few seconds. */
let hours = 0
const clock: Clock = {
  ...systemClock,
  now: () => systemClock.now() + shiftMs,
  monotonicMs: () => systemClock.monotonicMs() + hours * HOUR_MS,
}

/** By address in lower case. */
const links = new Map<string, string[]>()
const looked: string[] = []
const failures: OidcFailure[] = []
const reported: unknown[] = []

/** A node of the service, which knows the other ones by SECRET_KEY alone. */
function startNode(provider: IdentityProvider, { publicUrl = '', secretKey = SECRET_KEY, port = freePort() } = {}) {
  const url = `http://127.0.0.1:${port}`
  const pageUrl = publicUrl || url
  const signIn = new OidcSignIn({
    provider,
    redirectUri: () => redirectUriOf(pageUrl),
    secretKey,
    clock,
    linksOf: async (email) => {
      looked.push(email)
      if (email === 'broken@example.com') throw new Error('The database is away')
      return links.get(email.toLowerCase()) ?? []
    },
    onFailure: (failure) => failures.push(failure),
  })
  const dependencies = {
    ledger: { newId: systemIds, provider: signIn, pageUrl: () => pageUrl } as Partial<PortalLedger> as PortalLedger,
    requestStats: new RequestStats({ clock, log: null }),
    addressOf: ({ headers }) => headers.get('x-address') ?? '192.0.2.1',
    onFailure: (report) => reported.push(report),
  } as Partial<PortalDependencies> as PortalDependencies
  const app = elysiaRoutes(dependencies, OIDC).listen({ hostname: '127.0.0.1', port })
  return { url, start: `${url}/portal/oidc/start`, callback: `${url}/portal/oidc/callback`, stop: () => app.stop(true) }
}

const port = freePort()
const origin = `http://127.0.0.1:${port}`
const redirectUri = redirectUriOf(origin)
let provider: IdentityProvider
/** Has the client of the same name and secret. */
let other: IdentityProvider
let node: ReturnType<typeof startNode>

beforeAll(async () => {
  provider = await startIdentityProvider({ redirectUri })
  other = await startIdentityProvider({ redirectUri, isEmailInToken: true })
  node = startNode(provider, { port })
})
afterAll(async () => {
  node.stop()
  await provider.goAway()
  await other.goAway()
})
beforeEach(() => {
  shiftMs = 0
  hours += 1
  for (const list of [looked, failures, reported]) list.length = 0
  links.clear()
  links.set('ana@example.com', ['hl_ana'])
  for (const { accounts } of [provider, other]) {
    accounts.clear()
    accounts.set('ana', { email: 'Ana@Example.com', email_verified: true })
  }
  provider.tamper = null
})

const page = (fragment: string) => `${origin}/portal/#/${fragment}`
const FAILED = page('sign-in?refused=failed')
const UNKNOWN = page('sign-in?refused=unknown')

async function locationOf(response: Response): Promise<string> {
  expect([response.status, await response.text()]).toEqual([303, ''])
  return response.headers.get('location') ?? ''
}

/** Up to the redirect back to the service. */
async function begun({ login = 'ana', browser = new Wanderer(), at = node, change = (url: URL) => url } = {}) {
  const authorization = await locationOf(await browser.open(at.start))
  return { browser, callback: await browser.signInAt(change(new URL(authorization)).href, login) }
}

/** Where somebody arrives who signs in. */
async function arrival(options: Parameters<typeof begun>[0] = {}) {
  const { browser, callback } = await begun(options)
  return locationOf(await browser.open((options.at ?? node).callback + new URL(callback).search))
}

describe('a verified address', () => {
  test('opens the person who has it, in either case, with a link that is in no log', async () => {
    const { browser, callback } = await begun()
    const response = await browser.open(callback)
    expect(response.headers.get('location')).toBe(page('join/hl_ana'))
    expect(response.headers.getSetCookie()[1]).toMatch(
      /^nightledger_link=[\w-]{43}; Max-Age=60; HttpOnly; SameSite=Strict; Path=\/portal$/,
    )
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('referrer-policy')).toBe('no-referrer')
    expect(response.headers.get('access-control-allow-origin')).toBeNull()
    expect(looked).toEqual(['Ana@Example.com'])
    expect(failures).toEqual([])
  })

  test('of people of several agencies lets one choose', async () => {
    links.set('ana@example.com', ['hl_1', 'hl_2', 'hl_3'])
    expect(await arrival()).toBe(page('choose/hl_1.hl_2.hl_3'))
  })

  test('is found in the id_token where it is there', async () => {
    const at = startNode(other, { publicUrl: origin })
    expect(await arrival({ at })).toBe(page('join/hl_ana'))
    at.stop()
  })

  test('is found at the userinfo endpoint where only that says of the address in the id_token that it is verified', async () => {
    const halfway = await startIdentityProvider({ redirectUri, isEmailInToken: true, isVerifiedElsewhere: true })
    halfway.accounts.set('ana', { email: 'Ana@Example.com', email_verified: true })
    halfway.accounts.set('eve', { email: 'Ana@Example.com', email_verified: false })
    const at = startNode(halfway, { publicUrl: origin })
    expect([await arrival({ at }), await arrival({ at, login: 'eve' })]).toEqual([page('join/hl_ana'), UNKNOWN])
    at.stop()
    await halfway.goAway()
  })

  test('of nobody, or of a person who was removed, opens nothing and makes nothing', async () => {
    provider.accounts.set('eve', { email: 'eve@example.com', email_verified: true })
    expect(await arrival({ login: 'eve' })).toBe(UNKNOWN)
    expect(looked).toEqual(['eve@example.com'])
  })
})

test.each([
  ['says nothing of it', { email: 'ana@example.com' }],
  ['says that it is not', { email: 'ana@example.com', email_verified: false }],
  ['says so in words', { email: 'ana@example.com', email_verified: 'true' }],
  ['gives no address', { email_verified: true }],
  ['gives a list', { email: ['ana@example.com'], email_verified: true }],
  // U+212A, whose lower case is the letter k.
  ['gives an address with letters outside of ASCII', { email: '\u212Aai@example.com', email_verified: true }],
])('an address is not taken as verified when the provider %s', async (_, claims) => {
  provider.accounts.set('ana', claims)
  expect(await arrival()).toBe(UNKNOWN)
  expect(looked).toEqual([])
})

describe('the cookie of an attempt', () => {
  test('is for the two routes alone, not for scripts, sealed, and gone after the callback', async () => {
    const browser = new Wanderer()
    const started = await browser.open(node.start)
    const [cookie = ''] = started.headers.getSetCookie()
    expect(cookie).toMatch(/^nightledger_oidc=v1\.[\w-]+; Max-Age=600; HttpOnly; SameSite=Lax; Path=\/portal\/oidc$/)
    const state = new URL(started.headers.get('location') ?? '').searchParams.get('state') ?? ''
    expect(Buffer.from(cookie.slice(20), 'base64url').toString('latin1')).not.toContain(state)
    const back = await browser.open(`${node.callback}?error=access_denied&state=${state}&iss=${provider.issuer}`)
    expect(back.headers.getSetCookie()).toEqual([
      'nightledger_oidc=; Max-Age=0; HttpOnly; SameSite=Lax; Path=/portal/oidc',
    ])
    expect(failures).toEqual([{ step: 'callback', code: 'access_denied' }])
  })

  test('is sent over TLS only where the page is', async () => {
    const at = startNode(provider, { publicUrl: 'https://desk.example' })
    const response = await fetch(at.start, { headers: { host: 'desk.example' }, redirect: 'manual' })
    expect(response.headers.get('set-cookie')).toEndWith('; Secure')
    const to = new URL(response.headers.get('location') ?? '')
    expect(to.searchParams.get('redirect_uri')).toBe('https://desk.example/portal/oidc/callback')
    at.stop()
  })

  test('completes at any node with the same SECRET_KEY, and at no other', async () => {
    const second = startNode(provider, { publicUrl: origin })
    const stranger = startNode(provider, { publicUrl: origin, secretKey: new Uint8Array(32).fill(8) })
    for (const [at, where] of [
      [stranger, FAILED],
      [second, page('join/hl_ana')],
    ] as const) {
      const { browser, callback } = await begun()
      expect(await locationOf(await browser.open(at.callback + new URL(callback).search))).toBe(where)
      at.stop()
    }
  })
})

describe('a callback opens nothing', () => {
  const tokensOf = async (run: () => Promise<string>) => {
    const before = provider.tokens
    expect(await run()).toBe(FAILED)
    expect(looked).toEqual([])
    return provider.tokens - before
  }

  test('in a browser that did not begin the attempt, with another one’s cookie, or with two', async () => {
    const { browser, callback } = await begun()
    const mine = browser.cookie(origin, COOKIE) ?? ''
    const others = (await begun()).browser.cookie(origin, COOKIE) ?? ''
    for (const cookie of ['', `${COOKIE}=`, `${COOKIE}=${others}`, `${COOKIE}=${mine}; ${COOKIE}=${others}`]) {
      const ask = () => fetch(callback, { redirect: 'manual', headers: { cookie } }).then(locationOf)
      expect(await tokensOf(ask)).toBe(0)
    }
    // What is right is still right.
    expect(await locationOf(await browser.open(callback))).toBe(page('join/hl_ana'))
  })

  test.each([
    ['another state', (url: URL) => url.searchParams.set('state', 'x'.repeat(43))],
    ['no state', (url: URL) => url.searchParams.delete('state')],
    ['two states', (url: URL) => url.searchParams.append('state', 'x')],
    ['another issuer', (url: URL) => url.searchParams.set('iss', 'https://evil.example')],
    ['no issuer, which the provider always names', (url: URL) => url.searchParams.delete('iss')],
    ['no code', (url: URL) => url.searchParams.delete('code')],
    ['a wrong code', (url: URL) => url.searchParams.set('code', 'x'.repeat(43))],
  ])('with %s', async (_, change) => {
    const { browser, callback } = await begun()
    const url = new URL(callback)
    change(url)
    expect(await tokensOf(async () => locationOf(await browser.open(url.href)))).toBe(0)
  })

  test('when it is replayed, even with the cookie', async () => {
    const { browser, callback } = await begun()
    const cookie = browser.cookie(origin, COOKIE) ?? ''
    expect(await locationOf(await browser.open(callback))).toBe(page('join/hl_ana'))
    expect(browser.cookie(origin, COOKIE)).toBeUndefined()
    looked.length = 0
    expect(await locationOf(await browser.open(callback))).toBe(FAILED)
    browser.setCookie(origin, COOKIE, cookie)
    expect(await locationOf(await browser.open(callback))).toBe(FAILED)
    expect(looked).toEqual([])
    expect(failures).toEqual([{ step: 'callback', code: 'invalid_grant' }])
  })

  test('ten minutes after the start', async () => {
    const { browser, callback } = await begun()
    shiftMs = 10 * MINUTE_MS
    expect(await tokensOf(async () => locationOf(await browser.open(callback)))).toBe(0)
  })

  test('with a code that was issued for another attempt, whose verifier the provider wants', async () => {
    const [mine, victims] = [await begun(), await begun()]
    const url = new URL(mine.callback)
    url.searchParams.set('code', new URL(victims.callback).searchParams.get('code') ?? '')
    expect(await tokensOf(async () => locationOf(await mine.browser.open(url.href)))).toBe(0)
    expect(failures).toEqual([{ step: 'callback', code: 'invalid_grant' }])
  })

  test('when the id_token is for another nonce', async () => {
    const change = (url: URL) => {
      url.searchParams.set('nonce', 'x'.repeat(43))
      return url
    }
    expect(await tokensOf(() => arrival({ change }))).toBe(1)
    expect(failures).toEqual([{ step: 'callback', code: 'OAUTH_JWT_CLAIM_COMPARISON_FAILED' }])
  })

  test.each([
    ['changed after it was signed', (token: string) => withClaims(token, { email: 'ana@example.com' })],
    ['not signed', (token: string) => withClaims(token, {}, { alg: 'none' })],
    ['signed with the client secret', (token: string) => withClaims(token, {}, { alg: 'HS256' })],
    ['for another client', (token: string) => withClaims(token, { aud: 'other' })],
    ['of another issuer', (token: string) => withClaims(token, { iss: 'https://evil.example' })],
    ['expired', (token: string) => withClaims(token, { exp: 1 })],
    ['missing', () => undefined],
  ])('when the id_token is %s', async (_, change) => {
    provider.tamper = ({ id_token, ...rest }) => ({ ...rest, id_token: change(id_token) })
    expect(await tokensOf(() => arrival())).toBe(1)
    expect(failures).toHaveLength(1)
  })

  test('when the people cannot be looked up, and that is reported', async () => {
    provider.accounts.set('ana', { email: 'broken@example.com', email_verified: true })
    expect(await arrival()).toBe(FAILED)
    expect(reported).toMatchObject([{ route: 'GET /portal/oidc/callback', isBug: false }])
  })
})

describe('an address', () => {
  /** Asks for tokens that the provider is sent while `run` runs. */
  const asksOf = async (run: () => Promise<unknown>) => {
    const fetching = spyOn(globalThis, 'fetch')
    try {
      await run()
      return fetching.mock.calls.filter(([url]) => `${url}`.startsWith(`${provider.issuer}/token`)).length
    } finally {
      fetching.mockRestore()
    }
  }
  const wrong = async (
    { browser, callback }: Awaited<ReturnType<typeof begun>>,
    query: Record<string, string> = { code: 'x'.repeat(43) },
  ) => {
    const url = new URL(callback)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    const cookie = `${COOKIE}=${browser.cookie(origin, COOKIE)}`
    const headersOf = (address: string) => ({ cookie, 'x-address': address })
    return (address: string) => fetch(url, { redirect: 'manual', headers: headersOf(address) }).then(locationOf)
  }

  /** Nobody gets tokens from the provider until it comes back. */
  const heldProvider = () => {
    const { fetch: real } = globalThis
    const { promise: isBack, resolve: comeBack } = Promise.withResolvers<void>()
    let asks = 0
    const fetching = spyOn(globalThis, 'fetch').mockImplementation((async (
      ...[url, init]: Parameters<typeof fetch>
    ) => {
      if (`${url}`.startsWith(`${provider.issuer}/token`)) {
        asks += 1
        await isBack
      }
      return real(url, init)
    }) as never)
    return {
      comeBack,
      asked: (count: number) => eventually(`${count} asks`, () => asks >= count),
      restore: () => fetching.mockRestore(),
    }
  }

  test('that has sent many wrong callbacks is refused before the provider is asked, and no other one', async () => {
    const attempt = await begun()
    const send = await wrong(attempt)
    const asks = await asksOf(async () => {
      for (let n = 0; n < 30; n += 1) expect(await send('2001:db8::1')).toBe(FAILED)
    })
    expect(asks).toBe(20)
    expect(await asksOf(() => send('2001:db8::2'))).toBe(0)
    expect(await locationOf(await attempt.browser.open(attempt.callback))).toBe(page('join/hl_ana'))
  })

  test('from which many have changed their minds is refused nothing', async () => {
    const attempt = await begun()
    const cancelled = new URL(attempt.callback)
    cancelled.searchParams.delete('code')
    const cancel = await wrong({ ...attempt, callback: cancelled.href }, { error: 'access_denied' })
    for (let n = 0; n < 30; n += 1) expect(await cancel('192.0.2.9')).toBe(FAILED)
    expect(await (await wrong(attempt, {}))('192.0.2.9')).toBe(page('join/hl_ana'))
  })

  test('has few of the places in which callbacks wait for the provider', async () => {
    const attempt = await begun()
    const send = await wrong(attempt)
    const held = heldProvider()
    let refused = 0
    await new Promise<void>((resolve) => {
      for (let n = 0; n < 20; n += 1)
        void send('192.0.2.7').then(() => {
          refused += 1
          if (refused === 12) resolve()
        })
    })
    const ofAnother = attempt.browser.open(attempt.callback).then(locationOf)
    held.comeBack()
    expect(await ofAnother).toBe(page('join/hl_ana'))
    held.restore()
  })

  test('is refused at once while 32 callbacks of other addresses wait for the provider', async () => {
    const attempt = await begun()
    const send = await wrong(attempt)
    const held = heldProvider()
    const waiting = Array.from({ length: 32 }, (_, n) => send(`192.0.2.${n}`))
    await held.asked(32)
    const refused = send('198.51.100.1').then(() => 'refused')
    expect(await Promise.race([refused, held.asked(33).then(() => 'waits')])).toBe('refused')
    held.comeBack()
    await Promise.all(waiting)
    expect(await locationOf(await attempt.browser.open(attempt.callback))).toBe(page('join/hl_ana'))
    held.restore()
  })
})

describe('of two providers', () => {
  test('the code of one does not pass for the code of the other', async () => {
    // The attacker has made the browser of the victim sign in at another provider than the one that was asked for.
    const { browser, callback } = await begun({
      change: (url) => new URL(url.href.replace(provider.issuer, other.issuer)),
    })
    expect(new URL(callback).searchParams.get('iss')).toBe(other.issuer)
    const before = provider.tokens
    expect(await locationOf(await browser.open(callback))).toBe(FAILED)
    // Their code was not sent to anybody.
    expect([provider.tokens - before, looked]).toEqual([0, []])
    expect(failures).toEqual([{ step: 'callback', code: 'OAUTH_INVALID_RESPONSE' }])
  })

  test('an attempt with the former one is not completed with its successor', async () => {
    const { browser, callback } = await begun()
    const at = startNode(other, { publicUrl: origin })
    const url = new URL(callback)
    url.searchParams.set('iss', other.issuer)
    const before = other.tokens
    expect(await locationOf(await browser.open(at.callback + url.search))).toBe(FAILED)
    expect([other.tokens - before, failures, looked]).toEqual([0, [], []])
    at.stop()
  })

  test('one that names another issuer than itself is not asked', async () => {
    const server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: async () => {
        const metadata = await (await fetch(`${other.issuer}/.well-known/openid-configuration`)).json()
        return Response.json(metadata)
      },
    })
    const at = startNode({ ...other, issuer: `http://127.0.0.1:${server.port}` }, { publicUrl: origin })
    expect(await locationOf(await fetch(at.start, { redirect: 'manual' }))).toBe(FAILED)
    expect(failures).toEqual([{ step: 'discovery', code: expect.any(String) }])
    at.stop()
    await server.stop(true)
  })
})

test('a provider of many tenants, each of which may be the issuer, is not asked', async () => {
  const issuer = 'https://login.microsoftonline.com/common/v2.0'
  const response = await fetch(`${other.issuer}/.well-known/openid-configuration`)
  const metadata = (await response.json()) as object
  const fetching = spyOn(globalThis, 'fetch').mockImplementation((async () =>
    Response.json({ ...metadata, issuer: 'https://login.microsoftonline.com/{tenantid}/v2.0' })) as never)
  const signIn = new OidcSignIn({
    provider: { issuer, clientId: 'desk', clientSecret: 's', isOnly: false },
    redirectUri: () => redirectUri,
    secretKey: SECRET_KEY,
    clock,
    linksOf: async () => [],
    onFailure: (failure) => failures.push(failure),
  })
  expect(await signIn.start().finally(() => fetching.mockRestore())).toBeNull()
  expect(failures).toEqual([{ step: 'discovery', code: 'ISSUER_DIFFERS' }])
})

describe('a provider that is away', () => {
  test('is asked again at the next attempt', async () => {
    const late = await startIdentityProvider({ redirectUri, authMethod: 'client_secret_post' })
    late.accounts.set('ana', { email: 'ana@example.com', email_verified: true })
    await late.goAway()
    const at = startNode(late, { publicUrl: origin })
    const refused = await fetch(at.start, { redirect: 'manual' })
    expect([await locationOf(refused), refused.headers.get('set-cookie')]).toEqual([FAILED, null])
    expect(failures).toEqual([{ step: 'discovery', code: 'ECONNREFUSED' }])
    await late.comeBack()
    const { browser, callback } = await begun({ at })
    const cookie = browser.cookie(origin, COOKIE) ?? ''
    const finish = async () => locationOf(await browser.open(at.callback + new URL(callback).search))
    await late.goAway()
    expect(await finish()).toBe(FAILED)
    await late.comeBack()
    browser.setCookie(origin, COOKIE, cookie)
    expect(await finish()).toBe(page('join/hl_ana'))
    await late.goAway()
    at.stop()
  })
})

test('who opens the page under another host begins again at PUBLIC_URL, where the cookie is needed, and once only', async () => {
  const at = startNode(provider, { publicUrl: `http://localhost:${port}` })
  for (const host of ['127.0.0.1:1', 'evil.example', 'x:y:z']) {
    const started = await fetch(at.start, { headers: { host }, redirect: 'manual' })
    expect(started.headers.getSetCookie()).toEqual([])
    expect(await locationOf(started)).toBe(`http://localhost:${port}/portal/oidc/start?again=1`)
    const again = await fetch(`${at.start}?again=1`, { headers: { host }, redirect: 'manual' })
    expect(await locationOf(again)).toStartWith(provider.issuer)
  }
  const direct = await fetch(at.start, { headers: { host: 'localhost:1' }, redirect: 'manual' })
  expect(await locationOf(direct)).toStartWith(provider.issuer)
  at.stop()
})

describe('an address in the request', () => {
  test.each(['redirect_uri', 'redirect', 'next', 'return_to', 'url'])('%s leads nowhere', async (name) => {
    const evil = `${name}=${encodeURIComponent('https://evil.example/')}`
    const browser = new Wanderer()
    const authorization = await locationOf(await browser.open(`${node.start}?${evil}`))
    expect(new URL(authorization).origin).toBe(provider.issuer)
    expect(authorization).not.toContain('evil')
    const callback = await browser.signInAt(authorization, 'ana')
    expect(await locationOf(await browser.open(`${callback}&${evil}`))).toBe(page('join/hl_ana'))
    const wrong = await browser.open(`${node.callback}?error=access_denied&${evil}`, {
      headers: { host: 'evil.example', 'x-forwarded-host': 'evil.example', origin: 'https://evil.example' },
    })
    expect(await locationOf(wrong)).toBe(FAILED)
  })
})

/** The token with other claims or another header, and the signature that it had. */
function withClaims(token: string, claims: object, header: object = {}): string {
  const [head = '', body = '', signature] = token.split('.')
  const changed = (part: string, more: object) =>
    Buffer.from(JSON.stringify({ ...JSON.parse(Buffer.from(part, 'base64url').toString()), ...more })).toString(
      'base64url',
    )
  return [changed(head, header), changed(body, claims), signature].join('.')
}
