/** A real process whose provider and mail server come later than it does. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { redirectUriOf } from '../../src/api/portal/oidc.ts'
import { eventually } from '../support/eventually.ts'
import { expectReady } from '../support/expect-ready.ts'
import { freePort } from '../support/free-port.ts'
import { type IdentityProvider, startIdentityProvider, Wanderer } from '../support/identity-provider.ts'
import { fromThePage, secretIn } from '../support/people.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { type ServiceProcess, startServiceOn } from '../support/service-process.ts'
import { openSmtpInbox } from '../support/smtp-inbox.ts'

const PASSWORD = 'secret-of-the-mail-server'
const port = freePort()
const mailPort = freePort()
const pageUrl = `http://localhost:${port}`
let database: TestDatabase
let provider: IdentityProvider
let service: ServiceProcess

beforeAll(async () => {
  database = await testDatabase()
  provider = await startIdentityProvider({ redirectUri: redirectUriOf(pageUrl) })
  provider.accounts.set('ana', { email: 'ana@example.com', email_verified: true })
  await provider.goAway()
  service = await startServiceOn(database.url, {
    PORT: String(port),
    PUBLIC_URL: pageUrl,
    OIDC_ISSUER: provider.issuer,
    OIDC_CLIENT_ID: provider.clientId,
    OIDC_CLIENT_SECRET: provider.clientSecret,
    SMTP_URL: `smtp://desk:${PASSWORD}@127.0.0.1:${mailPort}`,
    MAIL_FROM: 'desk@example.com',
  })
})
afterAll(async () => {
  service.kill('SIGTERM')
  await service.exited
  await provider.goAway()
  await database.drop()
})

test('a service starts without them, says in its log what is missing, and needs no restart', async () => {
  await expectReady(service)
  const browser = new Wanderer()
  const start = () => browser.open(`${pageUrl}/portal/oidc/start`)
  expect((await start()).headers.get('location')).toBe(`${pageUrl}/portal/#/sign-in?refused=failed`)
  await service.portal('/agencies', {
    slug: 'harbour',
    name: 'Harbour',
    currency: 'EUR',
    timezone: 'Europe/Lisbon',
    plan: {},
  })
  const invite = (email: string) =>
    service.portal('/agencies/harbour/people', { name: 'Ana', email, role: 'desk' }).then(({ body }) => body)
  const invited = await invite('ana@example.com')
  expect(invited.invitation.mailed).toBe(false)

  const logged = () =>
    service
      .log()
      .split('\n')
      .filter((line) => line.includes('"level":40'))
      .map((line) => JSON.parse(line))
      // On a slow machine there are other warnings.
      .filter(({ msg }) => /sign-in|mail/.test(msg))
  await eventually('both are logged', () => logged().length > 1)
  expect(logged()).toMatchObject([
    { msg: 'sign-in with the provider failed', step: 'discovery', code: 'ECONNREFUSED' },
    { msg: 'mail not sent', code: 'ESOCKET', status: null },
  ])
  for (const secret of [provider.clientSecret, PASSWORD, 'ana@example.com', secretIn(invited.invitation.link)])
    expect(service.log()).not.toContain(secret)

  await provider.comeBack()
  const inbox = await openSmtpInbox({
    port: mailPort,
    allowInsecureAuth: true,
    onAuth: (_, __, done) => done(null, { user: 'desk' }),
  })
  expect((await invite('rui@example.com')).invitation.mailed).toBe(true)
  expect(inbox.mails.map(({ to }) => to)).toEqual([['rui@example.com']])
  await inbox.close()

  const callback = await browser.signInAt((await start()).headers.get('location') ?? '', 'ana')
  const { headers } = await browser.open(callback)
  const arrived = headers.get('location') ?? ''
  expect(arrived).toStartWith(`${pageUrl}/portal/#/join/hb_`)
  const cookie = headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ')
  const signedIn = await fromThePage({ url: pageUrl }, '/portal/session', { link: secretIn(arrived) }, { cookie })
  expect(signedIn.body.actor).toMatchObject({ kind: 'person', id: invited.person.id })
})
