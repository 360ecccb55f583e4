import { afterEach, beforeEach, expect, test } from 'bun:test'
import { connect, type Sql } from '../../src/postgres/client/connect.ts'
import { eventually } from '../support/eventually.ts'
import { answersText, expectNoLies, FailoverLoad } from '../support/failover-load.ts'
import { freePort } from '../support/free-port.ts'
import { startHaproxy } from '../support/haproxy.ts'
import { prepareForLoad } from '../support/load.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { credentialsFor, type StartingService, startListening } from '../support/service-process.ts'

/* Two processes on one database behind HAProxy, with the file that operators use (deploy/haproxy/haproxy.cfg). */

const CLIENTS = 64
const RESTARTS = 6

let database: TestDatabase
let sql: Sql
let proxy: Awaited<ReturnType<typeof startHaproxy>> | null = null
let load: FailoverLoad | null = null
const started = new Set<StartingService>()

beforeEach(async () => {
  database = await testDatabase()
  sql = connect(database.url, { purpose: 'admin' })
  await prepareForLoad(database.url)
})
afterEach(async () => {
  for (const service of started) service.kill('SIGKILL')
  await load?.stop()
  await proxy?.stop()
  await sql.end({ timeout: 1 })
  await database.drop()
})

/** @param until what it logs when it is as far as it gets */
async function start(port: number, until: string): Promise<StartingService> {
  const service = await startListening({ ...credentialsFor(database.url), PORT: String(port) })
  started.add(service)
  await eventually(until, () => service.log().includes(until))
  return service
}

test.skipIf(Bun.which('haproxy') === null)(
  'through HAProxy, a rolling restart fails no request: all are answered, as made or because the night was taken',
  async () => {
    const listen = freePort()
    const nodes = [freePort(), freePort()] as const
    let writer = await start(nodes[0], '"listening"')
    let standby = await start(nodes[1], 'waiting as a standby')
    proxy = await startHaproxy({ listen, nodes })
    load = new FailoverLoad(() => `http://127.0.0.1:${listen}`)
    load.start(CLIENTS)
    const gaps: number[] = []
    for (let restart = 0; restart < RESTARTS; restart++) {
      await load.more(300)
      load.watchGap()
      writer.kill('SIGTERM')
      expect(await writer.exited).toBe(0)
      started.delete(writer)
      await load.more(300)
      gaps.push(load.gapMs)
      writer = standby
      standby = await start(nodes[restart % 2] ?? 0, 'waiting as a standby')
    }
    await load.stop()
    const counts = await expectNoLies(sql, load)
    console.log(
      `through HAProxy: no booking for ${gaps.map((ms) => ms.toFixed(0)).join(', ')} ms; ${counts}; answers ${answersText(load)}`,
    )
    expect([...load.answers.keys()].filter((answer) => answer !== 201 && answer !== 409)).toEqual([])
    expect([...load.outcomes.values()].filter((outcome) => outcome === 'open')).toEqual([])
  },
)
