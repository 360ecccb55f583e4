/** Whom a real OpenID provider lets in, and what it leaves closed; and invitations through a real mail server. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { SmtpMailer } from '../../../src/accounts/smtp-mailer.ts'
import { redirectUriOf } from '../../../src/api/portal/oidc.ts'
import type { Agency } from '../../../src/core/catalogue/agency.ts'
import { type Clock, MINUTE_MS, systemClock } from '../../../src/lib/clock.ts'
import { systemIds, uuidOf } from '../../../src/lib/ids.ts'
import { answerWith, makePasskey } from '../../support/authenticator.ts'
import { type IdentityProvider, startIdentityProvider, Wanderer } from '../../support/identity-provider.ts'
import { FROM_THE_PAGE, signIn } from '../../support/page-sessions.ts'
import { cookieOf, fromThePage, invite, joined, secretIn, signInOptions, TEST_LINKS } from '../../support/people.ts'
import { TEST_PAGE_URL, TEST_PORTAL_TOKEN } from '../../support/service-process.ts'
import { openSmtpInbox, type SmtpInbox } from '../../support/smtp-inbox.ts'
import { startTestService, type TestService } from '../../support/test-service.ts'

let shiftMs = 0
const clock: Clock = { ...systemClock, now: () => systemClock.now() + shiftMs }
let provider: IdentityProvider
let inbox: SmtpInbox
let service: TestService
/** The same agencies, where OIDC_ONLY is set. */
let strict: TestService
let agency: Agency

beforeAll(async () => {
  provider = await startIdentityProvider({ redirectUri: redirectUriOf(TEST_PAGE_URL) })
  inbox = await openSmtpInbox()
  const server = { host: '127.0.0.1', port: inbox.port, security: 'none', login: null } as const
  const mailer = new SmtpMailer({ server, from: { name: '', address: 'desk@example.com' }, onFailure: () => {} })
  service = await startTestService({ clock, people: { oidc: provider, mailer } })
  strict = await startTestService({ people: { oidc: { ...provider, isOnly: true }, mailer } })
  agency = await service.agency({ name: 'B' })
})
afterAll(async () => {
  await service.close()
  await strict.close()
  await provider.goAway()
  await inbox.close()
})
beforeEach(() => {
  shiftMs = 0
})

/** The cookies of the browser that the provider has sent back with a link, by its secret. */
const cookies = new Map<string, string>()

/** What is behind `#` in the address of the page where somebody arrives. */
async function arrival(claims: object, at: TestService = service): Promise<string> {
  const login = systemIds('evt')
  provider.accounts.set(login, claims)
  const browser = new Wanderer()
  const started = await browser.open(`${at.url}/portal/oidc/start?again=1`)
  const callback = await browser.signInAt(started.headers.get('location') ?? '', login)
  expect(callback).toStartWith(`${TEST_PAGE_URL}/portal/oidc/callback?`)
  const response = await browser.open(`${at.url}/portal/oidc/callback${new URL(callback).search}`)
  const location = response.headers.get('location') ?? ''
  expect([response.status, location.split('#')[0]]).toEqual([303, `${TEST_PAGE_URL}/portal/`])
  const cookie = response.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ')
  for (const secret of secretIn(location).split('.')) cookies.set(secret, cookie)
  return location.split('#')[1] ?? ''
}

const verified = (email: string) => ({ email, email_verified: true })
const secretsIn = (arrived: string, kind: 'join' | 'choose') => {
  expect(arrived).toMatch(new RegExp(`^/${kind}/`))
  return secretIn(arrived).split('.')
}
const inItsBrowser = (link: string) => ({ cookie: cookies.get(link) ?? '' })
const show = (link: string, headers: Record<string, string> = inItsBrowser(link)) =>
  fromThePage(service, '/portal/links', { link }, headers)
const open = (link: string, at: TestService = service, headers: Record<string, string> = inItsBrowser(link)) =>
  fromThePage(at, '/portal/session', { link }, headers)
const linksOf = async ({ id }: Pick<Agency, 'id'>) =>
  (await service.ledger.sql`select from person_link where agency_id = ${uuidOf(id)} and kind = 'sign_in'`).length
const UNKNOWN = '/sign-in?refused=unknown'

