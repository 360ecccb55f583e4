import { describe, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { sharedTestService } from '../../support/test-service.ts'

/*
 * Revision 2026-07-28 on the wire, byte by byte: requests written as the specification shows them (Streamable HTTP, Standard
 * Request Headers), answers compared whole.
 */

const service = await sharedTestService()
const agency = await service.agency()
const unit = await service.unit(agency, { slug: 'sea-view' })
await service.book(agency, unit, '2027-03-02', '2027-03-03')
const secret = (await service.key(agency, { scopes: ['read:availability'] })).secret

const META = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"ExampleClient","version":"1.0.0"},"io.modelcontextprotocol/clientCapabilities":{}}`
const SERVER_INFO = `"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"nightledger","title":"Nightledger","version":"1.0.0"}}`

/** Sends one request over a socket of its own. Returns status line, headers in lower case, and the body's text. */
async function exchange(lines: readonly string[], body: string) {
  const { hostname, port } = new URL(service.url)
  const head = [
    'POST /mcp HTTP/1.1',
    `Host: ${hostname}:${port}`,
    `Authorization: Bearer ${secret}`,
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
    'X-Request-Id: exchange-1',
    'Connection: close',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...lines,
  ]
  const received = await new Promise<string>((resolve, reject) => {
    let text = ''
    const socket = connect(Number(port), hostname, () => socket.write(`${head.join('\r\n')}\r\n\r\n${body}`))
    socket.setEncoding('utf8')
    socket.on('data', (chunk) => {
      text += chunk
    })
    socket.on('end', () => resolve(text))
    socket.on('error', reject)
  })
  const end = received.indexOf('\r\n\r\n')
  const [status = '', ...headers] = received.slice(0, end).split('\r\n')
  return { status, headers: headers.map((line) => line.toLowerCase()), body: received.slice(end + 4) }
}

const VERSION = 'MCP-Protocol-Version: 2026-07-28'

