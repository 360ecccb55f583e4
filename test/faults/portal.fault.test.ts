import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { Sql } from '../../src/postgres/client/connect.ts'
import { eventually } from '../support/eventually.ts'
import { FaultPostgres } from '../support/fault-postgres.ts'
import { heartbeatAnswered } from '../support/heartbeat-answered.ts'
import { send } from '../support/http-call.ts'
import { FROM_THE_PAGE, isCleared, signIn, signOut } from '../support/page-sessions.ts'
import { accept, secretIn, signInWith } from '../support/people.ts'
import { type ServiceProcess, startServiceOn, TEST_PORTAL_TOKEN } from '../support/service-process.ts'

/*
 * What the portal answers, and what it does, while Postgres is away, or its reply does not arrive.
 */

const HARBOUR = '/portal/v1/agencies/harbour'
const UNIT = `${HARBOUR}/units/sea-view`
const CALENDAR = '/partner/v1/availability?unit=sea-view&from=2030-01-01&to=2030-02-01'

let postgres: FaultPostgres
let service: ServiceProcess
let sql: Sql

beforeEach(async () => {
  postgres = await FaultPostgres.start()
  sql = postgres.direct()
  service = await startServiceOn(postgres.url, { WEBHOOK_ALLOW_HOSTS: '127.0.0.1:9' })
  await ask('POST', '/portal/v1/agencies', {
    json: { slug: 'harbour', name: 'Harbour', currency: 'EUR', timezone: 'Europe/Lisbon' },
  })
  await ask('POST', `${HARBOUR}/units`, { json: { slug: 'sea-view', name: 'Sea view', basePrice: 10_000 } })
  await heartbeatAnswered(sql)
})
afterEach(async () => {
  service.kill('SIGKILL')
  await service.exited
  await sql.end({ timeout: 0 })
  await postgres.stop()
})

async function ask(method: string, path: string, { json, token }: { json?: unknown; token?: string } = {}) {
  const { status, body } = await service.ask(path, { method, token: token ?? TEST_PORTAL_TOKEN, json })
  return { status, title: String(body?.title), body }
}

async function newKey(): Promise<{ token: string; path: string }> {
  const { body } = await ask('POST', `${HARBOUR}/keys`, { json: {} })
  return { token: body.secret, path: `${HARBOUR}/keys/${body.key.id}` }
}

interface InSession {
  readonly cookie: string
}

/** To the list of one's own sessions. */
function as({ cookie }: InSession, path: string, method = 'GET') {
  return send(`${service.baseUrl}/portal/v1/me/sessions${path}`, { method, headers: { ...FROM_THE_PAGE, cookie } })
}

async function meIn({ cookie }: InSession): Promise<number> {
  return (await send(`${service.baseUrl}/portal/v1/me`, { headers: { cookie } })).status
}

