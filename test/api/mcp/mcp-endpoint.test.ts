import { describe, expect, test } from 'bun:test'
import { BATCH_MESSAGES_MAX } from '../../../src/api/mcp/mcp-endpoint.ts'
import { SCOPES } from '../../../src/core/catalogue/agency.ts'
import { AssertionError } from '../../../src/lib/assert.ts'
import { openMemoryMcp, rpc, toolCall } from '../../support/memory-mcp.ts'

const PING = rpc('ping')
const RATE_HEADERS = [
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'ratelimit',
  'ratelimit-policy',
]

describe('admission is that of REST', () => {
  test.each([
    ['without a key', null],
    ['with a key that does not exist', 'hr_live_unknown'],
  ])('%s: 401 with the body of the contract', async (_, secret) => {
    const { ask } = await openMemoryMcp()
    const answer = await ask(secret, PING)
    expect(answer.status).toBe(401)
    expect(answer.body).toEqual({ code: 'UNAUTHORIZED', title: expect.any(String), requestId: expect.any(String) })
    expect(answer.headers.get('www-authenticate')).toBe('Bearer')
    expect(answer.headers.get('x-ratelimit-limit')).toBeNull()
  })

  test('a plan without API access: 403 before anything is read', async () => {
    const { ask, key } = await openMemoryMcp({ plan: { apiAccess: false } })
    const answer = await ask(key(), '{')
    expect([answer.status, answer.body.code]).toEqual([403, 'FEATURE_DISABLED'])
  })

  test('the minute used up: 429 with Retry-After, as on REST', async () => {
    const { ask, key } = await openMemoryMcp({ plan: { requestsPerMinute: 2 } })
    const secret = key()
    await ask(secret, PING)
    await ask(secret, PING)
    const answer = await ask(secret, PING)
    expect([answer.status, answer.body.code]).toEqual([429, 'RATE_LIMITED'])
    expect(answer.headers.get('retry-after')).toBe('60')
    expect((await ask(key(), PING)).status).toBe(200)
  })

  test('the month used up: 429 with quota, used and resetsAt', async () => {
    const { ask, key } = await openMemoryMcp({ plan: { requestsPerMonth: 1 } })
    const secret = key()
    await ask(secret, PING)
    const answer = await ask(secret, PING)
    expect(answer.status).toBe(429)
    expect(answer.body).toMatchObject({
      code: 'QUOTA_EXCEEDED',
      quota: 1,
      used: 1,
      resetsAt: '2027-02-01T00:00:00.000Z',
    })
  })

  test('every answer to a key carries its budget, the request id and open CORS', async () => {
    const { ask, key } = await openMemoryMcp()
    const secret = key()
    const answers = [
      await ask(secret, PING, { 'x-request-id': 'mine-1' }),
      await ask(secret, '{', { 'x-request-id': 'mine-1' }),
      await ask(secret, { jsonrpc: '2.0', method: 'notifications/initialized' }, { 'x-request-id': 'mine-1' }),
      await ask(secret, null, { 'x-request-id': 'mine-1' }, 'GET'),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 400, 202, 405])
    for (const [i, { headers }] of answers.entries()) {
      for (const name of RATE_HEADERS) expect(headers.get(name)).not.toBeNull()
      expect(headers.get('x-ratelimit-remaining')).toBe(String(10_000 - 1 - i))
      expect(headers.get('x-request-id')).toBe('mine-1')
      expect(headers.get('access-control-allow-origin')).toBe('*')
      expect(headers.get('access-control-allow-credentials')).toBeNull()
    }
  })
})

describe('over HTTP', () => {
  test.each(['GET', 'DELETE', 'PUT', 'PATCH'])(
    '%s is 405 and says what is allowed, with a key and without',
    async (method) => {
      const { ask, key } = await openMemoryMcp()
      for (const secret of [key(), null]) {
        const answer = await ask(secret, null, { accept: 'text/event-stream' }, method)
        expect(answer.status).toBe(405)
        expect(answer.headers.get('allow')).toBe('POST, OPTIONS')
        expect(answer.body).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32600 } })
      }
    },
  )

  test('a preflight is 204 without a key, for every header that a client in a browser sends', async () => {
    const { ask } = await openMemoryMcp()
    const answer = await ask(null, null, { origin: 'https://anywhere.example' }, 'OPTIONS')
    expect(answer.status).toBe(204)
    expect(answer.headers.get('access-control-allow-origin')).toBe('*')
    expect(answer.headers.get('access-control-allow-methods')).toBe('POST, OPTIONS')
    const allowed = answer.headers.get('access-control-allow-headers')?.toLowerCase().split(', ') ?? []
    for (const name of ['authorization', 'content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name'])
      expect(allowed).toContain(name)
  })

  test('any origin may call: a key is needed, and none comes by itself', async () => {
    const { ask, key } = await openMemoryMcp()
    const origin = { origin: 'http://rebound.example' }
    expect((await ask(key(), PING, origin)).status).toBe(200)
    expect((await ask(null, PING, { ...origin, cookie: 'session=1' })).status).toBe(401)
  })

  test('a notification, of whatever name, is 202 without a body', async () => {
    const { ask, key } = await openMemoryMcp()
    for (const method of ['notifications/initialized', 'notifications/cancelled', 'notifications/unheard-of']) {
      const answer = await ask(key(), { jsonrpc: '2.0', method, params: { requestId: 1 } })
      expect([answer.status, answer.text, answer.headers.get('content-type')]).toEqual([202, '', null])
    }
  })

  test('an answer to a request that was never made is 202', async () => {
    const { ask, key } = await openMemoryMcp()
    expect((await ask(key(), { jsonrpc: '2.0', id: 1, result: {} })).status).toBe(202)
  })
})

