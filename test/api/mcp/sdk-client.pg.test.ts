import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { McpError } from '@modelcontextprotocol/sdk/types.js'
import type { Agency } from '../../../src/core/catalogue/agency.ts'
import type { Unit } from '../../../src/core/domain/unit.ts'
import { requestFor, sampleRules } from '../../support/samples.ts'
import { startTestService, type TestService } from '../../support/test-service.ts'

/*
 * The SDK's own client over real HTTP. It checks every result against the tool's output schema.
 */

let service: TestService
let agency: Agency
let unit: Unit
let secret: string
let client: Client

beforeAll(async () => {
  service = await startTestService()
  agency = await service.agency()
  unit = await service.unit(agency, { slug: 'sea-view', name: 'Sea View', rules: sampleRules({ minStay: 3 }) })
  await service.unit(agency, { slug: 'attic', name: 'Attic', status: 'draft' })
  await service.unit(agency, { slug: 'gone', name: 'Gone', status: 'archived' })
  await service.feeType(agency)
  await service.book(agency, unit, '2027-03-05', '2027-03-08')
  secret = (await service.key(agency)).secret
  client = await service.mcpClient(secret)
})

afterAll(() => service.close())

describe('the client', () => {
  test('connects, agrees on the newest revision, and learns what the server is for', () => {
    expect(client.getServerVersion()).toEqual({ name: 'nightledger', title: 'Nightledger', version: '1.0.0' })
    expect(client.getServerCapabilities()).toEqual({ tools: {} })
    expect(client.getInstructions()).toContain('half-open')
  })

  test('pings', async () => {
    expect(await client.ping()).toEqual({})
  })

  test('lists all tools in fixed order', async () => {
    const { tools, nextCursor } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual([
      'list_units',
      'get_availability',
      'quote_stay',
      'list_bookings',
      'get_calendar',
      'search_stays',
    ])
    expect(nextCursor).toBeUndefined()
  })

  test('lists only what its key may call', async () => {
    const { secret } = await service.key(agency, { scopes: ['read:rates', 'read:guests'] })
    const { tools } = await (await service.mcpClient(secret)).listTools()
    expect(tools.map(({ name }) => name)).toEqual(['quote_stay', 'search_stays'])
  })
})

