import { describe, expect, test } from 'bun:test'
import { CallTransport } from '../../../src/api/mcp/call-transport.ts'
import { eventually } from '../../support/eventually.ts'
import { openMemoryMcp, rpc, toolCall } from '../../support/memory-mcp.ts'
import { AGENCY, sampleId } from '../../support/samples.ts'

/*
 * A server of the SDK that two callers shared gave one the answer of the other (GHSA-345p-7cg4-v4c7): both had used the same JSON-RPC
 * id, which every client counts from 0 or 1.
 */

const OTHER = { ...AGENCY, id: sampleId('agc', 'b'), slug: 'hillside', currency: 'USD' }
const MODERN = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'list_bookings' }
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}

type ListBookings = NonNullable<NonNullable<Parameters<typeof openMemoryMcp>[0]>['listBookings']>

/** An endpoint with two agencies; `AGENCY` has its amounts in EUR, `OTHER` in USD. */
async function openTwoAgencies(
  listBookings: ListBookings,
  limits: { serversMax: number; waitingMax: number } = { serversMax: 4, waitingMax: 1_000 },
) {
  const mcp = await openMemoryMcp({ listBookings, limits })
  mcp.memory.catalogue.putAgency({ ...OTHER, plan: { ...OTHER.plan, requestsPerMinute: 10_000 } })
  return { ...mcp, first: mcp.key(undefined, AGENCY.id), second: mcp.key(undefined, OTHER.id) }
}

const NONE = { rows: [], total: 0 }
const list = (id: unknown) => toolCall('list_bookings', {}, id)
const modernList = (id: unknown) => rpc('tools/call', { name: 'list_bookings', arguments: {}, _meta: META }, id)

describe('with the same id at the same time', () => {
  test.each([
    ['a handshake revision', 'first', list, {}],
    ['a handshake revision', 'second', list, {}],
    ['revision 2026-07-28', 'first', modernList, MODERN],
    ['revision 2026-07-28', 'second', modernList, MODERN],
  ])(
    'two agencies get each their own answer, in %s, when the %s is answered first',
    async (_, quick, message, headers) => {
      const pauses = { [AGENCY.id]: Promise.withResolvers<void>(), [OTHER.id]: Promise.withResolvers<void>() }
      let waiting = 0
      const { ask, first, second } = await openTwoAgencies(async (agencyId) => {
        waiting += 1
        await pauses[agencyId]?.promise
        return { ...NONE, total: agencyId === AGENCY.id ? 1 : 2 }
      })
      const answers: { agency: string; body: unknown }[] = []
      void ask(first, message(1), headers).then(({ body }) => answers.push({ agency: 'first', body }))
      void ask(second, message(1), headers).then(({ body }) => answers.push({ agency: 'second', body }))
      await eventually('both wait', () => waiting === 2)
      pauses[quick === 'first' ? AGENCY.id : OTHER.id]?.resolve()
      // One that gets no answer at all shows below.
      await eventually('one is answered', () => answers.length > 0, 5_000).catch(() => {})
      pauses[quick === 'first' ? OTHER.id : AGENCY.id]?.resolve()
      await eventually('both are answered', () => answers.length === 2, 5_000).catch(() => {})
      const own = {
        first: { agency: 'first', body: { id: 1, result: { structuredContent: { currency: 'EUR', totalItems: 1 } } } },
        second: {
          agency: 'second',
          body: { id: 1, result: { structuredContent: { currency: 'USD', totalItems: 2 } } },
        },
      }
      expect(answers).toMatchObject(quick === 'first' ? [own.first, own.second] : [own.second, own.first])
    },
  )

  test('so do 400 calls of both agencies with few ids, a few servers, batches and failures among them', async () => {
    let calls = 0
    const { ask, first, second } = await openTwoAgencies(async (agencyId) => {
      const call = ++calls
      await Bun.sleep(call % 4)
      if (call % 11 === 0) throw new Error('database away')
      return { ...NONE, total: agencyId === AGENCY.id ? 1 : 2 }
    })
    const answers = await Promise.all(
      Array.from({ length: 400 }, async (_, i) => {
        const isFirst = i % 2 === 0
        const id = i % 3
        const secret = isFirst ? first : second
        const [text, headers] = i % 5 === 0 ? [modernList(id), MODERN] : [list(id), {}]
        const { body } = await ask(secret, i % 7 === 1 ? [list(id), list(id)] : text, i % 7 === 1 ? {} : headers)
        return [body].flat().map((answer) => ({ answer, id, isFirst }))
      }),
    )
    const flat = answers.flat()
    for (const { answer, id, isFirst } of flat) {
      expect(answer.id).toBe(id)
      if ('error' in answer) expect(answer.error.code).toBe(-32603)
      else
        expect(answer.result.structuredContent).toMatchObject(
          isFirst ? { currency: 'EUR', totalItems: 1 } : { currency: 'USD', totalItems: 2 },
        )
    }
    expect(flat.filter(({ answer }) => 'error' in answer)).toHaveLength(Math.floor(calls / 11))
  })

  test('a transport refuses a second call before the first is answered', async () => {
    const transport = new CallTransport()
    const authInfo = { token: '', clientId: sampleId('key', '1'), scopes: [] }
    const first = transport.ask('ping', {}, authInfo)
    expect(() => transport.ask('ping', {}, authInfo)).toThrow('still answering another call')
    await transport.send({ jsonrpc: '2.0', id: 1, result: {} })
    expect(await first).toEqual({ jsonrpc: '2.0', id: 1, result: {} })
  })

  test('an answer to an abandoned call reaches no caller', async () => {
    const transport = new CallTransport()
    const authInfo = { token: '', clientId: sampleId('key', '1'), scopes: [] }
    const givenUp = transport.ask('ping', {}, authInfo)
    transport.fail(new Error('given up'))
    expect(await givenUp.catch(String)).toBe('Error: given up')
    const next = transport.ask('ping', {}, authInfo)
    await transport.send({ jsonrpc: '2.0', id: 1, result: { of: 'the first' } })
    await transport.send({ jsonrpc: '2.0', id: 2, result: { of: 'the second' } })
    expect(await next).toMatchObject({ result: { of: 'the second' } })
  })
})

