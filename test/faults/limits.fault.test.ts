/** Quota and budget of a key across the end of the process and an outage (docs/contract.md#limits; docs/reliability.md). */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { eventually } from '../support/eventually.ts'
import { FaultPostgres } from '../support/fault-postgres.ts'
import { heartbeatAnswered } from '../support/heartbeat-answered.ts'
import { longTest } from '../support/long-run.ts'
import { makeAgencyByPortal, type ServiceProcess, startServiceOn } from '../support/service-process.ts'
import { unlessGone } from '../support/unless-gone.ts'

const SCOPES = ['read:availability', 'write:bookings']
const AVAILABILITY = '/partner/v1/availability?unit=sea-view&from=2030-01-30&to=2030-02-10'

let postgres: FaultPostgres
let service: ServiceProcess

beforeEach(async () => {
  postgres = await FaultPostgres.start()
  service = await startServiceOn(postgres.url)
})
afterEach(async () => {
  service.kill('SIGKILL')
  await postgres.stop()
})

const ask = (path: string, token: string, json?: object) =>
  service.ask(path, { token, ...(json === undefined ? {} : { json }) })
const addKey = (plan: object = {}) => makeAgencyByPortal(service, { scopes: SCOPES, plan })

async function passed(key: string, requests: number, path = AVAILABILITY): Promise<number> {
  let answered = 0
  for (let i = 0; i < requests; i++) if ((await ask(path, key)).status === 200) answered += 1
  return answered
}

/** Of the month, with the request that asks. */
async function used(key: string): Promise<number> {
  return (await ask('/partner/v1/me', key)).body.quota.used
}

const AMPLE = { requestsPerMinute: 100_000, requestsPerMonth: 100_000 }

/** What is written both of the month and of the last minute, which are two writes. */
async function storedUse(): Promise<number> {
  const sql = postgres.direct()
  const [row] = await sql`
    select least((select coalesce(sum(used), 0) from usage_month),
                 (select coalesce(sum(of_key.value::int), 0) from rate_slot, json_each_text(counts::json) as of_key))::int as used`
  await sql.end({ timeout: 1 })
  return row?.['used']
}

test('a budget that is used up stays so across a stop and a start', async () => {
  const key = await addKey()
  expect(await passed(key, 65)).toBe(60)
  service.kill('SIGTERM')
  expect(await service.exited).toBe(0)
  service = await startServiceOn(postgres.url)
  const { status, body } = await ask(AVAILABILITY, key)
  expect([status, body.code]).toEqual([429, 'RATE_LIMITED'])
})

test('a budget stays used up across a kill and a take-over, except for what was not yet written', async () => {
  const key = await addKey()
  const passedFirst = await passed(key, 65)
  await eventually('the budget is written', async () => (await storedUse()) === passedFirst)
  service.kill('SIGKILL')
  await service.exited
  service = await startServiceOn(postgres.url)
  expect(await passed(key, 3)).toBe(0)
  const older = service
  service = await startServiceOn(postgres.url, {}, { takesOver: true })
  expect(await passed(key, 3)).toBe(0)
  older.kill('SIGKILL')
})

test('a process that serves reads only finds that another has taken over, and ends', async () => {
  const key = await addKey(AMPLE)
  const older = service
  service = await startServiceOn(postgres.url, {}, { takesOver: true })
  const newer = service
  service = older
  await unlessGone(passed(key, 1))
  expect(await older.exited).toBe(1)
  expect(older.log()).toContain('fenced by another writer')
  service = newer
})

for (const [how, goAway] of [
  ['stopped', () => postgres.shutDown()],
  [
    'silent',
    () => {
      postgres.proxy.isSilent = true
    },
  ],
] as const) {
  const run = how === 'stopped' ? test : longTest
  run(`SIGTERM with Postgres ${how}: the stop is clean, and only what was counted since is lost`, async () => {
    const key = await addKey(AMPLE)
    await passed(key, 40)
    await eventually('what was counted is written', async () => (await storedUse()) === 40)
    const before = postgres.direct()
    await heartbeatAnswered(before)
    await before.end()
    await goAway()
    expect(await passed(key, 20)).toBe(20)
    service.kill('SIGTERM')
    expect(await service.exited).toBe(0)
    expect(service.log()).toContain('request counts not written')
    postgres.proxy.isSilent = false
    await postgres.restart()
    service = await startServiceOn(postgres.url)
    expect(await used(key)).toBe(41)
  })
}

test('SIGTERM with Postgres away that comes back during the stop: nothing that was counted is lost', async () => {
  const key = await addKey(AMPLE)
  await passed(key, 40)
  const { target } = postgres.proxy
  // Where nobody listens.
  postgres.proxy.target = 1
  postgres.proxy.cutAll()
  expect(await passed(key, 20)).toBe(20)
  service.kill('SIGTERM')
  await eventually('the stop has begun', () => service.log().includes('draining'))
  await Bun.sleep(500)
  postgres.proxy.target = target
  expect(await service.exited).toBe(0)
  service = await startServiceOn(postgres.url)
  expect(await used(key)).toBe(61)
})

test('writes that fail during an outage are all in the audit trail once Postgres is back', async () => {
  const key = await addKey(AMPLE)
  service.kill('SIGTERM')
  await service.exited
  service = await startServiceOn(postgres.url, { HELD_MS_MAX: '300' })
  const before = postgres.direct()
  await heartbeatAnswered(before)
  await before.end({ timeout: 1 })
  await postgres.shutDown()
  const stay = { unit: 'sea-view', arrival: '2030-01-01', departure: '2030-01-02' }
  const statuses = await Promise.all(
    Array.from({ length: 30 }, () => ask('/partner/v1/bookings', key, stay).then(({ status }) => status)),
  )
  expect(statuses).toEqual(Array.from({ length: 30 }, () => 500))
  await postgres.restart()
  const sql = postgres.direct()
  await eventually('the attempts are in the audit trail', async () => {
    const [row] = await sql`
      select coalesce(sum(count), 0)::int as count from audit_line
      where actor_kind = 'key' and outcome in ('INTERNAL', 'OUTCOME_UNKNOWN')`
    return row?.['count'] === 30
  })
  await sql.end({ timeout: 1 })
})
