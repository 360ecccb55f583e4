import { expect, test } from 'bun:test'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { sharedTestService } from '../../support/test-service.ts'

/*
 * The MCP project's client of the revisions after the handshake. Left to itself it begins with server/discover.
 */

const service = await sharedTestService()
const agency = await service.agency()
await service.unit(agency, { slug: 'sea-view' })
const secret = (await service.key(agency)).secret

test.each([
  ['auto', '2026-07-28'],
  [{ pin: '2026-07-28' }, '2026-07-28'],
  ['legacy', '2025-11-25'],
] as const)('as %j it agrees on %s, lists, calls, and is told what it did wrong', async (mode, version) => {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  const requestInit = { headers: { authorization: `Bearer ${secret}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`), { requestInit }))
  expect(client.getNegotiatedProtocolVersion()).toBe(version)

  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toEqual([
    'list_units',
    'get_availability',
    'quote_stay',
    'list_bookings',
    'get_calendar',
    'search_stays',
  ])

  const dates = { from: '2027-03-01', to: '2027-03-03' }
  const open = await client.callTool({ name: 'get_availability', arguments: { unit: 'sea-view', ...dates } })
  expect(open.structuredContent).toMatchObject({ openRanges: [{ ...dates, nights: 2 }] })
  const mendable = await client.callTool({ name: 'get_availability', arguments: { unit: 'x', ...dates } })
  expect(mendable).toMatchObject({ isError: true })
  const refused = await client.callTool({ name: 'create_booking', arguments: {} }).then(
    () => null,
    (error: unknown) => error,
  )
  expect(refused).toMatchObject({ code: -32602 })
  await client.close()
})