describe('a verified address', () => {
  test('signs in the person who has it, without regard to case, once, and with a line in the audit trail', async () => {
    const { person } = await invite(service, agency, { role: 'desk', email: 'Maria@Example.com' })
    const [secret = '', ...more] = secretsIn(await arrival(verified('mARIA@example.COM')), 'join')
    expect(more).toEqual([])
    const answer = await open(secret)
    const actor = { kind: 'person', id: person.id, name: person.name, role: 'desk', agency: agency.slug }
    expect([answer.status, answer.body]).toEqual([200, { actor }])
    const me = await service.ask('/me', undefined, { token: null, headers: { cookie: cookieOf(answer) } })
    expect(me.body).toEqual({ actor })
    expect((await open(secret)).body.code).toBe('LINK_NOT_VALID')
    const { audit } = (await service.get(`/agencies/${agency.slug}/audit?person=${person.id}`)).body
    expect(audit.map(({ route, outcome }: { route: string; outcome: string }) => [route, outcome])).toEqual([
      ['POST /portal/session', 'OK'],
    ])
  })

  test('is good for a minute', async () => {
    await invite(service, agency, { role: 'desk', email: 'slow@example.com' })
    const [secret = ''] = secretsIn(await arrival(verified('slow@example.com')), 'join')
    shiftMs = MINUTE_MS
    expect((await open(secret)).body.code).toBe('LINK_NOT_VALID')
  })

  test('of people of several agencies lets one choose among those that are active', async () => {
    const others = [await service.agency({ name: 'C' }), await service.agency({ name: 'A' })]
    const closed = await service.agency({ name: 'D' })
    for (const each of [agency, ...others, closed])
      await invite(service, each, { role: 'viewer', email: 'all@example.com' })
    await service.patch(`/agencies/${closed.slug}`, { status: 'suspended' })
    const secrets = secretsIn(await arrival(verified('all@example.com')), 'choose')
    const shown = await Promise.all(secrets.map((link) => show(link)))
    expect(shown.map(({ body }) => body.agency.name)).toEqual(['A', 'B', 'C'])
    const signedIn = await open(secrets[2] ?? '')
    expect(signedIn.body.actor.agency).toBe(others[0]?.slug)
    expect(await linksOf(closed)).toBe(0)
  })
})

test('a link from the provider is good only in the browser that it was sent to', async () => {
  for (const name of ['mallory', 'victim'])
    await invite(service, agency, { role: 'desk', email: `${name}@example.com` })
  const [eves = ''] = secretsIn(await arrival(verified('mallory@example.com')), 'join')
  const [victims = ''] = secretsIn(await arrival(verified('victim@example.com')), 'join')
  const { cookie: own } = inItsBrowser(eves)
  const asOther = eves.replace(/^../, 'hl')
  for (const [link, headers] of [
    [eves, {}],
    [eves, inItsBrowser(victims)],
    [eves, { cookie: `${own}; ${inItsBrowser(victims).cookie}` }],
    [asOther, {}],
    [asOther, { cookie: own }],
  ] as const)
    for (const answer of [await show(link, headers), await open(link, service, headers)])
      expect([answer.status, answer.body.code]).toEqual([401, 'LINK_NOT_VALID'])
  expect([(await show(eves)).status, (await open(eves)).status]).toEqual([200, 200])
  // Other links are good in any browser, also in one that has just come from the provider.
  const { secret } = await invite(service, agency, { role: 'desk' })
  expect((await show(secret, inItsBrowser(victims))).status).toBe(200)
})

describe('nobody is let in, and nothing is made,', () => {
  test('with an address that the provider has not verified, or another person’s', async () => {
    const other = await service.agency()
    await invite(service, other, { role: 'owner', email: 'boss@example.com' })
    const people = async () => (await service.get(`/agencies/${other.slug}/people`)).body.people.length
    for (const claims of [
      { email: 'boss@example.com' },
      { email: 'boss@example.com', email_verified: false },
      verified('eve@example.com'),
      verified('boss@example.com.evil.example'),
      verified(' boss@example.com'),
      verified('boss@example%'),
      verified('%'),
    ])
      expect(await arrival(claims)).toBe(UNKNOWN)
    expect([await people(), await linksOf(other)]).toEqual([1, 0])
  })

  test('with the address of a former person, or a former address', async () => {
    const { person } = await invite(service, agency, { role: 'desk', email: 'gone@example.com' })
    await service.delete(`/agencies/${agency.slug}/people/${person.id}`)
    const moved = await invite(service, agency, { role: 'desk', email: 'old@example.com' })
    await service.patch(`/agencies/${agency.slug}/people/${moved.person.id}`, { email: 'new@example.com' })
    expect([await arrival(verified('gone@example.com')), await arrival(verified('old@example.com'))]).toEqual([
      UNKNOWN,
      UNKNOWN,
    ])
    secretsIn(await arrival(verified('new@example.com')), 'join')
  })

  test('with a link that was made before the person was removed', async () => {
    const { person } = await invite(service, agency, { role: 'desk', email: 'late@example.com' })
    const [secret = ''] = secretsIn(await arrival(verified('late@example.com')), 'join')
    await service.delete(`/agencies/${agency.slug}/people/${person.id}`)
    expect((await open(secret)).body.code).toBe('LINK_NOT_VALID')
  })
})

test('the page is told how people sign in', async () => {
  const ways = async (at: TestService) => (await fromThePage(at, '/portal/sign-in/options', undefined)).body
  const name = new URL(provider.issuer).host
  expect(await ways(service)).toMatchObject({ oidc: { name }, only: false })
  expect(await ways(strict)).toMatchObject({ oidc: { name }, only: true })
})

