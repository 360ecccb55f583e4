import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { cliOn } from '../support/cli-terminal.ts'
import { describeWithEtcd, EtcdServers } from '../support/etcd.ts'
import { eventually } from '../support/eventually.ts'
import { expectReady } from '../support/expect-ready.ts'
import { rounds } from '../support/long-run.ts'
import { NodeProcesses, settled, statusOf } from '../support/node-processes.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { AMPLE_PLAN } from '../support/samples.ts'
import { makeAgencyByPortal, startServiceOn } from '../support/service-process.ts'
import { workersOf } from '../support/service-workers.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/* Nodes as processes of their own, on one Postgres and one etcd. */

const folder = temporaryFolder('nodes')

describeWithEtcd('a cluster of processes', () => {
  let etcd: EtcdServers
  let database: TestDatabase
  let nodes: NodeProcesses

  beforeAll(async () => {
    etcd = await EtcdServers.start()
  })
  afterAll(() => etcd.stop())
  beforeEach(async () => {
    database = await testDatabase()
    nodes = new NodeProcesses(database.url, etcd)
  })
  afterEach(async () => {
    await nodes.stop()
    await database.drop()
  })

  test('three nodes share the shards; one that is stopped or killed is replaced; the command line shows it', async () => {
    const a = await nodes.start('a')
    const [b, c] = await Promise.all([nodes.start('b'), nodes.start('c')])
    const { nodes: seen } = await settled(a, 3)
    expect(seen.every(({ serving }) => serving > 50)).toBe(true)

    const cli = cliOn({ url: a.adminUrl })
    expect((await cli('cluster', 'drain', 'b')).code).toBe(0)
    await eventually('b owns nothing', async () =>
      (await statusOf(c)).nodes.some(({ id, state, serving }) => id === 'b' && state === 'drained' && serving === 0),
    )
    expect((await cli('cluster', 'drain', 'b', '--undo')).code).toBe(0)
    await settled(a, 3)
    expect((await cli('cluster', 'drain', 'nobody')).code).toBe(3)
    expect((await cli('cluster', 'status')).stdout).toContain('256 of 256 shards are served.')

    b.kill('SIGTERM')
    expect(await b.exited).toBe(0)
    expect(b.log()).not.toContain('not handed over')
    await settled(a, 2)
    c.kill('SIGKILL')
    await settled(a, 1)
    await expectReady(a)
    const metrics = await fetch(`${a.adminUrl}/metrics`).then((answer) => answer.text())
    expect(metrics).toContain('nightledger_cluster_shards{state="served"} 256')
    expect(metrics).toContain('nightledger_database_up 1\n')
  }, 180_000)

  test('each worker of a host is a node, which others reach at a port of its own', async () => {
    const dataDir = `${folder}/a`
    const [a, b] = [await nodes.start('a', { WORKERS: '2', DATA_DIR: dataDir }), await nodes.start('b')]
    const ownUrl = (worker: number) => `http://127.0.0.1:${Number(new URL(a.baseUrl).port) + worker}`
    const { nodes: seen } = await settled(b, 3)
    expect(seen.map(({ id }) => id)).toEqual(['a.1', 'a.2', 'b'])
    const owners = new Set<string | null>()
    // Shards are random: make agencies until two processes own some.
    for (let made = 0; made < 6 || (owners.size < 2 && made < 50); made++) {
      const key = await makeAgencyByPortal(b, { slug: `agency-${made}`, scopes: ['read:units'], plan: AMPLE_PLAN })
      for (const baseUrl of [a.baseUrl, b.baseUrl, ownUrl(1), ownUrl(2)]) {
        const headers = { authorization: `Bearer ${key}`, connection: 'close' }
        const answer = await fetch(`${baseUrl}/partner/v1/units`, { headers })
        expect(answer.status).toBe(200)
        owners.add(answer.headers.get('x-served-by'))
      }
    }
    expect(owners.size).toBeGreaterThan(1)
    const killed = workersOf(a.pid).get(1)
    if (killed === undefined) throw new Error('The first worker does not run')
    process.kill(killed, 'SIGKILL')
    await eventually('it was started again', () => ![undefined, killed].includes(workersOf(a.pid).get(1)))
    await settled(b, 3)
    if (rounds({ push: false, long: true })) {
      const hung = workersOf(a.pid).get(2)
      if (hung === undefined) throw new Error('The second worker does not run')
      process.kill(hung, 'SIGSTOP')
      await eventually('it was killed and started again', () => ![undefined, hung].includes(workersOf(a.pid).get(2)))
      await settled(b, 3)
    }
    a.kill('SIGTERM')
    expect(await a.exited).toBe(0)
    await settled(b, 1)
  }, 180_000)

  test('a node that is stopped takes requests until load balancers have seen twice that it is not ready', async () => {
    const a = await nodes.start('a')
    const b = await nodes.start('b')
    await settled(a, 2)
    b.kill('SIGTERM')
    const since = performance.now()
    const seen = new Set<number>()
    let goneMs = 0
    while (goneMs === 0) {
      const answer = await fetch(`${b.adminUrl}/readyz`).catch(() => null)
      if (answer === null) goneMs = performance.now() - since
      else seen.add(answer.status)
      await Bun.sleep(20)
    }
    expect(seen).toContain(503)
    // haproxy.cfg: every 500 ms.
    expect(goneMs).toBeGreaterThan(1_000)
    expect(await b.exited).toBe(0)
  }, 180_000)

  test('the last node decides what it gets until it ends: nothing waits for an owner that will not come', async () => {
    const a = await nodes.start('a')
    await settled(a, 1)
    const token = await makeAgencyByPortal(a, {
      slug: 'agency',
      scopes: ['read:units'],
      plan: AMPLE_PLAN,
    })
    const failed = new Set<string>()
    const client = async () => {
      for (;;) {
        const answer = await a.ask('/partner/v1/units', { token }).catch(() => null)
        if (answer === null) return
        if (answer.status !== 200) failed.add(`${answer.status} ${answer.body.title}`)
      }
    }
    const clients = [client(), client(), client(), client()]
    await Bun.sleep(200)
    a.kill('SIGTERM')
    expect(await a.exited).toBe(0)
    await Promise.all(clients)
    expect([...failed]).toEqual([])
    expect(a.log()).not.toContain('requests cut off')
  }, 180_000)

  test('a node waits for a single process, and a single process for the nodes', async () => {
    const single = await startServiceOn(database.url)
    const starting = nodes.start('a')
    await Bun.sleep(1_500)
    await expectReady(single)
    single.kill('SIGTERM')
    expect(await single.exited).toBe(0)
    const a = await starting
    await settled(a, 1)

    const again = startServiceOn(database.url)
    await Bun.sleep(1_500)
    expect((await statusOf(a)).shards.served).toBe(256)
    a.kill('SIGTERM')
    expect(await a.exited).toBe(0)
    const back = await again
    await expectReady(back)
    back.kill('SIGTERM')
    expect(await back.exited).toBe(0)
  }, 180_000)
})
