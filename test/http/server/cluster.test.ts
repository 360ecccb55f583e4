import { describe, expect, test } from 'bun:test'
import { PortalAccess } from '../../../src/accounts/portal-access.ts'
import { clusterRoutes } from '../../../src/cluster/cluster-routes.ts'
import type { ClusterStatus } from '../../../src/cluster/cluster-status.ts'
import { EtcdError } from '../../../src/cluster/etcd/etcd.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { systemIds } from '../../../src/lib/ids.ts'
import { RequestStats } from '../../../src/observability/request-stats.ts'

const TOKEN = 'operator-token-0123456789abcdefghij'
const STATUS = { node: 'a', nodes: [] } as unknown as ClusterStatus

function made({ isEtcdAway = false, retryAfterS = null as number | null } = {}) {
  const drained: [string, boolean][] = []
  let wrongTokens = 0
  const app = clusterRoutes(
    {
      status: () => STATUS,
      drain: async (node, { isOn }) => {
        if (isEtcdAway) throw new EtcdError('away', false)
        drained.push([node, isOn])
        return node === 'a b'
      },
    },
    {
      requestStats: new RequestStats({ clock: systemClock, log: null }),
      newId: systemIds,
      access: new PortalAccess({
        operatorTokens: [TOKEN],
        catalogue: { accessTokens: { holderByHash: () => null }, member: () => null },
        clock: systemClock,
      }),
      throttled: () => {
        wrongTokens += 1
        return retryAfterS
      },
    },
  )
  const ask = (method: string, path: string, token = TOKEN) =>
    app.handle(new Request(`http://node${path}`, { method, headers: { Authorization: `Bearer ${token}` } }))
  return { ask, drained, wrongTokens: () => wrongTokens }
}

describe('the routes of a cluster', () => {
  test("are the operator's: another token gets 401, changes nothing and is counted", async () => {
    const { ask, drained, wrongTokens } = made()
    for (const [method, path] of [
      ['GET', '/cluster'],
      ['PUT', '/cluster/drains/a%20b'],
      ['DELETE', '/cluster/drains/a%20b'],
    ] as const)
      expect((await ask(method, path, 'x'.repeat(40))).status).toBe(401)
    expect([drained, wrongTokens()]).toEqual([[], 3])
  })

  test('answer 429 to an address that has guessed too often, but not to the operator', async () => {
    const { ask } = made({ retryAfterS: 7 })
    const refused = await ask('GET', '/cluster', 'x'.repeat(40))
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '7'])
    expect(await refused.json()).toMatchObject({ code: 'RATE_LIMITED' })
    expect((await ask('GET', '/cluster')).status).toBe(200)
  })

  test('show the status, and answer with it after a change', async () => {
    const { ask, drained } = made()
    for (const [method, path] of [
      ['GET', '/cluster'],
      ['PUT', '/cluster/drains/a%20b'],
      ['DELETE', '/cluster/drains/a%20b'],
    ] as const) {
      const answer = await ask(method, path)
      expect([answer.status, await answer.json()]).toEqual([200, STATUS])
    }
    expect(drained).toEqual([
      ['a b', true],
      ['a b', false],
    ])
  })

  test('know no node that is not there, and say so when etcd is away', async () => {
    for (const name of ['nobody', '%E0', '%00']) {
      const { ask, drained } = made()
      expect((await ask('PUT', `/cluster/drains/${name}`)).status).toBe(404)
      expect(drained).toEqual(name === 'nobody' ? [['nobody', true]] : [])
    }
    expect((await made({ isEtcdAway: true }).ask('PUT', '/cluster/drains/a')).status).toBe(500)
  })
})
