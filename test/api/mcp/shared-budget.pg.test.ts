import { expect, test } from 'bun:test'
import { rpc, toolCall } from '../../support/memory-mcp.ts'
import { sharedTestService } from '../../support/test-service.ts'

const service = await sharedTestService()

const BUDGET = 250

test('of 600 requests to REST and MCP at once exactly as many pass as the budget of the key has', async () => {
  const plan = { apiAccess: true, requestsPerMinute: BUDGET, requestsPerMonth: 100_000 }
  const agency = await service.agency({ plan })
  await service.unit(agency, { slug: 'sea-view' })
  const { secret } = await service.key(agency)
  const dates = { unit: 'sea-view', from: '2027-03-01', to: '2027-04-01' }

  const rest = () =>
    fetch(`${service.url}/partner/v1/availability?${new URLSearchParams(dates)}`, {
      headers: { authorization: `Bearer ${secret}` },
    })
  const kinds = [
    rest,
    () => service.mcp(secret, toolCall('get_availability', dates)),
    () => service.mcp(secret, rpc('tools/list')),
    () => service.mcp(secret, { jsonrpc: '2.0', method: 'notifications/initialized' }),
    () => service.mcp(secret, rpc('unheard')),
    () => service.mcp(secret, '{'),
  ]
  const statuses = await Promise.all(
    Array.from({ length: 600 }, async (_, i) => (await (kinds[i % kinds.length] ?? rest)()).status),
  )

  expect(statuses.filter((status) => status !== 429)).toHaveLength(BUDGET)
  expect(statuses.filter((status) => status === 429)).toHaveLength(600 - BUDGET)
  // A refused 429 costs no quota; every other request costs one.
  expect(service.ledger.usage.position(agency.id, 100_000).used).toBe(BUDGET)
  // The other key of the agency has a budget of its own.
  expect((await service.mcp((await service.key(agency)).secret, rpc('ping'))).status).toBe(200)
})

test('a monthly quota is shared too, and refused with the same body', async () => {
  const plan = { apiAccess: true, requestsPerMinute: 1_000, requestsPerMonth: 30 }
  const agency = await service.agency({ plan })
  const { secret } = await service.key(agency)
  const answers = await Promise.all(
    Array.from({ length: 60 }, async (_, i) => {
      if (i % 2 === 0) return (await service.mcp(secret, rpc('ping'))).body
      const response = await fetch(`${service.url}/partner/v1/me`, { headers: { authorization: `Bearer ${secret}` } })
      return await response.json()
    }),
  )
  const refused = answers.filter(({ code }) => code === 'QUOTA_EXCEEDED')
  expect(refused).toHaveLength(30)
  const reported = refused.map(({ requestId, ...rest }) => JSON.stringify(rest))
  expect(new Set(reported).size).toBe(1)
})
