/** Sessions of the page over the real service: restarts, a changed PORTAL_TOKEN, ADMIN_PORT, wrong tokens, another writer. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { FLOOD_PER_MINUTE, WRONG_TOKENS_PER_MINUTE } from '../../src/accounts/wrong-token-throttle.ts'
import { runCliProcess } from '../support/cli-process.ts'
import { openStream } from '../support/event-stream.ts'
import { eventually } from '../support/eventually.ts'
import { send } from '../support/http-call.ts'
import { isCleared, signIn, signOut } from '../support/page-sessions.ts'
import { accept, fromThePage, secretIn, signInWith } from '../support/people.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import {
  makeAgencyByPortal,
  type ServiceProcess,
  startServiceOn,
  TEST_PORTAL_TOKEN,
} from '../support/service-process.ts'
import { unlessGone } from '../support/unless-gone.ts'

const NEXT_TOKEN = 'the-next-portal-token-0123456789abcdef'

let database: TestDatabase
let service: ServiceProcess | null
beforeEach(async () => {
  database = await testDatabase()
  service = null
})
afterEach(async () => {
  await end('SIGTERM')
  await database.drop()
})

async function end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  service?.kill(signal)
  await service?.exited
}

/** Ends the running service, if there is one, and starts it again. */
async function start(env: Record<string, string> = {}, signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM') {
  await end(signal)
  service = await startServiceOn(database.url, env)
  return service
}

const status = async ({ baseUrl }: ServiceProcess, cookie: string) =>
  (await send(`${baseUrl}/portal/v1/me`, { headers: { cookie } })).status

async function tokenOf({ portal }: ServiceProcess): Promise<{ id: string; secret: string }> {
  const { body } = await portal('/agencies/harbour/access-tokens', { name: 'Maria', role: 'desk' })
  return { id: body.accessToken.id, secret: body.secret }
}

test.each(['SIGTERM', 'SIGKILL'] as const)(
  'a restart keeps people signed in, and signed out, whether the service ends by %s',
  async (signal) => {
    let running = await start()
    await makeAgencyByPortal(running, { scopes: [] })
    const [maria, rui] = [await tokenOf(running), await tokenOf(running)]
    const open = [
      (await signIn(running.baseUrl, maria.secret)).cookie,
      (await signIn(running.baseUrl, TEST_PORTAL_TOKEN)).cookie,
    ]
    const ended = [
      (await signIn(running.baseUrl, maria.secret)).cookie,
      (await signIn(running.baseUrl, rui.secret)).cookie,
    ]
    expect((await signOut(running.baseUrl, ended[0] ?? '')).status).toBe(200)
    const path = `/portal/v1/agencies/harbour/access-tokens/${rui.id}`
    await running.ask(path, { method: 'DELETE', token: TEST_PORTAL_TOKEN })
    running = await start({}, signal)
    for (const cookie of open) expect(await status(running, cookie)).toBe(200)
    for (const cookie of ended) expect(await status(running, cookie)).toBe(401)
  },
)

test('after a restore everybody signs in again: who signed out since then is not signed in by it', async () => {
  let running = await start()
  await makeAgencyByPortal(running, { scopes: [] })
  const { cookie } = await signIn(running.baseUrl, (await tokenOf(running)).secret)
  await end('SIGTERM')
  const readied = await runCliProcess(['after-restore', '--no-erasures', '--json'], {
    env: { DATABASE_URL: database.url },
  })
  expect(readied.json).toMatchObject({ endpoints: 0, sessions: 1 })
  running = await start()
  expect(await status(running, cookie)).toBe(401)
  // It can be run once more.
  await end('SIGTERM')
  const again = await runCliProcess(['after-restore', '--no-erasures'], { env: { DATABASE_URL: database.url } })
  expect(again.stdout).toContain('0 sessions of the page have ended')
})

test('the metrics say how many sessions are open', async () => {
  const running = await start()
  const count = async () => {
    const text = await (await fetch(`${running.baseUrl}/metrics`)).text()
    return /^nightledger_portal_sessions (\d+)$/m.exec(text)?.[1]
  }
  expect(await count()).toBe('0')
  const { cookie } = await signIn(running.baseUrl, TEST_PORTAL_TOKEN)
  expect(await count()).toBe('1')
  await signOut(running.baseUrl, cookie)
  expect(await count()).toBe('0')
})

test('a session of the operator ends when the token that opened it is no longer one of his', async () => {
  let running = await start()
  const old = (await signIn(running.baseUrl, TEST_PORTAL_TOKEN)).cookie
  running = await start({ PORTAL_TOKEN: `${TEST_PORTAL_TOKEN},${NEXT_TOKEN}` })
  const next = (await signIn(running.baseUrl, NEXT_TOKEN)).cookie
  expect([await status(running, old), await status(running, next)]).toEqual([200, 200])
  running = await start({ PORTAL_TOKEN: NEXT_TOKEN })
  expect([await status(running, old), await status(running, next)]).toEqual([401, 200])
  // It does not come back with the token.
  running = await start({ PORTAL_TOKEN: `${TEST_PORTAL_TOKEN},${NEXT_TOKEN}` })
  expect([await status(running, old), await status(running, next)]).toEqual([401, 200])
})

