import { describe, expect, test } from 'bun:test'
import { eventually } from '../../support/eventually.ts'
import { openMemoryMcp, rpc, toolCall } from '../../support/memory-mcp.ts'
import { AGENCY, sampleId } from '../../support/samples.ts'

const OTHER = { ...AGENCY, id: sampleId('agc', 'b'), slug: 'hillside', currency: 'USD' }
const MODERN = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'list_bookings' }
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}

/*
 * A server of the SDK that two callers shared gave one the answer of the other (GHSA-345p-7cg4-v4c7): both had used the same JSON-RPC
 * id, which every client counts from 0 or 1.
 */
describe('two agencies that use the same id at the same time get each their own answer', () => {
  const list = toolCall('list_bookings')
  const modernList = rpc('tools/call', { name: 'list_bookings', arguments: {}, _meta: META })

  test.each([
    ['a handshake revision', 'first', list, {}],
    ['a handshake revision', 'second', list, {}],
    ['revision 2026-07-28', 'first', modernList, MODERN],
    ['revision 2026-07-28', 'second', modernList, MODERN],
  ] as const)('in %s, when the %s is answered first', async (_, quick, message, headers) => {
    const pauses = { [AGENCY.id]: Promise.withResolvers<void>(), [OTHER.id]: Promise.withResolvers<void>() }
    let waiting = 0
    const { ask, key, memory } = await openMemoryMcp({
      listBookings: async (agencyId) => {
        waiting += 1
        await pauses[agencyId]?.promise
        return { rows: [], total: agencyId === AGENCY.id ? 1 : 2 }
      },
    })
    memory.catalogue.putAgency(OTHER)
    const answers: { agency: string; body: unknown }[] = []
    void ask(key(undefined, AGENCY.id), message, headers).then(({ body }) => answers.push({ agency: 'first', body }))
    void ask(key(undefined, OTHER.id), message, headers).then(({ body }) => answers.push({ agency: 'second', body }))
    await eventually('both wait', () => waiting === 2, 5_000)
    pauses[quick === 'first' ? AGENCY.id : OTHER.id]?.resolve()
    // One that gets no answer at all shows below.
    await eventually('one is answered', () => answers.length > 0, 5_000).catch(() => {})
    pauses[quick === 'first' ? OTHER.id : AGENCY.id]?.resolve()
    await eventually('both are answered', () => answers.length === 2, 5_000).catch(() => {})
    const own = {
      first: { agency: 'first', body: { id: 1, result: { structuredContent: { currency: 'EUR', totalItems: 1 } } } },
      second: { agency: 'second', body: { id: 1, result: { structuredContent: { currency: 'USD', totalItems: 2 } } } },
    }
    expect(answers).toMatchObject(quick === 'first' ? [own.first, own.second] : [own.second, own.first])
  })
})

describe('a request that the SDK might stumble over', () => {
  test.each<[string, unknown]>([
    ['_meta that is not an object', { _meta: 7 }],
    ['a progress token that is none', { _meta: { progressToken: {} } }],
    ['inputResponses that are none', { inputResponses: 7 }],
    ['inputResponses that are null', { inputResponses: null }],
    ['requestState that is none', { requestState: {} }],
    ['a task that is none', { task: 7 }],
    ['__proto__', JSON.parse('{"__proto__":{"name":"list_units"}}')],
  ])('with %s is answered, and is not a failure of the service', async (_, params) => {
    const { ask, key, failures } = await openMemoryMcp()
    for (const method of ['tools/call', 'tools/list', 'ping', 'initialize', 'unheard']) {
      const { body } = await ask(key(), rpc(method, { name: 'list_units', ...(params as object) }))
      expect([body.id, body.error?.code === -32603]).toEqual([1, false])
      const modern = await ask(key(), rpc(method, { name: 'list_units', ...(params as object), _meta: META }), {
        ...MODERN,
        'mcp-method': method,
        'mcp-name': 'list_units',
      })
      expect([modern.body.id, modern.body.error?.code === -32603]).toEqual([1, false])
    }
    expect(failures).toEqual([])
  })

  test('for a page that is not text is -32602', async () => {
    const { ask, key } = await openMemoryMcp()
    expect((await ask(key(), rpc('tools/list', { cursor: 7 }))).body.error.code).toBe(-32602)
  })
})