describe('a body', () => {
  test.each<[string, number, string, Record<string, string>]>([
    ['that is not JSON', 400, '{"jsonrpc":', {}],
    ['that is empty', 400, '', {}],
    ['of two values', 400, '{} {}', {}],
    ['nested deeper than 32', 400, `${'['.repeat(33)}${']'.repeat(33)}`, {}],
    ['of more than 64 KB', 413, JSON.stringify(rpc('ping', { filler: 'x'.repeat(65_536) })), {}],
    ['with a lone surrogate', 400, '{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', {}],
    ['with U+0000', 400, '{"jsonrpc":"2.0","id":"\\u0000","method":"ping"}', {}],
    ['with a number beyond doubles', 400, '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"n":1e999}}', {}],
    ['of another type', 400, JSON.stringify(PING), { 'content-type': 'text/plain' }],
  ])('%s is -32700 with %d', async (_, status, body, headers) => {
    const { ask, key } = await openMemoryMcp()
    const answer = await ask(key(), body, headers)
    expect(answer.status).toBe(status)
    expect(answer.body).toEqual({ jsonrpc: '2.0', id: null, error: { code: -32700, message: expect.any(String) } })
  })

  test.each([{}, { jsonrpc: '1.0', id: 1, method: 'ping' }, { jsonrpc: '2.0', id: null, method: 'ping' }, 7])(
    '%j is -32600 with 400',
    async (body) => {
      const { ask, key } = await openMemoryMcp()
      const answer = await ask(key(), body)
      expect([answer.status, answer.body.error.code]).toEqual([400, -32600])
    },
  )
})

describe('a request', () => {
  test.each(['a', '', 0, -7, 9_007_199_254_740_991, 'ü"\\'])('keeps its id %j', async (id) => {
    const { ask, key } = await openMemoryMcp()
    expect((await ask(key(), rpc('ping', undefined, id))).body).toEqual({ jsonrpc: '2.0', id, result: {} })
    expect((await ask(key(), rpc('unheard', undefined, id))).body.id).toBe(id)
  })

  test.each(['resources/list', 'prompts/list', 'server/discover', 'constructor', ''])(
    'of %p is -32601',
    async (method) => {
      const { ask, key } = await openMemoryMcp()
      const answer = await ask(key(), rpc(method))
      expect([answer.status, answer.body.error.code]).toEqual([200, -32601])
    },
  )

  test.each<[string, unknown]>([
    ['a tool that does not exist', { name: 'create_booking', arguments: {} }],
    ['a tool named like a member of objects', { name: 'constructor' }],
    ['no name', {}],
    ['a name that is not a string', { name: ['list_units'] }],
    ['arguments that are a list', { name: 'list_units', arguments: [] }],
    ['arguments that are null', { name: 'list_units', arguments: null }],
  ])('of %s is -32602', async (_, params) => {
    const { ask, key } = await openMemoryMcp()
    const answer = await ask(key(), rpc('tools/call', params))
    expect([answer.status, answer.body.error.code]).toEqual([200, -32602])
  })

  test.each([
    ['list_units', 'read:units'],
    ['get_availability', 'read:availability'],
    ['quote_stay', 'read:rates'],
    ['list_bookings', 'read:bookings'],
    ['get_calendar', 'read:availability'],
    ['search_stays', 'read:rates'],
  ] as const)('of %s without %s is -32602, names the scope, and the tool is not listed', async (name, scope) => {
    const { ask, key } = await openMemoryMcp()
    const secret = key(SCOPES.filter((other) => other !== scope))
    const answer = await ask(secret, toolCall(name))
    expect(answer.body.error).toMatchObject({ code: -32602, data: { code: 'SCOPE_MISSING', scope } })
    expect(answer.body.error.message).toContain(scope)
    const { tools } = (await ask(secret, rpc('tools/list'))).body.result
    // Two of the six need read:availability, and two read:rates.
    expect(tools).toHaveLength(scope === 'read:availability' || scope === 'read:rates' ? 4 : 5)
    expect(tools.map((tool: { name: string }) => tool.name)).not.toContain(name)
  })

  test('of get_calendar with prices and without read:rates is -32602 and names the scope; without prices it is answered', async () => {
    const { ask, key } = await openMemoryMcp()
    const secret = key(['read:availability'])
    const range = { from: '2027-03-01', to: '2027-03-03' }
    // Whatever else is wrong: the scope comes first.
    for (const args of [{ ...range, prices: true }, { prices: true }]) {
      const { error } = (await ask(secret, toolCall('get_calendar', args))).body
      expect(error).toMatchObject({ code: -32602, data: { code: 'SCOPE_MISSING', scope: 'read:rates' } })
      expect(error.message).toContain('read:rates')
    }
    const { result } = (await ask(secret, toolCall('get_calendar', { ...range, prices: false }))).body
    expect(result.structuredContent.units).toEqual([{ unit: 'sea-view', blocked: [] }])
  })

  test('for a further page of tools is -32602: there is none', async () => {
    const { ask, key } = await openMemoryMcp()
    expect((await ask(key(), rpc('tools/list', { cursor: 'x' }))).body.error.code).toBe(-32602)
  })

  test('of a tool gives the same structured and as text', async () => {
    const { ask, key } = await openMemoryMcp()
    const { result } = (await ask(key(), toolCall('list_units'))).body
    expect(result.structuredContent.units[0].slug).toBe('sea-view')
    expect(result.content).toEqual([{ type: 'text', text: JSON.stringify(result.structuredContent) }])
  })
})

