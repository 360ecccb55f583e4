import { afterAll, expect, test } from 'bun:test'
import { cliOn } from '../support/cli-terminal.ts'

/* What `cluster` says of an answer. What a node answers is in test/e2e/cluster.fault.test.ts. */

let answer: Response
const server = Bun.serve({ port: 0, fetch: () => answer })
afterAll(() => server.stop(true))
const cli = cliOn({ url: `http://127.0.0.1:${server.port}` })

function refusal(title: string): Response {
  return Response.json({ code: 'NOT_FOUND', title, requestId: 'req_1' }, { status: 404 })
}

test.each([[['status']], [['drain', 'host2']]])('%p of a service that is no node says what is wrong', async (args) => {
  answer = refusal('No such route')
  const { code, stderr } = await cli('cluster', ...args)
  expect([code, stderr]).toEqual([3, expect.stringMatching(/not a node .* or it has an ADMIN_PORT.*NIGHTLEDGER_URL/)])
})

test('a node that is not there is another matter', async () => {
  answer = refusal('No node with this NODE_ID is in the cluster: GET /cluster lists its nodes')
  const { code, stderr } = await cli('cluster', 'drain', 'nobody')
  expect([code, stderr]).toEqual([3, expect.stringContaining('No node with this NODE_ID')])
})

test('status shows the nodes, the shards that nobody serves, and that etcd is away', async () => {
  const node = { id: 'host1', url: 'http://host1:3000', version: '1.0.0', startedAt: '2026-11-22T09:12:31.840Z' }
  answer = Response.json({
    node: 'host1',
    nodes: [{ ...node, state: 'up', serving: 254, wanted: 256 }],
    shards: { total: 256, served: 254, claimed: 2, withoutOwner: 0, notServed: [7, 9] },
    etcd: { isReachable: false, leaseMs: 0, isFailsafe: true },
  })
  expect(await cli('cluster', 'status')).toMatchObject({
    code: 0,
    stdout: [
      'NODE   STATE  SHARDS  WANTED  URL                VERSION  STARTED',
      'host1  up     254     256     http://host1:3000  1.0.0    2026-11-22T09:12:31.840Z',
      '254 of 256 shards are served.',
      'Not served: 7, 9',
      'etcd does not answer node host1, so this may be out of date; PostgreSQL confirms what the node serves.',
      '',
    ].join('\n'),
  })
})