describe('each tool says what REST says', () => {
  const rest = async (path: string, body?: unknown) => {
    const response = await fetch(`${service.url}/partner/v1${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return await response.json()
  }
  // biome-ignore lint/suspicious/noExplicitAny: each tool has a shape of its own
  const ask = async (name: string, args: Record<string, unknown> = {}): Promise<any> => {
    const { structuredContent, isError } = await client.callTool({ name, arguments: args })
    expect(isError).toBeUndefined()
    return structuredContent
  }

  test('list_units', async () => {
    const { units, currency, timezone, ...page } = await ask('list_units')
    expect({ units }).toEqual((await rest('/units')) as { units: unknown })
    expect(units.map(({ slug }: { slug: string }) => slug)).toEqual(['attic', 'sea-view'])
    expect({ currency, timezone }).toEqual({ currency: 'EUR', timezone: 'Europe/Lisbon' })
    expect(page).toEqual({ page: 1, pageSize: 25, totalItems: 2, pageCount: 1 })
  })

  test('list_units, a page at a time', async () => {
    expect((await ask('list_units', { page: 2, pageSize: 1 })).units.map(({ slug }: Unit) => slug)).toEqual([
      'sea-view',
    ])
    expect((await ask('list_units', { page: 3, pageSize: 1 })).units).toEqual([])
  })

  test('get_availability, and the gaps', async () => {
    const { openRanges, ...same } = await ask('get_availability', {
      unit: 'sea-view',
      from: '2027-03-01',
      to: '2027-03-15',
    })
    expect(same).toEqual(await rest('/availability?unit=sea-view&from=2027-03-01&to=2027-03-15'))
    expect(same.blockedNights).toEqual(['2027-03-05', '2027-03-06', '2027-03-07'])
    expect(openRanges).toEqual([
      { from: '2027-03-01', to: '2027-03-05', nights: 4 },
      { from: '2027-03-08', to: '2027-03-15', nights: 7 },
    ])
  })

  test.each([
    ['free', { arrival: '2027-03-08', departure: '2027-03-12' }],
    ['taken', { arrival: '2027-03-04', departure: '2027-03-07' }],
    ['with an extra bed', { arrival: '2027-03-08', departure: '2027-03-12', children: 1, extraBed: true, adults: 3 }],
  ])('quote_stay, %s', async (_, stay) => {
    const request = { unit: 'sea-view', ...stay }
    expect(await ask('quote_stay', request)).toEqual(await rest('/quote', request))
  })

  test('get_calendar, with prices and without', async () => {
    const range = { from: '2027-03-01', to: '2027-03-15' }
    const { pageSize, ...same } = await ask('get_calendar', range)
    const { pageSize: restPageSize, ...expected } = (await rest('/calendar?from=2027-03-01&to=2027-03-15')) as {
      pageSize: number
    }
    expect(same).toEqual(expected as object)
    expect([pageSize, restPageSize, same.units.length]).toEqual([25, 100, 2])
    const priced = await ask('get_calendar', { ...range, units: 'sea-view', prices: true, page: 1, pageSize: 100 })
    expect(priced).toEqual(await rest('/calendar?from=2027-03-01&to=2027-03-15&units=sea-view&prices=true'))
    expect(priced.units[0].blocked).toEqual([{ from: '2027-03-05', to: '2027-03-08' }])
    expect(priced.units[0].prices).toHaveLength(14)
  })

  test('search_stays, of given dates and over a window', async () => {
    const { pageSize, ...same } = await ask('search_stays', { arrival: '2027-03-08', departure: '2027-03-12' })
    const { pageSize: restPageSize, ...expected } = (await rest('/search?arrival=2027-03-08&departure=2027-03-12')) as {
      pageSize: number
    }
    expect(same).toEqual(expected as object)
    expect([pageSize, restPageSize, same.totalItems]).toEqual([25, 100, 2])
    const window = { from: '2027-03-01', to: '2027-03-15', nights: 3, each: 'stay', sort: '-total', pageSize: 100 }
    const party = { adults: 1, children: 1, city: 'LISBON', bedrooms: 1, maxTotal: 60_000 }
    const query = new URLSearchParams({ ...window, ...party, extraBed: 'true' } as object as Record<string, string>)
    const found = await ask('search_stays', { ...window, ...party, extraBed: true })
    expect(found).toEqual(await rest(`/search?${query}`))
    expect(found.totalItems).toBeGreaterThan(10)
  })

  test('list_bookings', async () => {
    const { currency, pageSize, ...same } = await ask('list_bookings', { unit: 'sea-view', status: 'confirmed' })
    const { pageSize: restPageSize, ...expected } = (await rest('/bookings?unit=sea-view&status=confirmed')) as {
      pageSize: number
    }
    expect(same).toEqual(expected as object)
    expect(same.bookings).toHaveLength(1)
    expect([pageSize, restPageSize, currency]).toEqual([25, 100, 'EUR'])
  })

  test('list_bookings, 25 by default, newest arrival first, filtered by dates', async () => {
    const other = await service.agency()
    const flat = await service.unit(other)
    for (let i = 0; i < 27; i++) {
      const day = (n: number) => new Date(Date.UTC(2028, 0, 1 + n)).toISOString().slice(0, 10)
      await service.ledger.commands.book(other, requestFor(flat, day(i), day(i + 1)), {
        actor: { kind: 'portal', id: null },
        route: 'test',
        requestId: null,
      })
    }
    const theirs = await service.mcpClient((await service.key(other)).secret)
    const list = async (args: Record<string, unknown>) =>
      // biome-ignore lint/suspicious/noExplicitAny: looked into
      (await theirs.callTool({ name: 'list_bookings', arguments: args })).structuredContent as any
    const first = await list({})
    expect(first.bookings).toHaveLength(25)
    expect(first.bookings[0].arrival).toBe('2028-01-27')
    expect([first.totalItems, first.pageCount]).toEqual([27, 2])
    expect((await list({ page: 2 })).bookings).toHaveLength(2)
    expect((await list({ from: '2028-01-10', to: '2028-01-12' })).bookings).toHaveLength(4)
    expect(await theirs.callTool({ name: 'list_bookings', arguments: { unit: 'sea-view' } })).toMatchObject({
      isError: true,
    })
  })
})

describe('an error reaches', () => {
  test.each<[string, Record<string, unknown>, string]>([
    [
      'quote_stay',
      { unit: 'sea-view', arrival: '2027-03-09', departure: '2027-03-10' },
      'Minimum stay for this arrival: 3 nights; try departure 2027-03-12.',
    ],
    [
      'quote_stay',
      { unit: 'gone', arrival: '2027-03-09', departure: '2027-03-12' },
      'No such unit: "gone". Use a slug from list_units.',
    ],
    [
      'get_availability',
      { unit: 'sea-view', from: '2027-03-32', to: '2027-04-01' },
      'from must be a valid date YYYY-MM-DD from 2000-01-01 to 2099-12-31.',
    ],
    [
      'get_availability',
      { unit: 'gone', from: '2027-03-01', to: '2027-03-02' },
      'No such unit: "gone". Use a slug from list_units.',
    ],
  ])('the agent as a result of %s that it can correct', async (name, args, sentence) => {
    const result = await client.callTool({ name, arguments: args })
    expect(result).toEqual({ content: [{ type: 'text', text: sentence }], isError: true })
  })

  test.each([
    ['of an unknown tool', -32602, () => client.callTool({ name: 'create_booking', arguments: {} })],
    [
      'of a tool outside of the scopes',
      -32602,
      async () => {
        const { secret } = await service.key(agency, { scopes: ['read:rates'] })
        return (await service.mcpClient(secret)).callTool({ name: 'list_units', arguments: {} })
      },
    ],
    ['of an unknown method', -32601, () => client.listPrompts()],
  ])('the program as an error: %s is %d', async (_, code, run) => {
    const error = await run().then(
      () => null,
      (thrown: unknown) => thrown,
    )
    expect(error).toBeInstanceOf(McpError)
    expect((error as McpError).code).toBe(code)
  })

  test('the program as HTTP: no key is 401, and a spent budget 429', async () => {
    const refused = await service.mcpClient('hr_live_wrong').then(
      () => null,
      (thrown: unknown) => String(thrown),
    )
    expect(refused).toContain('UNAUTHORIZED')

    const small = await service.agency({ plan: { apiAccess: true, requestsPerMinute: 4, requestsPerMonth: 100 } })
    // Connecting takes three: initialize, initialized, and a GET that is told 405.
    const theirs = await service.mcpClient((await service.key(small)).secret)
    while ((await service.ledger.usage.position(small.id, 100)).used < 3) await Bun.sleep(1)
    await theirs.ping()
    const spent = await theirs.ping().then(
      () => null,
      (thrown: unknown) => String(thrown),
    )
    expect(spent).toContain('RATE_LIMITED')
  })
})

test('an agency sees nothing of another', async () => {
  const other = await service.agency()
  const theirs = await service.mcpClient((await service.key(other)).secret)
  expect((await theirs.callTool({ name: 'list_units', arguments: {} })).structuredContent).toMatchObject({ units: [] })
  expect((await theirs.callTool({ name: 'list_bookings', arguments: {} })).structuredContent).toMatchObject({
    bookings: [],
  })
  for (const [name, dates] of [
    ['get_availability', { from: '2027-03-01', to: '2027-03-02' }],
    ['quote_stay', { arrival: '2027-03-01', departure: '2027-03-09' }],
  ] as const)
    expect(await theirs.callTool({ name, arguments: { unit: 'sea-view', ...dates } })).toMatchObject({ isError: true })
})

test('what is booked meanwhile is seen by the next call', async () => {
  const booking = await service.book(agency, unit, '2027-05-01', '2027-05-04')
  const { structuredContent } = await client.callTool({
    name: 'get_availability',
    arguments: { unit: 'sea-view', from: '2027-05-01', to: '2027-05-05' },
  })
  expect(structuredContent).toMatchObject({ openRanges: [{ from: '2027-05-04', to: '2027-05-05', nights: 1 }] })
  const listed = await client.callTool({ name: 'list_bookings', arguments: { from: '2027-05-01' } })
  expect(listed.structuredContent).toMatchObject({ bookings: [{ id: booking.id }] })
})