describe('an internal failure', () => {
  test('is -32603 that reveals nothing of it, and is logged', async () => {
    const secretive = new Error('connect ECONNREFUSED 10.0.0.7:5432')
    const commands = { calendar: () => Promise.reject(secretive) }
    const { ask, key, failures } = await openMemoryMcp({ commands })
    const args = { unit: 'sea-view', from: '2027-03-01', to: '2027-03-02' }
    const answer = await ask(key(), toolCall('get_availability', args, 'x'), { 'x-request-id': 'mine-1' })
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ id: 'x', error: { code: -32603, data: { requestId: 'mine-1' } } })
    expect(answer.headers.get('retry-after')).toBe('2')
    expect(answer.text).not.toMatch(/ECONNREFUSED|at |10\.0/)
    expect(failures).toEqual([{ error: secretive, requestId: 'mine-1', route: 'POST /mcp tools/call', isBug: false }])
  })

  test('is a bug if an invariant is broken, and is still answered', async () => {
    const commands = {
      quote: () => {
        throw new AssertionError('Cannot price a stay')
      },
    }
    const { ask, key, failures } = await openMemoryMcp({ commands })
    const args = { unit: 'sea-view', arrival: '2027-03-01', departure: '2027-03-02' }
    const answer = await ask(key(), toolCall('quote_stay', args))
    expect([answer.status, answer.body.error.code]).toEqual([200, -32603])
    expect(answer.text).not.toContain('Cannot price')
    expect(failures.map(({ isBug }) => isBug)).toEqual([true])
  })
})

describe('a batch', () => {
  test('of 2025-03-26 is answered message by message, in order, without its notifications', async () => {
    const { ask, key } = await openMemoryMcp()
    const batch = [
      rpc('ping', undefined, 'a'),
      { jsonrpc: '2.0', method: 'notifications/progress' },
      rpc('unheard', undefined, 'b'),
      7,
      toolCall('list_units', {}, 'c'),
    ]
    const answer = await ask(key(), batch, { 'mcp-protocol-version': '2025-03-26' })
    expect(answer.status).toBe(200)
    expect(answer.body.map(({ id, error }: { id: unknown; error?: { code: number } }) => [id, error?.code])).toEqual([
      ['a', undefined],
      ['b', -32601],
      [null, -32600],
      ['c', undefined],
    ])
  })

  test('of notifications only is 202', async () => {
    const { ask, key } = await openMemoryMcp()
    const answer = await ask(key(), [{ jsonrpc: '2.0', method: 'notifications/initialized' }])
    expect([answer.status, answer.text]).toEqual([202, ''])
  })

  test.each<[string, unknown[], Record<string, string>]>([
    ['of a revision without batches', [PING], { 'mcp-protocol-version': '2025-06-18' }],
    ['of the modern revision', [PING], { 'mcp-protocol-version': '2026-07-28' }],
    ['of nothing', [], {}],
    ['with initialize', [rpc('initialize')], {}],
    ['of too many', Array.from({ length: BATCH_MESSAGES_MAX + 1 }, () => PING), {}],
  ])('%s is -32600 with 400', async (_, batch, headers) => {
    const { ask, key } = await openMemoryMcp()
    const answer = await ask(key(), batch, headers)
    expect([answer.status, answer.body.error.code, answer.body.id]).toEqual([400, -32600, null])
  })

  test('costs as much of the budget as its requests would alone', async () => {
    const { ask, key } = await openMemoryMcp({ plan: { requestsPerMinute: 5 } })
    const secret = key()
    const three = await ask(secret, [PING, PING, { jsonrpc: '2.0', method: 'notifications/initialized' }, PING])
    expect([three.status, three.headers.get('x-ratelimit-remaining')]).toEqual([200, '2'])
    const tooMany = await ask(secret, [PING, PING, PING])
    expect([tooMany.status, tooMany.body.code]).toEqual([429, 'RATE_LIMITED'])
    expect((await ask(secret, PING)).status).toBe(429)
  })
})
