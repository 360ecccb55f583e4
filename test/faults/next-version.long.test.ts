import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { seedLedger } from '../../bench/world/seed.ts'
import { connect, type Sql } from '../../src/postgres/client/connect.ts'
import { SERVICE_ROLE } from '../../src/postgres/embedded/cluster.ts'
import { eventually } from '../support/eventually.ts'
import { answersText, expectNoLies, FailoverLoad } from '../support/failover-load.ts'
import { freePort } from '../support/free-port.ts'
import { startHaproxy } from '../support/haproxy.ts'
import { prepareForLoad } from '../support/load.ts'
import { buildProgram, type Step } from '../support/next-version.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { scrape } from '../support/scrape.ts'
import { credentialsFor, type StartingService, startListening } from '../support/service-process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { verifyDatabase } from '../support/verify-database.ts'

/*
 * What docs/versions.md promises of an upgrade, with two binaries: the program as it is, and the same with one more migration. Both on one
 * database with a million bookings, behind HAProxy, while clients book.
 */

const WORLD = { agencies: 1_000, unitsPerAgency: 20, bookingsPerUnit: 50, bookingsOfFirst: 0 }
const CLIENTS = 32
const BOOKINGS_PER_STEP = 500
/** The million bookings, and their verification. */
const MS_MAX = 3_600_000

/** The kinds of things that a minor release adds: a column with a default to a large table, one without, and a table. */
const STEP: Step = {
  version: '1.99.0',
  sql: `
alter table booking add column paid_amount bigint not null default 0;
alter table unit add column floor integer;
create table booking_tag (
  agency_id uuid not null references agency,
  booking_id uuid not null,
  tag text not null,
  primary key (agency_id, booking_id, tag)
);
`,
  rights: "      ('booking_tag', 'select, insert', '', ''),\n",
}

const folder = temporaryFolder('next-version')
let programs: { present: string; next: string }
let database: TestDatabase
let sql: Sql
const started = new Set<StartingService>()

describe.skipIf(Bun.which('haproxy') === null)('an upgrade to the next version, with a million bookings,', () => {
  beforeAll(async () => {
    programs = { present: buildProgram(join(folder, 'present')), next: buildProgram(join(folder, 'next'), STEP) }
    database = await testDatabase()
    sql = connect(database.url, { purpose: 'admin' })
    await seedLedger(sql, WORLD, (step) => console.log(step))
    await prepareForLoad(database.url)
  }, MS_MAX)
  afterAll(async () => {
    for (const service of started) service.kill('SIGKILL')
    await sql?.end({ timeout: 1 })
    await database?.drop()
  })

  /** @param until what it logs when it is as far as it gets */
  async function start(program: string, port: number, until = 'waiting as a standby'): Promise<StartingService> {
    const env = { ...credentialsFor(database.url), PORT: String(port) }
    const service = await startListening(env, { command: [program] })
    started.add(service)
    await eventually(until, () => service.log().includes(until), 120_000)
    return service
  }

  async function stop(service: StartingService): Promise<void> {
    service.kill('SIGTERM')
    expect(await service.exited).toBe(0)
    started.delete(service)
  }

  test(
    'and back, and there again, fails no request; each version can be started beside the other, and nothing is lost',
    async () => {
      const { present, next } = programs
      const [listen, a, b] = [freePort(), freePort(), freePort()]
      const pauses: Record<string, number> = {}
      const load = new FailoverLoad(() => `http://127.0.0.1:${listen}`)
      /** How long no booking was made from the beginning of a step until some time after its end. */
      const during = async (name: string, step: () => Promise<StartingService>) => {
        await load.more(BOOKINGS_PER_STEP)
        load.watchGap()
        const service = await step()
        await load.more(BOOKINGS_PER_STEP)
        pauses[name] = Math.round(load.gapMs)
        return service
      }
      const handOver = (writer: StartingService, standby: StartingService, version: string) => async () => {
        await stop(writer)
        await eventually('the standby serves', () => standby.log().includes('"listening"'))
        const labels = { version, commit: 'test', bun: Bun.version }
        expect((await scrape(standby.baseUrl)).value('nightledger_build_info', labels)).toBe(1)
        return standby
      }
      const mayTag = () => sql`select has_table_privilege(${SERVICE_ROLE}, 'booking_tag', 'select, insert') as may`
      const isPresent = (await Bun.file('package.json').json()).version

      const first = await start(present, a, '"listening"')
      const former = await start(present, b)
      const proxy = await startHaproxy({ listen, nodes: [a, b] })
      try {
        load.start(CLIENTS)
        await stop(former)
        const upgraded = await during('the migration, beside the writer', () => start(next, b))
        expect(upgraded.log()).toContain('waiting as a standby')
        expect([...(await mayTag())]).toEqual([{ may: true }])

        const late = await during('a start of the former version', () => start(present, freePort()))
        await stop(late)
        expect([...(await mayTag())]).toEqual([{ may: true }])

        await during('to the next version', handOver(first, upgraded, STEP.version))
        const back = await start(present, a)
        await during('back', handOver(upgraded, back, isPresent))
        const again = await start(next, b)
        await during('to the next version again', handOver(back, again, STEP.version))
        await load.stop()
        await stop(again)
      } finally {
        await load.stop()
        await proxy.stop()
      }

      const counts = await expectNoLies(sql, load)
      const [bookings] = await sql`select count(*)::int as count from booking`
      console.log(`${bookings?.['count']} bookings; ${counts}; answers ${answersText(load)}`)
      console.log(`no booking for at most, ms: ${JSON.stringify(pauses)}`)
      expect([...load.answers.keys()].filter((answer) => answer !== 201 && answer !== 409)).toEqual([])
      expect([...load.outcomes.values()].filter((outcome) => outcome === 'open')).toEqual([])
      const verification = await verifyDatabase(sql)
      expect(verification.differences).toEqual([])
      expect(bookings?.['count']).toBeGreaterThan(1_000_000)
    },
    MS_MAX,
  )
})
