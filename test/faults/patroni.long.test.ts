import { afterEach, test } from 'bun:test'
import { connect } from '../../src/postgres/client/connect.ts'
import { migrate } from '../../src/postgres/schema/migrate.ts'
import { expectNoLies, FailoverLoad } from '../support/failover-load.ts'
import { expectNothingLost, Load, prepareForLoad } from '../support/load.ts'
import { PatroniCluster } from '../support/patroni.ts'
import { type ServiceProcess, startServiceOn } from '../support/service-process.ts'

/* The same as failover.fault.test.ts, where Patroni and etcd decide who is promoted. */

const CLIENTS = 64

let cluster: PatroniCluster
let service: ServiceProcess | null = null
let load: FailoverLoad
afterEach(async () => {
  await load.stop()
  service?.kill('SIGKILL')
  await cluster.stop()
})

test('through Patroni, a switch-over and a lost host lose nothing that was acknowledged', async () => {
  cluster = await PatroniCluster.start()
  const sql = connect(cluster.url, { purpose: 'admin' })
  await migrate(sql)
  await prepareForLoad(cluster.url)
  service = await startServiceOn(cluster.url, { REQUIRE_SYNCHRONOUS_STANDBY: 'true' })
  const { baseUrl } = service
  load = new FailoverLoad(() => baseUrl)
  load.start(CLIENTS)

  const gaps: string[] = []
  const switchOver = ['switch-over', () => cluster.switchOver()] as const
  const hostKilled = ['host killed', async () => cluster.killHost(await cluster.leader())] as const
  for (const [how, fail] of [switchOver, hostKilled, switchOver]) {
    await load.more(300)
    const before = await cluster.leader()
    load.watchGap()
    await fail()
    await load.more(100, 120_000)
    gaps.push(`${how} ${(load.gapMs / 1_000).toFixed(1)} s`)
    if (how === 'host killed') cluster.run(before)
    await cluster.untilSynchronous()
  }
  await load.stop()
  const counts = await expectNoLies(sql, load)
  await expectNothingLost(sql, new Load(() => baseUrl))
  await sql.end({ timeout: 1 })
  console.log(`Patroni: ${gaps.join(', ')}; ${counts}`)
}, 600_000)