describe('while Postgres is away', () => {
  test('sessions of the page continue; one ends at once with sign-out, and repeated, that is stored', async () => {
    const { body } = await ask('POST', `${HARBOUR}/access-tokens`, { json: { name: 'Maria', role: 'desk' } })
    const [kept, ended] = [await signIn(service.baseUrl, body.secret), await signIn(service.baseUrl, body.secret)]
    const me = async ({ cookie }: { cookie: string }) =>
      (await send(`${service.baseUrl}/portal/v1/me`, { headers: { cookie } })).status
    postgres.signal('SIGINT')
    await eventually('the database is away', async () => (await ask('GET', `${HARBOUR}/guests`)).status === 500)

    expect([await me(kept), await me(ended)]).toEqual([200, 200])
    const out = await signOut(service.baseUrl, ended.cookie)
    expect([out.status, isCleared(out)]).toEqual([500, false])
    expect(out.body.title).toContain('The sign-out is in effect for now')
    expect([await me(kept), await me(ended)]).toEqual([200, 401])
    const late = (await signIn(service.baseUrl, body.secret)).answer
    expect([late.status, late.headers.has('set-cookie')]).toEqual([500, false])

    await postgres.restart()
    await eventually('the database is back', async () => (await ask('GET', `${HARBOUR}/guests`)).status === 200)
    expect((await signOut(service.baseUrl, ended.cookie)).status).toBe(200)
    // Another one: a client that was cut off by the restart may fail once.
    const direct = postgres.direct()
    const [row] = await direct<{ count: number }[]>`select count(*)::int as count from portal_session`
    await direct.end({ timeout: 0 })
    expect([row?.count, await me(kept)]).toEqual([1, 200])
  })

  test('other sessions of one’s own end at once, also the operator’s; repeated, that is stored', async () => {
    const { body } = await ask('POST', `${HARBOUR}/access-tokens`, { json: { name: 'Maria', role: 'desk' } })
    const tokens = [body.secret, TEST_PORTAL_TOKEN]
    const pairs = await Promise.all(
      tokens.map(async (token) => {
        const [own, lost] = [await signIn(service.baseUrl, token), await signIn(service.baseUrl, token)]
        const { sessions } = (await as(own, '')).body
        const { id } = sessions.find(({ isThis }: { isThis: boolean }) => !isThis)
        return { own, lost, path: `/${id}` }
      }),
    )
    postgres.signal('SIGINT')
    await eventually('the database is away', async () => (await ask('GET', `${HARBOUR}/guests`)).status === 500)
    for (const { own, lost, path } of pairs) {
      const { status, body } = await as(own, path, 'DELETE')
      expect([status, body.title]).toEqual([500, expect.stringContaining('have ended for now')])
      expect([await meIn(own), await meIn(lost)]).toEqual([200, 401])
    }
    await postgres.restart()
    await eventually('the database is back', async () => (await ask('GET', `${HARBOUR}/guests`)).status === 200)
    for (const { own, path } of pairs) {
      // The service may have stored it by itself: then there is no such session any more.
      expect([200, 404]).toContain((await as(own, path, 'DELETE')).status)
      expect(await meIn(own)).toBe(200)
    }
    const direct = postgres.direct()
    const [row] = await direct<{ count: number }[]>`select count(*)::int as count from portal_session`
    await direct.end({ timeout: 0 })
    expect(row?.count).toBe(pairs.length)
  })

  test('a person who is removed, or loses their role, is out at once; repeated, it is stored', async () => {
    const at = { url: service.baseUrl }
    const join = async (name: string) => {
      const { body } = await ask('POST', `${HARBOUR}/people`, { json: { name, role: 'manager' } })
      return { path: `${HARBOUR}/people/${body.person.id}`, ...(await accept(at, secretIn(body.invitation.link))) }
    }
    const [maria, rui, ana] = [await join('Maria'), await join('Rui'), await join('Ana')]
    const me = async () => {
      const ask = ({ cookie }: { cookie: string }) => send(`${service.baseUrl}/portal/v1/me`, { headers: { cookie } })
      return (await Promise.all([maria, rui, ana].map(ask))).map(({ status }) => status)
    }
    expect(await me()).toEqual([200, 200, 200])
    postgres.signal('SIGINT')
    await eventually('the database is away', async () => (await ask('GET', `${HARBOUR}/guests`)).status === 500)

    const remove = () => ask('DELETE', maria.path)
    const demote = () => ask('PATCH', rui.path, { json: { role: 'viewer' } })
    for (const refused of [await remove(), await demote()])
      expect([refused.status, refused.title]).toEqual([500, expect.stringContaining('in effect for now')])
    expect(await me()).toEqual([401, 401, 200])

    await postgres.restart()
    await eventually('the database is back', async () => (await ask('GET', `${HARBOUR}/guests`)).status === 200)
    expect([(await remove()).status, (await demote()).status]).toEqual([200, 200])
    expect(await me()).toEqual([401, 401, 200])
    expect([(await signInWith(at, maria.device)).status, (await signInWith(at, rui.device)).body.actor.role]).toEqual([
      401,
      'viewer',
    ])
    const direct = postgres.direct()
    const rows = await direct<{ role: string; isRemoved: boolean }[]>`
      select role, removed_at is not null as "isRemoved" from person order by created_at`
    await direct.end({ timeout: 0 })
    expect(rows.map(({ role, isRemoved }) => [role, isRemoved])).toEqual([
      ['manager', true],
      ['viewer', false],
      ['manager', false],
    ])
  })

  test('a leaked key, an agency and a calendar address are closed at once; repeated, it is stored', async () => {
    const key = await newKey()
    const other = await newKey()
    const { body } = await ask('GET', `${UNIT}/calendar-feed`)
    const feed = () => ask('GET', body.calendarFeed.path)
    const statuses = async () => [
      (await ask('GET', CALENDAR, key)).status,
      (await ask('GET', CALENDAR, other)).status,
      (await feed()).status,
    ]
    expect(await statuses()).toEqual([200, 200, 200])
    postgres.signal('SIGINT')
    await eventually('the database is away', async () => (await ask('GET', `${HARBOUR}/guests`)).status === 500)

    const revoked = await ask('DELETE', key.path)
    expect([revoked.status, revoked.title]).toEqual([500, expect.stringContaining('The key is refused for now')])
    expect(await statuses()).toEqual([401, 200, 200])
    const changed = await ask('POST', `${UNIT}/calendar-feed`)
    expect([changed.status, changed.title]).toEqual([
      500,
      expect.stringContaining('The old address is refused for now'),
    ])
    expect(await statuses()).toEqual([401, 200, 404])
    const suspended = await ask('PATCH', HARBOUR, { json: { status: 'suspended' } })
    expect([suspended.status, suspended.title]).toEqual([
      500,
      expect.stringContaining('The agency is suspended for now'),
    ])
    expect(await statuses()).toEqual([401, 401, 404])
    const listed = await ask('GET', `${HARBOUR}/keys`)
    const { revokedAt } = listed.body.keys[0]

    await postgres.restart()
    await eventually('the revocation is stored', async () => (await ask('DELETE', key.path)).status === 200)
    expect((await ask('DELETE', key.path)).body.key.revokedAt).toBe(revokedAt)
    expect((await ask('PATCH', HARBOUR, { json: { status: 'suspended' } })).status).toBe(200)
    expect((await ask('PATCH', HARBOUR, { json: { status: 'active' } })).status).toBe(200)
    expect((await ask('POST', `${UNIT}/calendar-feed`)).status).toBe(200)
    expect(await statuses()).toEqual([401, 200, 404])
    await sql.end({ timeout: 0 })
    sql = postgres.direct()
    const [row] = await sql`select revoked_at from api_key where revoked_at is not null`
    expect(row?.['revoked_at']).toEqual(new Date(revokedAt))
  })

  test('a read says nothing of changes, and a write that was not sent that nothing was changed', async () => {
    postgres.signal('SIGINT')
    await eventually('the database is away', async () => (await ask('GET', `${HARBOUR}/guests`)).status === 500)
    expect((await ask('GET', `${HARBOUR}/guests`)).title).toBe('The database did not answer. Try again')
    const fee = { json: { label: 'Tax', kind: 'fixed', amount: 1 } }
    // A connection of which the service does not know yet that it is closed may have taken the write.
    await eventually('a write is not sent, and is told so', async () =>
      (await ask('POST', `${HARBOUR}/fee-types`, fee)).title.startsWith('Nothing was changed'),
    )
  })
})