test('calls that wait for the database delay none that is answered from memory', async () => {
  const database = Promise.withResolvers<void>()
  let reads = 0
  const { ask, key } = await openMemoryMcp({
    listBookings: async () => {
      reads += 1
      await database.promise
      return NONE
    },
  })
  const secret = key()
  // As many lists as ten agencies can have in progress and waiting (`ListReads`).
  const lists = Array.from({ length: 340 }, (_, id) => ask(secret, list(id)))
  const inMemory = [rpc('ping'), rpc('initialize', {}), rpc('tools/list'), toolCall('list_units')]
  const answers = Promise.all(inMemory.map((message) => ask(secret, message)))
  // Only bounds how long a failure takes.
  const statuses = await Promise.race([answers.then((all) => all.map(({ status }) => status)), Bun.sleep(5_000)])
  expect(statuses).toEqual([200, 200, 200, 200])
  expect(reads).toBe(340)
  database.resolve()
  await Promise.all(lists)
})

describe('with one server for all', () => {
  const ONE = { serversMax: 1, waitingMax: 2 }

  test('a call that fails leaves nothing to the next caller', async () => {
    const { ask, first, second, failures } = await openTwoAgencies(async (agencyId) => {
      if (agencyId === AGENCY.id) throw new Error('EUR 1,000 of the first agency')
      return NONE
    }, ONE)
    for (let i = 0; i < 3; i++) {
      const [failed, served] = await Promise.all([ask(first, list(1)), ask(second, list(1))])
      expect(failed.body).toMatchObject({ id: 1, error: { code: -32603 } })
      expect(failed.text).not.toContain('EUR')
      expect(served.body.result.structuredContent).toMatchObject({ currency: 'USD' })
    }
    expect(failures).toHaveLength(3)
  })

  test('a caller who disconnects leaves nothing for the next one', async () => {
    const slow = Promise.withResolvers<void>()
    const { endpoint, first, second } = await openTwoAgencies(async (agencyId) => {
      if (agencyId === AGENCY.id) await slow.promise
      return NONE
    }, ONE)
    const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: endpoint.fetch })
    const post = (secret: string, signal?: AbortSignal) =>
      fetch(server.url, {
        method: 'POST',
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
        body: JSON.stringify(list(1)),
        ...(signal === undefined ? {} : { signal }),
      })
    const leaving = new AbortController()
    const left = post(first, leaving.signal).catch((error: unknown) => (error as Error).name)
    await Bun.sleep(20)
    leaving.abort()
    expect(await left).toBe('AbortError')
    const waiting = post(second)
    await Bun.sleep(20)
    slow.resolve()
    expect(await (await waiting).json()).toMatchObject({ id: 1, result: { structuredContent: { currency: 'USD' } } })
    await server.stop(true)
  })

  test('what initialize agreed on does not reach the next caller', async () => {
    const { ask, first, second } = await openTwoAgencies(async () => NONE, ONE)
    const hello = (version: string) =>
      rpc('initialize', { protocolVersion: version, capabilities: {}, clientInfo: { name: 'a', version: '1' } })
    expect((await ask(first, hello('2025-03-26'))).body.result.protocolVersion).toBe('2025-03-26')
    expect((await ask(second, hello('2024-11-05'))).body.result.protocolVersion).toBe('2025-11-25')
    expect((await ask(second, modernList(1), MODERN)).body.result.resultType).toBe('complete')
    expect((await ask(second, list(1))).body.result.resultType).toBeUndefined()
  })

  test('calls beyond the queue are -32603 with Retry-After, say why, and are logged', async () => {
    const slow = Promise.withResolvers<void>()
    const { ask, first, failures } = await openTwoAgencies(async () => {
      await slow.promise
      return NONE
    }, ONE)
    const served = [ask(first, list(1)), ask(first, list(2)), ask(first, list(3))]
    await Bun.sleep(5)
    const refused = await ask(first, list(4))
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([200, '2'])
    expect(refused.body).toMatchObject({ id: 4, error: { code: -32603, data: { requestId: expect.any(String) } } })
    expect(refused.body.error.message).toBe('Too many requests are already waiting for an answer: try again')
    expect(failures).toMatchObject([{ error: { name: 'ServersBusyError' }, isBug: false }])
    slow.resolve()
    expect((await Promise.all(served)).map(({ body }) => [body.id, body.error])).toEqual([
      [1, undefined],
      [2, undefined],
      [3, undefined],
    ])
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