describe('with OIDC_ONLY', () => {
  test('the provider lets people in, and passkeys, invitations and access tokens do not', async () => {
    const own = await strict.agency()
    const { person } = await invite(strict, own, { role: 'desk', email: 'ana@example.com' })
    // From before the provider became the only way.
    const former = { agencyId: own.id, personId: person.id, kind: 'invitation' } as const
    const { link: stored, secret } = TEST_LINKS.make(former, { now: Date.now(), lifetimeMs: MINUTE_MS })
    await strict.ledger.sql`
      insert into person_link (secret_sha256, agency_id, person_id, kind, created_at, expires_at)
      values (${stored.sha256}, ${uuidOf(own.id)}, ${uuidOf(person.id)}, 'invitation', now(), now() + interval '1 minute')`
    const [link = ''] = secretsIn(await arrival(verified('ana@example.com'), strict), 'join')
    const signedIn = await open(link, strict)
    expect(signedIn.status).toBe(200)

    const refused = async (body: object, path = '/portal/session') => {
      const answer = await fromThePage(strict, path, body)
      expect([answer.status, answer.body.code]).toEqual([403, 'OIDC_ONLY'])
    }
    const { secret: token } = await strict.accessToken(own, 'owner')
    // One that is good elsewhere: the rule comes first.
    const { device } = await joined(service, agency, 'desk')
    const passkey = answerWith(device, await signInOptions(service))
    const { passkey: made } = makePasskey(
      (await fromThePage(service, '/portal/links', { link: (await invite(service, agency, { role: 'desk' })).secret }))
        .body.options,
    )
    await refused({ token })
    await refused({ passkey })
    await refused({ link: secret }, '/portal/links')
    await refused({ link: secret, name: 'x', passkey: made })
    const options = await strict.ask('/me/passkeys/options', undefined, {
      method: 'POST',
      token: null,
      headers: { ...FROM_THE_PAGE, cookie: cookieOf(signedIn) },
    })
    expect(options.body.code).toBe('OIDC_ONLY')

    // Programs go on, and so does the operator.
    expect((await strict.ask('/me', undefined, { token })).status).toBe(200)
    expect((await signIn(strict.url, TEST_PORTAL_TOKEN)).answer.status).toBe(200)
  })
})

test('with OIDC_ONLY nobody gets a link that would be refused: the mail says how to sign in', async () => {
  const own = await strict.agency()
  const path = `/agencies/${own.slug}/people`
  const draft = { name: 'Ida', email: 'ida@example.com', role: 'desk' }
  const headers = { 'idempotency-key': systemIds('evt') }
  const [made, repeated] = [await strict.ask(path, draft, { headers }), await strict.ask(path, draft, { headers })]
  const { person } = made.body
  expect([made.status, made.body, repeated.body]).toEqual([201, { person, invitation: null }, made.body])
  const [mail, ...more] = inbox.mails.filter(({ to }) => to.includes(draft.email))
  expect([mail?.text.split('\n').find((line) => line.startsWith('http')), more]).toEqual([
    `${TEST_PAGE_URL}/portal/`,
    [],
  ])
  expect(mail?.text).not.toMatch(/once|h[lb]_/)
  const again = await strict.ask(`${path}/${person.id}/invitations`, undefined, { method: 'POST' })
  expect([again.status, again.body.code]).toEqual([403, 'OIDC_ONLY'])
  const [row] = await strict.ledger.sql`select count(*)::int from person_link where person_id = ${uuidOf(person.id)}`
  expect(row?.['count']).toBe(0)
  secretsIn(await arrival(verified(draft.email), strict), 'join')
})

describe('an invitation is mailed', () => {
  test('to the address of the person, and the link in the mail opens it', async () => {
    const made = await service.ask(`/agencies/${agency.slug}/people`, {
      name: 'Rui',
      email: 'rui@example.com',
      role: 'desk',
    })
    expect(made.body.invitation.mailed).toBe(true)
    const mail = inbox.mails.findLast(({ to }) => to.includes('rui@example.com'))
    const link = mail?.text.split('\n').find((line) => line.startsWith(TEST_PAGE_URL)) ?? ''
    expect(link).toBe(made.body.invitation.link)
    const shown = await fromThePage(service, '/portal/links', { link: secretIn(link) })
    expect(shown.body).toMatchObject({ kind: 'invitation', person: { name: 'Rui' } })
  })

  test('once, however often the request is repeated', async () => {
    const headers = { 'idempotency-key': systemIds('evt') }
    const person = { name: 'Eva', email: 'eva@example.com', role: 'desk' }
    for (let n = 0; n < 2; n++)
      expect((await service.ask(`/agencies/${agency.slug}/people`, person, { headers })).status).toBe(201)
    expect(inbox.mails.filter(({ to }) => to.includes('eva@example.com'))).toHaveLength(1)
  })

  test('and shown all the same when it has no address, or the server is away', async () => {
    const people = `/agencies/${agency.slug}/people`
    expect((await service.ask(people, { name: 'Zoe', role: 'desk' })).body.invitation.mailed).toBe(false)
    await inbox.close()
    const { body } = await service.ask(people, { name: 'Leo', email: 'leo@example.com', role: 'desk' })
    expect(body.invitation.mailed).toBe(false)
    expect(body.invitation.link).toContain('/portal/#/join/hl_')
  })
})