test('a rotation whose reply was lost is told as not known, and one that was taken back as not made', async () => {
  const made = await ask('POST', `${HARBOUR}/webhook-endpoints`, { json: { url: 'http://127.0.0.1:9/in' } })
  const rotate = () => ask('POST', `${HARBOUR}/webhook-endpoints/${made.body.webhookEndpoint.id}/rotate-secret`)
  const secret = async () => (await sql`select secret_sealed from webhook_endpoint`)[0]?.['secret_sealed']
  // Once before, so that the statement is prepared: its reply is then one, that of the write.
  await rotate()
  const first = await secret()
  // Blocked by the table lock, the statement ends at a moment that the test controls.
  await sql`begin`
  await sql`lock table webhook_endpoint in exclusive mode`
  const lost = rotate()
  await eventually('the rotation waits', async () => {
    const waiting =
      await sql`select from pg_stat_activity where wait_event_type = 'Lock' and query like '%previous_secret_until%'`
    return waiting.count > 0
  })
  postgres.proxy.losesReply = () => true
  await sql`commit`
  expect((await lost).title).toStartWith('The change may or may not have been made')
  postgres.proxy.losesReply = () => false
  const second = await secret()
  expect(second).not.toBe(first)

  await sql`begin`
  await sql`lock table webhook_endpoint in exclusive mode`
  expect((await rotate()).title).toStartWith('Nothing was changed')
  await sql`commit`
  expect(await secret()).toBe(second)
})
