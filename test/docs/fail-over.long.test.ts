import { afterEach, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { eventually } from '../support/eventually.ts'
import { expectNoLies, FailoverLoad } from '../support/failover-load.ts'
import { prepareForLoad } from '../support/load.ts'
import { ReplicatedPostgres } from '../support/replicated-postgres.ts'
import { type ServiceProcess, startServiceOn } from '../support/service-process.ts'
import { sectionOf, shellBlocksOf } from '../support/shell-blocks.ts'

const BLOCKS = shellBlocksOf(sectionOf(readFileSync('docs/operating.md', 'utf8'), 'Standbys and fail-over'))

let pair: ReplicatedPostgres
let service: ServiceProcess | null = null
let load: FailoverLoad | null = null
afterEach(async () => {
  await load?.stop()
  service?.kill('SIGKILL')
  await pair.stop()
})

test('operating.md: a standby is made, commits wait for it, and a switch-over loses nothing', async () => {
  pair = await ReplicatedPostgres.start({ hasStandby: false })
  await prepareForLoad(pair.urlOf(pair.primary))
  service = await startServiceOn(pair.url)
  const { baseUrl } = service
  load = new FailoverLoad(() => baseUrl)
  load.start(8)
  await load.more(20)

  const [copy, wait, switchOver, rejoin] = BLOCKS.map(({ script }) => script)
  const [first, second] = pair.nodes
  const env = {
    PRIMARY_HOST: '127.0.0.1',
    PRIMARY_PORT: String(first.port),
    USER_OF_REPLICATION: 'nightledger',
    PRIMARY_DATA: first.folder,
    STANDBY_DATA: second.folder,
    STANDBY_PORT: String(second.port),
    PRIMARY_URL: pair.urlOf(first),
  }
  await pair.shell(copy ?? '', env)
  // pg_ctl returns a moment before the standby has connected.
  await eventually('the standby streams', async () => {
    const streaming = await pair.ask(first, (sql) => sql`select from pg_stat_replication where state = 'streaming'`)
    return streaming.length === 1
  })
  expect(await pair.shell(wait ?? '', env)).toContain('db2')
  await load.more(20)
  expect(await pair.shell('psql -Atd "$PRIMARY_URL" -c "select sync_state from pg_stat_replication"', env)).toBe(
    'sync\n',
  )

  load.watchGap()
  await pair.shell(switchOver ?? '', env)
  await load.more(50)
  console.log(`switched over: no booking for ${load.gapMs.toFixed(0)} ms`)
  const swapped = { PRIMARY_PORT: String(second.port), FORMER_DATA: first.folder, STANDBY_PORT: String(first.port) }
  await pair.shell(rejoin ?? '', { ...env, ...swapped })
  ;[pair.primary, pair.standby] = [second, first]
  await pair.waitForStandby(true)
  await load.more(20)
  await load.stop()
  const sql = pair.direct()
  await expectNoLies(sql, load)
  await sql.end({ timeout: 0 })
})
