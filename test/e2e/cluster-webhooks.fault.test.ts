import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { ClusterStatus } from '../../src/cluster/cluster-status.ts'
import { describeWithEtcd, EtcdServers } from '../support/etcd.ts'
import { eventually } from '../support/eventually.ts'
import { type NodeProcess, NodeProcesses, settled } from '../support/node-processes.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { AMPLE_PLAN } from '../support/samples.ts'
import { makeAgencyByPortal, TEST_PORTAL_TOKEN } from '../support/service-process.ts'

/* Each node sends the webhooks of its shards, and a shard that moves takes its webhooks along. */

const AGENCIES = 6
const received = new Map<string, number>()
const receiver = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: async (request) => {
    const { data } = (await request.json()) as { data: { id?: string; bookingId?: string } }
    const id = data.id ?? data.bookingId ?? ''
    received.set(id, (received.get(id) ?? 0) + 1)
    return new Response()
  },
})

describeWithEtcd('webhooks of two nodes', () => {
  let etcd: EtcdServers
  let database: TestDatabase
  let processes: NodeProcesses
  let nodes: NodeProcess[]
  const keys: string[] = []
  const booked: string[] = []

  const start = (id: string) => processes.start(id, { WEBHOOK_ALLOW_HOSTS: `127.0.0.1:${receiver.port}` })
  const book = async (node: NodeProcess, night: number) => {
    for (const token of keys) {
      const day = (offset: number) => new Date(Date.UTC(2028, 0, 1 + night + offset)).toISOString().slice(0, 10)
      const json = { unit: 'sea-view', arrival: day(0), departure: day(1), adults: 2 }
      const { status, body } = await node.ask('/partner/v1/bookings', { token, json })
      expect(status).toBe(201)
      booked.push((body as { booking: { id: string } }).booking.id)
    }
  }
  const allReceived = () => eventually('every booking is announced', () => booked.every((id) => received.has(id)))

  beforeAll(async () => {
    etcd = await EtcdServers.start()
    database = await testDatabase()
    processes = new NodeProcesses(database.url, etcd)
    nodes = [await start('a'), await start('b')]
    await settled(nodes[0] as NodeProcess, 2)
    for (let i = 0; i < AGENCIES; i++) {
      const [node] = nodes
      if (node === undefined) throw new Error('no node')
      const slug = `agency-${i}`
      keys.push(await makeAgencyByPortal(node, { slug, scopes: ['write:bookings'], plan: AMPLE_PLAN }))
      const url = `http://127.0.0.1:${receiver.port}/hook`
      expect((await node.portal(`/agencies/${slug}/webhook-endpoints`, { url })).status).toBe(201)
    }
  })
  afterAll(async () => {
    await processes.stop()
    await database.drop()
    await etcd.stop()
    await receiver.stop(true)
  })

  test('a node takes shards once its sender has begun, which is a second of a processor, or five have passed', async () => {
    for (const { log } of nodes) {
      await eventually('its sender is up', () => log().includes('webhook sender up'))
      const at = (line: string) => {
        const found = log()
          .split('\n')
          .find((each) => each.includes(line))
        return Date.parse(JSON.parse(found ?? '{}').time)
      }
      const [starting, up, joined, acquired] = [
        '"starting"',
        'webhook sender up',
        'joined the cluster',
        'shards acquired',
      ].map(at)
      expect(acquired).toBeGreaterThanOrEqual(joined ?? Number.NaN)
      expect(joined).toBeGreaterThanOrEqual(Math.min(up ?? Number.NaN, (starting ?? Number.NaN) + 4_000))
    }
  })

  test('every booking is announced, whichever node decides it', async () => {
    for (const [i, node] of nodes.entries()) await book(node, i)
    await allReceived()
  })

  test('and when a node is stopped, killed, or comes back', async () => {
    const [a, b] = nodes
    if (a === undefined || b === undefined) throw new Error('no nodes')
    b.kill('SIGTERM')
    await b.exited
    await book(a, 10)
    await allReceived()
    const again = await start('b')
    nodes = [a, again]
    await settled(a, 2)
    await book(again, 20)
    again.kill('SIGKILL')
    await again.exited
    await eventually('the other node has everything', async () => {
      const { body } = await a.ask('/cluster', { token: TEST_PORTAL_TOKEN })
      return (body as ClusterStatus).nodes.find(({ id }) => id === 'a')?.serving === 256
    })
    await book(a, 30)
    await allReceived()
    // Planned hand-overs send nothing twice that was not in flight; a node that is killed may.
    expect([...received.values()].filter((times) => times > 2)).toEqual([])
  }, 120_000)
})