describe('byte by byte', () => {
  test('server/discover', async () => {
    const answer = await exchange(
      [VERSION, 'Mcp-Method: server/discover'],
      `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{${META}}}`,
    )
    expect(answer.status).toBe('HTTP/1.1 200 OK')
    expect(answer.headers).toContain('content-type: application/json')
    expect(answer.headers).toContain('x-request-id: exchange-1')
    expect(answer.headers.filter((line) => line.startsWith('mcp-session-id'))).toEqual([])
    expect(answer.body).toBe(
      `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete",${SERVER_INFO},"ttlMs":300000,"cacheScope":"private","supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26"],"capabilities":{"tools":{}},"instructions":"Reads one rental agency's calendar: units, free nights, prices and bookings. Dates are YYYY-MM-DD and every range is half-open: the guest sleeps the first night and leaves on the last date. Amounts are integers in the minor unit of the currency given with them. Get slugs from list_units, find free nights with get_availability or, for many units at once, get_calendar, find stays that can be booked with search_stays, and quote a price only from quote_stay or search_stays. Nothing can be booked, held or changed here. Requests are limited per minute: prefer long ranges and large pages to many small requests."}}`,
    )
  })

  test('tools/list', async () => {
    const answer = await exchange(
      [VERSION, 'Mcp-Method: tools/list'],
      `{"jsonrpc":"2.0","id":"two","method":"tools/list","params":{${META}}}`,
    )
    expect(answer.status).toBe('HTTP/1.1 200 OK')
    expect(answer.body).toStartWith(
      `{"jsonrpc":"2.0","id":"two","result":{"resultType":"complete",${SERVER_INFO},"ttlMs":300000,"cacheScope":"private","tools":[{"name":"get_availability","title":"Get availability","description":"`,
    )
    expect(answer.body).toEndWith(
      `"annotations":{"title":"Get the calendars of many units","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}]}}`,
    )
  })

  test('tools/call', async () => {
    const answer = await exchange(
      [VERSION, 'Mcp-Method: tools/call', 'Mcp-Name: get_availability'],
      `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"get_availability","arguments":{"unit":"sea-view","from":"2027-03-01","to":"2027-03-04"},${META}}}`,
    )
    expect(answer.status).toBe('HTTP/1.1 200 OK')
    expect(answer.body).toBe(
      `{"jsonrpc":"2.0","id":3,"result":{"resultType":"complete",${SERVER_INFO},"content":[{"type":"text","text":"{\\"unit\\":\\"sea-view\\",\\"from\\":\\"2027-03-01\\",\\"to\\":\\"2027-03-04\\",\\"blockedNights\\":[\\"2027-03-02\\"],\\"openRanges\\":[{\\"from\\":\\"2027-03-01\\",\\"to\\":\\"2027-03-02\\",\\"nights\\":1},{\\"from\\":\\"2027-03-03\\",\\"to\\":\\"2027-03-04\\",\\"nights\\":1}]}"}],"structuredContent":{"unit":"sea-view","from":"2027-03-01","to":"2027-03-04","blockedNights":["2027-03-02"],"openRanges":[{"from":"2027-03-01","to":"2027-03-02","nights":1},{"from":"2027-03-03","to":"2027-03-04","nights":1}]}}}`,
    )
  })

  test('an isError result', async () => {
    const answer = await exchange(
      [VERSION, 'Mcp-Method: tools/call', 'Mcp-Name: get_availability'],
      `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"get_availability","arguments":{"unit":"x","from":"2027-03-01","to":"2027-03-04"},${META}}}`,
    )
    expect(answer.body).toBe(
      `{"jsonrpc":"2.0","id":4,"result":{"resultType":"complete",${SERVER_INFO},"content":[{"type":"text","text":"No such unit: \\"x\\". Use a slug from list_units."}],"isError":true}}`,
    )
  })

  test.each<[string, string, string[], string, string]>([
    [
      'an unknown method is 404 with -32601',
      'HTTP/1.1 404 Not Found',
      [VERSION, 'Mcp-Method: prompts/list'],
      `{"jsonrpc":"2.0","id":5,"method":"prompts/list","params":{${META}}}`,
      `{"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"Unknown method: prompts/list"}}`,
    ],
    [
      'so are the methods of the handshake',
      'HTTP/1.1 404 Not Found',
      [VERSION, 'Mcp-Method: ping'],
      `{"jsonrpc":"2.0","id":6,"method":"ping","params":{${META}}}`,
      `{"jsonrpc":"2.0","id":6,"error":{"code":-32601,"message":"Unknown method: ping"}}`,
    ],
    [
      'an unknown version is 400 with -32022',
      'HTTP/1.1 400 Bad Request',
      ['MCP-Protocol-Version: 1900-01-01', 'Mcp-Method: tools/list'],
      `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{${META.replace('2026-07-28', '1900-01-01')}}}`,
      `{"jsonrpc":"2.0","id":7,"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26"],"requested":"1900-01-01"}}}`,
    ],
    [
      'a header that disagrees with the body is 400 with -32020',
      'HTTP/1.1 400 Bad Request',
      [VERSION, 'Mcp-Method: tools/call', 'Mcp-Name: foo'],
      `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"bar","arguments":{},${META}}}`,
      `{"jsonrpc":"2.0","id":8,"error":{"code":-32020,"message":"Header mismatch: Mcp-Name is 'foo', but the body says 'bar'"}}`,
    ],
    [
      'a missing header too',
      'HTTP/1.1 400 Bad Request',
      ['Mcp-Method: tools/list'],
      `{"jsonrpc":"2.0","id":9,"method":"tools/list","params":{${META}}}`,
      `{"jsonrpc":"2.0","id":9,"error":{"code":-32020,"message":"Header mismatch: MCP-Protocol-Version is missing, but the body says '2026-07-28'"}}`,
    ],
    [
      'a missing _meta is 400 with -32602',
      'HTTP/1.1 400 Bad Request',
      [VERSION, 'Mcp-Method: tools/list'],
      `{"jsonrpc":"2.0","id":10,"method":"tools/list","params":{}}`,
      `{"jsonrpc":"2.0","id":10,"error":{"code":-32602,"message":"_meta must contain \\"io.modelcontextprotocol/protocolVersion\\" and \\"io.modelcontextprotocol/clientCapabilities\\" in revision 2026-07-28"}}`,
    ],
    [
      'a tool outside of the scopes is 200 with -32602',
      'HTTP/1.1 200 OK',
      [VERSION, 'Mcp-Method: tools/call', 'Mcp-Name: list_units'],
      `{"jsonrpc":"2.0","id":11,"method":"tools/call","params":{"name":"list_units",${META}}}`,
      `{"jsonrpc":"2.0","id":11,"error":{"code":-32602,"message":"The API key does not have the scope read:units, which list_units requires","data":{"code":"SCOPE_MISSING","scope":"read:units"}}}`,
    ],
  ])('%s', async (_, status, headers, body, expected) => {
    const answer = await exchange(headers, body)
    expect([answer.status, answer.body]).toEqual([status, expected])
  })

  test('a notification is 202 without a body', async () => {
    const answer = await exchange([VERSION], `{"jsonrpc":"2.0","method":"notifications/cancelled"}`)
    expect([answer.status, answer.body]).toEqual(['HTTP/1.1 202 Accepted', ''])
  })
})

test('both eras are served side by side, distinguished by each request', async () => {
  const older = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
  const newer = { ...older, params: JSON.parse(`{${META}}`) }
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' }
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      i % 2 === 0 ? service.mcp(secret, older) : service.mcp(secret, newer, headers),
    ),
  )
  expect(answers.map(({ body }) => body.result.resultType)).toEqual(
    answers.map((_, i) => (i % 2 === 0 ? undefined : 'complete')),
  )
  expect(new Set(answers.map(({ body }) => JSON.stringify(body.result.tools))).size).toBe(1)
})
