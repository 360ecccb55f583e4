import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCliProcess } from '../support/cli-process.ts'
import { describeWithEtcd, EtcdServers } from '../support/etcd.ts'
import { eventually } from '../support/eventually.ts'
import { expectReady } from '../support/expect-ready.ts'
import { type NodeProcess, NodeProcesses, settled } from '../support/node-processes.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { startServiceOn, TEST_SECRET_KEY } from '../support/service-process.ts'
import { TestAuthority } from '../support/test-authority.ts'

/* What is meant for one process, run on a cluster. */

const NEW_KEY = 'ee'.repeat(32)

describeWithEtcd('an etcd that asks for client certificates', () => {
  test('is used by a node with CLUSTER_ETCD_CA, CLUSTER_ETCD_CERT and CLUSTER_ETCD_KEY', async () => {
    const authority = await TestAuthority.create()
    const certificate = await authority.issue({ addresses: ['127.0.0.1'] })
    const etcd = await EtcdServers.start(1, { certificate, clientAuthority: authority.pem })
    const database = await testDatabase()
    const nodes = new NodeProcesses(database.url, etcd)
    const folder = mkdtempSync(join(tmpdir(), 'nightledger-certificates-'))
    try {
      const { cert, key } = await authority.issue({ names: ['host1'] })
      const file = (name: string, text: string) => {
        writeFileSync(join(folder, name), text)
        return join(folder, name)
      }
      const node = await nodes.start('a', {
        CLUSTER_ETCD_CA: file('ca.pem', authority.pem),
        CLUSTER_ETCD_CERT: file('cert.pem', cert),
        CLUSTER_ETCD_KEY: file('key.pem', key),
      })
      await settled(node, 1)
    } finally {
      await nodes.stop()
      await database.drop()
      await etcd.stop()
      rmSync(folder, { recursive: true, force: true })
    }
  })
})

describeWithEtcd('while a node serves', () => {
  let etcd: EtcdServers
  let database: TestDatabase
  let nodes: NodeProcesses
  let node: NodeProcess

  beforeAll(async () => {
    etcd = await EtcdServers.start()
    database = await testDatabase()
    nodes = new NodeProcesses(database.url, etcd)
    node = await nodes.start('a')
    await settled(node, 1)
  })
  afterAll(async () => {
    await nodes.stop()
    await database.drop()
    await etcd.stop()
  })

  const rotate = (...args: string[]) =>
    runCliProcess(['rotate-secret-key', ...args], {
      env: { DATABASE_URL: database.url, SECRET_KEY_OLD: TEST_SECRET_KEY, SECRET_KEY: NEW_KEY },
    })
  const epochs = async () => (await database.sql`select epoch from shard order by shard`).map(({ epoch }) => epoch)

  test.each([[[]], [['--old-key-lost']]])(
    'its SECRET_KEY is not changed: rotate-secret-key %p names it',
    async (args) => {
      const before = await epochs()
      const { code, stderr } = await rotate(...args)
      expect([code, stderr]).toEqual([1, expect.stringMatching(/the nodes a of a cluster serve.*Nothing was changed/)])
      expect(await epochs()).toEqual(before)
    },
  )

  test('a single process does not take over from it: it says why, and the node serves on', async () => {
    const before = await epochs()
    await expect(startServiceOn(database.url, {}, { takesOver: true })).rejects.toThrow(
      /ended with 1.*Cannot take over: the nodes a of a cluster serve/s,
    )
    expect(await epochs()).toEqual(before)
    await expectReady(node)
  })

  test('one that hung while the key was changed ends when it continues, and starts with the new key', async () => {
    node.kill('SIGSTOP')
    await eventually('it is silent', async () => (await rotate()).code === 0)
    node.kill('SIGCONT')
    expect(await node.exited).toBe(1)
    expect(node.log()).toContain('SECRET_KEY does not match this database')
    node = await nodes.start('a', { SECRET_KEY: NEW_KEY })
    await settled(node, 1)
  })
})
