/** The alerts of a cluster, provoked in two real nodes, with a real Prometheus and Alertmanager. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { describeWithEtcd, EtcdServers } from '../support/etcd.ts'
import { eventually } from '../support/eventually.ts'
import { FaultPostgres } from '../support/fault-postgres.ts'
import { freePort } from '../support/free-port.ts'
import { holding } from '../support/held-lock.ts'
import { MISSING_MONITORING, Monitoring } from '../support/monitoring.ts'
import { type NodeProcess, NodeProcesses, settled } from '../support/node-processes.ts'
import { AMPLE_PLAN } from '../support/samples.ts'
import { makeAgencyByPortal } from '../support/service-process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const NEEDS = `(Debian: prometheus, prometheus-alertmanager, etcd-server${MISSING_MONITORING.length === 0 ? '' : `; skipped: ${MISSING_MONITORING.join(', ')} not found`})`

describeWithEtcd(`the alerts of a cluster ${NEEDS}`, () => {
  if (MISSING_MONITORING.length > 0) return
  const folder = temporaryFolder('monitoring-cluster')
  const ports = { a: freePort(), b: freePort() }
  let postgres: FaultPostgres
  let etcd: EtcdServers
  let nodes: NodeProcesses
  let a: NodeProcess
  let b: NodeProcess
  let monitoring: Monitoring
  let key: string

  const start = (id: 'a' | 'b', env: Record<string, string> = {}) =>
    nodes.start(id, { PORT: String(ports[id]), NODE_URL: `http://127.0.0.1:${ports[id]}`, ...env })

  beforeAll(async () => {
    postgres = await FaultPostgres.start()
    etcd = await EtcdServers.start()
    nodes = new NodeProcesses(postgres.url, etcd)
    a = await start('a')
    b = await start('b')
    await settled(a, 2)
    key = await makeAgencyByPortal(a, { scopes: ['read:units'], plan: AMPLE_PLAN })
    monitoring = await Monitoring.start(folder, { nightledger: [ports.a, ports.b] })
  }, 300_000)

  afterAll(async () => {
    await monitoring?.stop()
    await nodes?.stop()
    await etcd?.stop()
    await postgres?.stop()
  })

  test('every query of the dashboard about a cluster returns data', async () => {
    const { panels } = JSON.parse(readFileSync('deploy/grafana/nightledger.json', 'utf8')) as {
      panels: { targets?: { expr: string }[] }[]
    }
    const queries = panels
      .flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
      .filter((expr) => expr.includes('nightledger_cluster_'))
      .map((expr) => expr.replaceAll('$__rate_interval', '20s').replaceAll('$instance', '.+'))
    for (const expr of queries)
      await eventually(`${expr} returns data`, async () =>
        (await monitoring.query(expr)).some(({ value }) => Number.isFinite(value)),
      )
    const roles = await monitoring.query('nightledger_role == 1')
    expect(roles.map(({ metric }) => metric['role'])).toEqual(['node', 'node'])
  }, 60_000)

  test('a node that is killed is missed, until it is started again', async () => {
    b.kill('SIGKILL')
    await b.exited
    await monitoring.untilActive(['NodeMissing'])
    b = await start('b')
    await settled(a, 2)
    await monitoring.untilResolved(['NodeMissing'])
  }, 400_000)

  test('a node with another CLUSTER_SECRET is refused, until it has the same', async () => {
    b.kill('SIGKILL')
    await b.exited
    b = await start('b', { CLUSTER_SECRET: 'another-secret-for-tests-0123456789abcdef' })
    await settled(a, 2)
    // One of them is not the owner of the agency's shard.
    await monitoring.untilActive(['ForwardsRefused'], async () => {
      await Promise.all([a, b].map((node) => node.ask('/partner/v1/units', { token: key })))
      await Bun.sleep(100)
    })
    b.kill('SIGKILL')
    await b.exited
    b = await start('b')
    await settled(a, 2)
    await monitoring.untilResolved(['ForwardsRefused'])
  }, 400_000)

  test('shards that cannot move, because a session holds a lock, until it ends', async () => {
    const names = ['ShardsUnserved', 'RequestsUnanswered']
    const sql = postgres.direct()
    const [shard] = await sql<{ holder: string }[]>`select holder from shard join agency on shard = shard_of(agency_id)`
    await sql.end()
    const isOfB = shard?.holder.endsWith(` ${b.pid}`)
    const [owner, other] = isOfB ? [b, a] : [a, b]
    const release = await holding(postgres.url, 'lock table shard in exclusive mode')
    owner.kill('SIGKILL')
    await owner.exited
    await monitoring.untilActive(names, () => other.ask('/partner/v1/units', { token: key }))
    await release()
    await settled(other, 1)
    if (isOfB) b = await start('b')
    else a = await start('a')
    await settled(a, 2)
    await monitoring.untilResolved(names)
  }, 400_000)

  test('a writer outside the cluster takes all shards again and again, until it is stopped', async () => {
    const sql = postgres.direct()
    await monitoring.untilActive(['ShardsFenced'], async () => {
      await sql`with taken as (update shard set epoch = epoch + 1) delete from writer`
      await Bun.sleep(1_000)
    })
    await sql.end()
    await settled(a, 2)
    await monitoring.untilResolved(['ShardsFenced'])
  }, 400_000)

  test('etcd is stopped, and then PostgreSQL too, until they are started again', async () => {
    etcd.signal(0, 'SIGKILL')
    await monitoring.untilActive(['EtcdAway'])
    await postgres.shutDown()
    await monitoring.untilActive(['NodeUnconfirmed', 'NotReady'])
    await postgres.restart()
    await etcd.startMember(0)
    await etcd.ready()
    await settled(a, 2)
    await monitoring.untilResolved(['EtcdAway', 'NodeUnconfirmed', 'NotReady'])
  }, 600_000)
})
