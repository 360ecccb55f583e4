import { afterAll, beforeAll, expect, test } from 'bun:test'
import { describeWithEtcd, EtcdServers } from '../support/etcd.ts'
import { eventually } from '../support/eventually.ts'
import { type NodeProcess, NodeProcesses, settled, statusOf } from '../support/node-processes.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { makeAgencyByPortal } from '../support/service-process.ts'
import { TcpProxy } from '../support/tcp-proxy.ts'

const AGENCIES = 8

describeWithEtcd('a node that loses PostgreSQL, and etcd not', () => {
  let etcd: EtcdServers
  let database: TestDatabase
  let proxy: TcpProxy
  let near: NodeProcesses
  let far: NodeProcesses
  let a: NodeProcess
  let b: NodeProcess

  const served = async () => {
    const { nodes } = await statusOf(a)
    return Object.fromEntries(nodes.map(({ id, serving, state }) => [id, { serving, state }]))
  }

  beforeAll(async () => {
    etcd = await EtcdServers.start()
    database = await testDatabase()
    const url = new URL(database.url)
    proxy = await TcpProxy.start(Number(url.port))
    url.port = String(proxy.port)
    near = new NodeProcesses(database.url, etcd)
    far = new NodeProcesses(url.href, etcd)
    a = await near.start('a')
    b = await far.start('b')
  })
  afterAll(async () => {
    await Promise.all([near.stop(), far.stop()])
    proxy.stop()
    await database.drop()
    await etcd.stop()
  })

  test('leaves its agencies to the other one, which books for them, and gets them back', async () => {
    await settled(a, 2)
    const keys: string[] = []
    for (let i = 0; i < AGENCIES; i++)
      keys.push(await makeAgencyByPortal(a, { slug: `agency-${i}`, scopes: ['write:bookings'] }))
    const book = async (night: number) => {
      const statuses: number[] = []
      for (const token of keys) {
        const json = { unit: 'sea-view', arrival: `2028-03-0${night}`, departure: `2028-03-0${night + 1}`, adults: 2 }
        statuses.push((await a.ask('/partner/v1/bookings', { token, json })).status)
      }
      return statuses
    }
    expect(new Set(await book(1))).toEqual(new Set([201]))

    proxy.cutOff()
    await eventually('the other one has everything', async () => (await served())['a']?.serving === 256)
    expect((await served())['b']).toEqual({ serving: 0, state: 'no_database' })
    expect(new Set(await book(2))).toEqual(new Set([201]))
    expect(b.log()).toContain('shards given up: PostgreSQL answers other nodes but not this one')

    proxy.reconnect()
    await eventually('it is up again', async () => (await served())['b']?.state === 'up')
    await settled(a, 2)
    expect((await served())['b']?.serving).toBeGreaterThan(50)
    expect(new Set(await book(3))).toEqual(new Set([201]))
    expect(b.log()).toContain('PostgreSQL answers this node again')
  }, 120_000)
})