test('with ADMIN_PORT, people sign in on PORT; the operator cannot, and his listener knows no session', async () => {
  let running = await start()
  await makeAgencyByPortal(running, { scopes: [] })
  const maria = await tokenOf(running)
  const before = (await signIn(running.baseUrl, TEST_PORTAL_TOKEN)).cookie
  const isOperatorOffered = async () =>
    (await fromThePage({ url: running.baseUrl }, '/portal/sign-in/options', undefined)).body.operator
  expect(await isOperatorOffered()).toBe(true)
  running = await start({ ADMIN_PORT: '0' })
  expect(await isOperatorOffered()).toBe(false)
  expect(await status(running, before)).toBe(401)
  expect((await signIn(running.baseUrl, TEST_PORTAL_TOKEN)).answer.status).toBe(401)
  const { cookie } = await signIn(running.baseUrl, maria.secret)
  expect(await status(running, cookie)).toBe(200)
  expect((await signIn(running.adminUrl, TEST_PORTAL_TOKEN)).answer.status).toBe(404)
  // A browser sends the cookie to every port: it is neither accepted there nor taken away.
  const there = await send(`${running.adminUrl}/portal/v1/me`, { headers: { cookie } })
  expect([there.status, isCleared(there), there.headers.has('set-cookie')]).toEqual([401, false, false])
})

test('twenty wrong tokens a minute are refused with 401, further ones with 429, and a valid one signs in', async () => {
  const running = await start({ TRUSTED_PROXIES: '127.0.0.1' })
  await makeAgencyByPortal(running, { scopes: [] })
  const from = (client: string) => ({ 'x-forwarded-for': client })
  const guess = async (client: string) => (await signIn(running.baseUrl, 'a-wrong-token', from(client))).answer
  const guesses = await Promise.all(Array.from({ length: WRONG_TOKENS_PER_MINUTE + 1 }, () => guess('198.51.100.1')))
  expect(guesses.map(({ status }) => status).sort()).toEqual([
    ...Array.from({ length: WRONG_TOKENS_PER_MINUTE }, () => 401),
    429,
  ])
  expect(Number((await guess('198.51.100.1')).headers.get('retry-after'))).toBeWithin(1, 61)
  // They count together with those in a header.
  const header = await running.ask('/portal/v1/me', { token: 'another-wrong-token', headers: from('198.51.100.1') })
  expect(header.status).toBe(429)
  expect((await guess('198.51.100.2')).status).toBe(401)
  const { secret } = await tokenOf(running)
  const { answer, cookie } = await signIn(running.baseUrl, secret, from('198.51.100.1'))
  expect(answer.status).toBe(200)
  // So does a passkey, however many wrong tokens a program of the same office sends.
  for (let i = 0; i <= FLOOD_PER_MINUTE; i++)
    await running.ask('/portal/v1/me', { token: 'revoked', headers: from('198.51.100.1') })
  const { body } = await running.portal('/agencies/harbour/people', { name: 'Rui', role: 'desk' })
  const service = { url: running.baseUrl }
  const { device } = await accept(service, secretIn(body.invitation.link))
  expect((await signInWith(service, device, {}, from('198.51.100.1'))).status).toBe(200)
  // A cookie that has ended is no guess.
  await signOut(running.baseUrl, cookie)
  const ended = () => running.ask('/portal/v1/me', { headers: { ...from('198.51.100.3'), cookie } })
  for (let i = 0; i <= WRONG_TOKENS_PER_MINUTE; i++) expect((await ended()).status).toBe(401)
})

test('a process that was fenced out opens and ends no session that the new one would not know of', async () => {
  const old = await startServiceOn(database.url)
  await makeAgencyByPortal(old, { scopes: [] })
  const maria = await tokenOf(old)
  const { cookie } = await signIn(old.baseUrl, maria.secret)
  const running = await startServiceOn(database.url, {}, { takesOver: true })
  service = running
  const late = await unlessGone(signIn(old.baseUrl, maria.secret))
  if (late !== null) expect([late.answer.status >= 500, late.cookie]).toEqual([true, ''])
  expect(await old.exited).toBe(1)
  expect(await status(running, cookie)).toBe(200)
})

test('a stream of a session is ended by the drain, and continues with the same cookie after the restart', async () => {
  let running = await start()
  await makeAgencyByPortal(running, { scopes: [] })
  const { cookie } = await signIn(running.baseUrl, (await tokenOf(running)).secret)
  const url = () => `${running.baseUrl}/portal/v1/agencies/harbour/changes`
  const open = await openStream(url(), { cookie })
  await eventually('an id', () => open.lastEventId() !== '')
  running.kill('SIGTERM')
  await open.ended
  expect(await running.exited).toBe(0)
  running = await start()
  await running.portal('/agencies/harbour/bookings', {
    unit: 'sea-view',
    arrival: '2030-01-01',
    departure: '2030-01-03',
  })
  const again = await openStream(url(), { cookie, 'last-event-id': open.lastEventId() })
  await eventually('the booking', () => again.events.length === 1)
  expect(JSON.parse(again.events[0]?.data ?? '').data.arrival).toBe('2030-01-01')
  again.close()
})
