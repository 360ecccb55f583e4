import { afterEach, expect, test } from 'bun:test'
import { runChecks } from '../../src/app/checks/run-checks.ts'
import { idOf } from '../../src/lib/ids.ts'
import { connect } from '../../src/postgres/client/connect.ts'
import { PostgresIdempotencyRows } from '../../src/postgres/stores/postgres-idempotency-rows.ts'
import { eventually } from '../support/eventually.ts'
import { expectNothingLost, Load, prepareForLoad } from '../support/load.ts'
import { ReplicatedPostgres } from '../support/replicated-postgres.ts'
import { credentialsFor, type ServiceProcess, startServiceOn } from '../support/service-process.ts'

/* What a synchronous standby has not confirmed is not acknowledged, however the wait for it ends. */

let pair: ReplicatedPostgres
let service: ServiceProcess | null = null
afterEach(async () => {
  service?.kill('SIGKILL')
  service = null
  await pair.stop()
})

const STAY = { unit: 'unit-1', arrival: '2035-02-01', departure: '2035-02-03', sourceRef: 'waiting' }

for (const [how, interrupt, setting] of [
  ['cancelled (pg_cancel_backend)', 'pg_cancel_backend', ''],
  // What says that a wait was cancelled is a warning.
  ['cancelled where the role is sent no warnings', 'pg_cancel_backend', 'set client_min_messages = error'],
  ['ended with its session (pg_terminate_backend)', 'pg_terminate_backend', ''],
] as const) {
  test(`a commit whose wait for the standby is ${how} is not acknowledged before the standby has it`, async () => {
    pair = await ReplicatedPostgres.start()
    await prepareForLoad(pair.url)
    if (setting !== '') await pair.ask(pair.primary, (sql) => sql.unsafe(`alter role nightledger ${setting}`))
    service = await startServiceOn(pair.url)
    const load = new Load(() => service?.baseUrl ?? '')
    await load.book()
    const sql = pair.direct()
    pair.signal(pair.standby, 'SIGSTOP')

    const answer = load.post('/bookings', STAY, { 'idempotency-key': 'waiting' })
    const waiting = () => sql`
      select pid from pg_stat_activity where wait_event = 'SyncRep' and application_name = 'nightledger journal'`
    await eventually('the commit waits for the standby', async () => (await waiting()).length === 1)
    await sql.unsafe(
      `select ${interrupt}(pid) from pg_stat_activity where wait_event = 'SyncRep' and application_name = 'nightledger journal'`,
    )
    await eventually('the row is visible', async () => {
      return (await sql`select from booking where source_ref = 'waiting'`).length === 1
    })
    expect(await Promise.race([answer.then(() => 'answered'), Bun.sleep(1_500).then(() => 'open')])).toBe('open')

    // Another process would not replay the answer either.
    const [row] = await sql<{ agencyId: string; keyId: string; route: string }[]>`
      select agency_id as "agencyId", key_id as "keyId", route from idempotency where idempotency_key = 'waiting'`
    const { agencyId = '', keyId = '', route = '' } = row ?? {}
    const scope = { agencyId: idOf('agc', agencyId), keyId: idOf('key', keyId), route, idempotencyKey: 'waiting' }
    const queries = connect(pair.url, { purpose: 'queries' })
    const rows = new PostgresIdempotencyRows(queries)
    expect(await rows.find(scope, 0).catch((error: Error) => error.name)).toBe('DeadlineError')

    pair.signal(pair.standby, 'SIGCONT')
    expect((await answer).status).toBe(201)
    expect(await rows.find(scope, 0)).toMatchObject({ status: 201 })
    await queries.end({ timeout: 0 })
    await expectNothingLost(sql, load)
    await sql.end({ timeout: 1 })
  })
}

test('while the standby is away, doctor says that no booking can be made, and how to continue', async () => {
  pair = await ReplicatedPostgres.start()
  const found = async () =>
    (await runChecks({ ...credentialsFor(pair.url), PORT: '0' })).find(({ check }) => check === 'standbys')
  expect(await found()).toMatchObject({ severity: 'ok' })
  pair.signal(pair.standby, 'SIGKILL')
  await eventually('the primary knows', () =>
    pair.ask(pair.primary, async (sql) => (await sql`select from pg_stat_replication`).length === 0),
  )
  expect(await found()).toMatchObject({
    severity: 'error',
    found: 'Commits wait for a synchronous standby, and none is connected: no booking can be made.',
    fix: expect.stringContaining("alter system set synchronous_standby_names = ''"),
  })
})

test('a primary whose standby is asynchronous is used with a warning that names it, or refused', async () => {
  pair = await ReplicatedPostgres.start({ isSynchronous: false })
  const refused = await startServiceOn(pair.url, { REQUIRE_SYNCHRONOUS_STANDBY: 'true' }).catch(
    (error: Error) => error.message,
  )
  expect(refused).toContain('its commits wait for no standby, but REQUIRE_SYNCHRONOUS_STANDBY is true')
  service = await startServiceOn(pair.url)
  const warning = service
    .log()
    .split('\n')
    .find((line) => line.includes('standby is asynchronous'))
  expect(JSON.parse(warning ?? '{}')).toMatchObject({ level: 40, standbys: ['b'] })
})
