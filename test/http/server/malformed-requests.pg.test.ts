/** What no well-behaved client sends: always the contract's JSON body, never a 5xx, a stack, or a stored half. */

import { afterAll, describe, expect, test } from 'bun:test'
import { uuidOf } from '../../../src/lib/ids.ts'
import { type RawAnswer, sendRaw } from '../../support/raw-http.ts'
import { startTestService } from '../../support/test-service.ts'

const service = await startTestService()
const agency = await service.agency()
const agencyId = agency.id
const key = (await service.key(agency)).secret
await service.unit(agency, { slug: 'sea-view' })
afterAll(async () => {
  // Nothing of all this was a fault of the service, or left a booking behind.
  expect([service.logged, service.bugs]).toEqual([[], []])
  expect(await service.database.sql`select from booking where agency_id = ${uuidOf(agencyId)}`).toHaveLength(0)
  expect(await service.database.sql`select from guest where agency_id = ${uuidOf(agencyId)}`).toHaveLength(0)
  await service.close()
})

const JSON_TYPE = 'Content-Type: application/json'

function request(line: string, headers: readonly string[] = [], body: string | Uint8Array = ''): Buffer {
  const all = ['Host: service', `Authorization: Bearer ${key}`, ...headers]
  if (!headers.some((header) => /^(transfer-encoding|content-length)/i.test(header)))
    all.push(`Content-Length: ${Buffer.byteLength(body)}`)
  return Buffer.concat([Buffer.from(`${line} HTTP/1.1\r\n${all.join('\r\n')}\r\n\r\n`, 'latin1'), Buffer.from(body)])
}

async function send(bytes: Uint8Array): Promise<RawAnswer> {
  const [answer] = await sendRaw(service.port, bytes)
  if (answer === undefined) throw new Error('No answer came')
  return answer
}

/** Holds what every answer of the surface has, and gives its body. */
function problemIn(answer: RawAnswer, status: number, code: string) {
  const body = JSON.parse(answer.body)
  expect([answer.status, body.code]).toEqual([status, code])
  expect(answer.headers.get('content-type')).toBe('application/json')
  expect(answer.headers.get('access-control-allow-origin')).toBe('*')
  expect(answer.headers.get('x-request-id')).toBe(body.requestId)
  expect(answer.body).not.toMatch(/node_modules|at .*\.ts|Error:/)
  return body
}

const STAY = '{"unit":"sea-view","arrival":"2027-03-01","departure":"2027-03-04"'
const bytes = (...parts: (string | number[])[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))))

const bodies: [what: string, field: string, headers: string[], body: string | Uint8Array][] = [
  ['no content type', 'Content-Type', [], `${STAY}}`],
  ['a form', 'Content-Type', ['Content-Type: application/x-www-form-urlencoded'], 'unit=sea-view'],
  ['text', 'Content-Type', ['Content-Type: text/plain'], `${STAY}}`],
  ['multipart', 'Content-Type', ['Content-Type: multipart/form-data; boundary=x'], '--x--'],
  ['another charset', 'Content-Type', ['Content-Type: application/json; charset=iso-8859-1'], `${STAY}}`],
  ['a type that begins like JSON', 'Content-Type', ['Content-Type: application/jsonp'], `${STAY}}`],
  ['malformed JSON', 'body', [JSON_TYPE], `${STAY},}`],
  ['JSON cut short', 'body', [JSON_TYPE], STAY],
  ['single quotes', 'body', [JSON_TYPE], "{'unit':'sea-view'}"],
  ['NaN', 'body', [JSON_TYPE], `${STAY},"adults":NaN}`],
  ['a comment', 'body', [JSON_TYPE], `${STAY}/**/}`],
  ['trailing bytes', 'body', [JSON_TYPE], `${STAY}}x`],
  ['a second value', 'body', [JSON_TYPE], `${STAY}}{}`],
  ['a trailing NUL byte', 'body', [JSON_TYPE], bytes(`${STAY}}`, [0])],
  ['a byte order mark', 'body', [JSON_TYPE], bytes([0xef, 0xbb, 0xbf], `${STAY}}`)],
  ['blanks only', 'body', [JSON_TYPE], '   '],
  ['nothing', 'body', [JSON_TYPE], ''],
  ['depth 33', 'body', [JSON_TYPE], `${STAY},"x":${'['.repeat(32)}${']'.repeat(32)}}`],
  ['depth 30,000', 'body', [JSON_TYPE], '['.repeat(30_000)],
  ['depth 30,000 of objects', 'body', [JSON_TYPE], '{"a":'.repeat(10_000)],
  ['1e999999', 'adults', [JSON_TYPE], `${STAY},"adults":1e999999}`],
  ['-1e999999 in an ignored field', 'x', [JSON_TYPE], `${STAY},"x":-1e999999}`],
  ['a number of 60,000 digits', 'children', [JSON_TYPE], `${STAY},"children":${'9'.repeat(60_000)}}`],
  ['1e-999999, which is 0', 'adults', [JSON_TYPE], `${STAY},"adults":1e-999999}`],
  ['a compressed body', 'Content-Encoding', [JSON_TYPE, 'Content-Encoding: gzip'], Bun.gzipSync(bytes(STAY, [], '}'))],
  ['invalid UTF-8', 'body', [JSON_TYPE], bytes(`${STAY},"notes":"`, [0xff, 0xfe], '"}')],
  ['overlong UTF-8', 'body', [JSON_TYPE], bytes(`${STAY},"notes":"`, [0xc0, 0xaf], '"}')],
  ['an encoded surrogate', 'body', [JSON_TYPE], bytes(`${STAY},"notes":"`, [0xed, 0xa0, 0x80], '"}')],
  ['a UTF-8 character cut short', 'body', [JSON_TYPE], bytes(`${STAY},"notes":"`, [0xe2, 0x82], '"}')],
  ['NUL in a string', 'notes', [JSON_TYPE], `${STAY},"notes":"a\\u0000b"}`],
  ['NUL in a member name', 'body', [JSON_TYPE], `${STAY},"a\\u0000":1}`],
  ['NUL in a nested string', 'guest.firstName', [JSON_TYPE], `${STAY},"guest":{"firstName":"\\u0000","lastName":"b"}}`],
  ['NUL in an ignored array', 'x[1]', [JSON_TYPE], `${STAY},"x":["a","\\u0000"]}`],
  ['a lone high surrogate', 'sourceRef', [JSON_TYPE], `${STAY},"sourceRef":"\\ud83d"}`],
  ['a lone low surrogate', 'sourceRef', [JSON_TYPE], `${STAY},"sourceRef":"x\\ude00y"}`],
  ['__proto__ instead of members', 'unit', [JSON_TYPE], `{"__proto__":${STAY}}}`],
  ['constructor and prototype', 'unit', [JSON_TYPE], '{"constructor":{"prototype":{"unit":"sea-view"}}}'],
  ['an array', 'body', [JSON_TYPE], `[${STAY}}]`],
  ['null', 'body', [JSON_TYPE], 'null'],
  ['a string', 'body', [JSON_TYPE], '"x"'],
  ['a number', 'body', [JSON_TYPE], '5'],
]

describe('a body with', () => {
  test.each(bodies)('%s is 400 VALIDATION, and %s is named', async (_, field, headers, body) => {
    for (const path of ['/partner/v1/bookings', '/partner/v1/quote']) {
      // The quote knows no more than it needs.
      if (path.endsWith('quote') && !['body', 'Content-Type', 'unit'].includes(field)) continue
      const problem = problemIn(await send(request(`POST ${path}`, headers, body)), 400, 'VALIDATION')
      expect(problem.errors[0].field).toBe(field)
      expect(problem.title).toStartWith(field)
    }
  })
})

describe('a body of', () => {
  const quote = (headers: string[], body: string | Uint8Array) =>
    request('POST /partner/v1/quote', [JSON_TYPE, ...headers], body)
  const padded = (size: number) => `${STAY},"x":"`.padEnd(size - 2, 'x').concat('"}')

  test('65,536 bytes is read', async () => {
    expect((await send(quote([], padded(65_536)))).status).toBe(200)
  })
  test('65,537 bytes is 413 with the code VALIDATION', async () => {
    problemIn(await send(quote([], padded(65_537))), 413, 'VALIDATION')
    problemIn(await send(request('POST /partner/v1/bookings', [JSON_TYPE], padded(65_537))), 413, 'VALIDATION')
  })
  test('a declared terabyte is 413 before it is sent', async () => {
    problemIn(await send(quote(['Content-Length: 1099511627776'], '{}')), 413, 'VALIDATION')
  })
  test('unknown length is read in chunks, and is 413 as soon as it is too long', async () => {
    const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
    const chunked = (body: string) => quote(['Transfer-Encoding: chunked'], body)
    expect((await send(chunked(`${chunk(STAY)}${chunk('}')}0\r\n\r\n`))).status).toBe(200)
    problemIn(await send(chunked(chunk('x'.repeat(20_000)).repeat(4))), 413, 'VALIDATION')
  })
  test('a request after one that was too large, on the same connection, is answered as usual', async () => {
    const both = Buffer.concat([quote([], padded(100_000)), request('GET /partner/v1/units/sea-view')])
    const answers = await sendRaw(service.port, both, 2)
    expect(answers.map(({ status }) => status)).toEqual([413, 200])
  })
  test('of 300 MB is refused before any of it is sent; what is sent anyway is discarded', async () => {
    const megabyte = Buffer.alloc(1_048_576, 0x20)
    let sent = 0
    let sentBeforeAnswer = -1
    const answer = await new Promise<string>((resolve) => {
      let text = ''
      void Bun.connect({
        hostname: '127.0.0.1',
        port: service.port,
        socket: {
          open: (socket) => {
            socket.write(quote(['Content-Length: 314572800'], ''))
          },
          data: (socket, chunk) => {
            text += chunk.toString()
            if (sentBeforeAnswer !== -1) return
            sentBeforeAnswer = sent
            void pour(socket)
          },
          close: () => resolve(text),
        },
      })
      async function pour(socket: Bun.Socket<undefined>) {
        while (sent < 300) {
          const written = socket.write(megabyte)
          if (written < 0) break
          if (written === 0) await Bun.sleep(1)
          sent += written / megabyte.length
        }
        socket.end()
      }
    })
    expect(answer).toStartWith('HTTP/1.1 413')
    // It was neither awaited nor kept.
    expect(sentBeforeAnswer).toBe(0)
    expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1)
  })
})

describe('a path with', () => {
  test.each([
    ['a percent sign alone', '/partner/v1/units/a%'],
    ['a percent sign before no hex', '/partner/v1/units/a%zz'],
    ['bytes that are not UTF-8', '/partner/v1/units/a%ff'],
    ['a surrogate', '/partner/v1/units/%ed%a0%80'],
    ['NUL', '/partner/v1/units/a%00b'],
    ['a faulty booking id', '/partner/v1/bookings/%e2%82'],
    ['a faulty guest id', '/partner/v1/guests/%00'],
  ])('%s is 400 VALIDATION', async (_, path) => {
    problemIn(await send(request(`GET ${path}`)), 400, 'VALIDATION')
  })
  test('an encoded slug is the slug', async () => {
    expect((await send(request('GET /partner/v1/units/sea%2dview'))).status).toBe(200)
  })
  test.each([
    ['an encoded slash', '/partner/v1/units/sea%2fview'],
    ['raw bytes beyond ASCII', '/partner/v1/units/\xff\xfe'],
    ['9,000 characters', `/partner/v1/units/${'a'.repeat(9_000)}`],
    ['a trailing slash', '/partner/v1/units/'],
    ['an empty segment', '/partner/v1//units'],
    ['an encoded route', '/partner/v1/%75nits'],
    ['another version', '/partner/v2/units'],
    ['capitals', '/partner/v1/UNITS'],
    ['nothing', '/'],
    ['__proto__', '/partner/v1/__proto__'],
    ['constructor', '/constructor'],
  ])('%s is 404 NOT_FOUND', async (_, path) => {
    problemIn(await send(request(`GET ${path}`)), 404, 'NOT_FOUND')
  })
})

describe('a query with', () => {
  const unit = 'unit=sea-view&from=2027-03-01'
  test.each([
    ['a repeated parameter', `availability?${unit}&to=2027-03-02&unit=x`, 'unit'],
    ['the same value twice', `availability?${unit}&to=2027-03-02&to=2027-03-02`, 'to'],
    ['a repeated one under another encoding', `availability?${unit}&to=2027-03-02&%74o=2027-03-02`, 'to'],
    ['a faulty encoding', `availability?${unit}&to=%zz`, 'to'],
    ['bytes that are not UTF-8', 'bookings?status=%ff', 'status'],
    ['NUL', 'guests?search=a%00b', 'search'],
    ['a surrogate', 'guests?search=%ed%a0%80', 'search'],
    ['a faulty name', 'bookings?%zz=1', 'query'],
    ['an array in brackets', `availability?unit[]=sea-view&from=2027-03-01&to=2027-03-02`, 'unit'],
    ['a number that overflows', 'bookings?page=1e999999', 'page'],
    ['a number of many digits', `bookings?page=${'9'.repeat(400)}`, 'page'],
    ['a sign', 'bookings?page=%2B1', 'page'],
    ['a blank', 'bookings?pageSize=1%20', 'pageSize'],
  ])('%s is 400 VALIDATION', async (_, path, field) => {
    const problem = problemIn(await send(request(`GET /partner/v1/${path}`)), 400, 'VALIDATION')
    expect(problem.errors[0].field).toBe(field)
  })
  test.each(['__proto__=1&constructor=2&toString=3', 'x=1&x=2', '&&&', '=', 'search=%F0%9F%98%80+%2B'])(
    'what has no meaning is ignored: %s',
    async (query) => {
      expect((await send(request(`GET /partner/v1/guests?${query}`))).status).toBe(200)
    },
  )
})

describe('a method that a route does not have', () => {
  test.each(['DELETE', 'PUT', 'PATCH', 'PROPFIND', 'TRACE', 'CONNECT', 'POST'])(
    '%s /units is 404 NOT_FOUND',
    async (method) => {
      problemIn(await send(request(`${method} /partner/v1/units`)), 404, 'NOT_FOUND')
    },
  )
  test('GET /quote is 404 NOT_FOUND', async () => {
    problemIn(await send(request('GET /partner/v1/quote')), 404, 'NOT_FOUND')
  })
})

describe('headers', () => {
  test('with a second Authorization header, neither is valid', async () => {
    problemIn(await send(request('GET /partner/v1/me', ['Authorization: Bearer x'])), 401, 'UNAUTHORIZED')
  })
  test.each(['a b', '<script>', 'a'.repeat(129), '"', 'é'])('X-Request-Id %s is replaced', async (id) => {
    const answer = await send(request('GET /partner/v1/units/none', [`X-Request-Id: ${id}`]))
    expect(problemIn(answer, 404, 'NOT_FOUND').requestId).toStartWith('req_')
  })
  test('HTTP/1.0 without a Host is served', async () => {
    const [answer] = await sendRaw(
      service.port,
      `GET /partner/v1/units/sea-view HTTP/1.0\r\nAuthorization: Bearer ${key}\r\n\r\n`,
    )
    expect(answer?.status).toBe(200)
  })
  test('a host of one letter is served', async () => {
    const [answer] = await sendRaw(service.port, `GET /partner/v1/nowhere HTTP/1.1\r\nHost: x\r\n\r\n`)
    expect(answer?.status).toBe(404)
    const [found] = await sendRaw(service.port, `GET /partner/v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n`)
    expect(found?.status).toBe(200)
    const [preflight] = await sendRaw(service.port, `OPTIONS /partner/v1/bookings HTTP/1.1\r\nHost: x\r\n\r\n`)
    expect(preflight?.status).toBe(204)
  })
})

/** Bun answers these itself, before there is a request: without a body, and the connection is closed. */
describe('what is not HTTP', () => {
  test.each([
    ['garbage', 'garbage\r\n\r\n', 400],
    ['binary', '\x00\x01\x02\xff\r\n\r\n', 400],
    ['no Host', 'GET /partner/v1/units HTTP/1.1\r\n\r\n', 400],
    ['a length that is not a number', 'POST /partner/v1/quote HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n', 400],
    [
      'two lengths',
      'POST /partner/v1/quote HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}',
      400,
    ],
    [
      'length and chunks',
      'POST /partner/v1/quote HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    ['headers of 40,000 bytes', `GET /partner/v1/units HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(40_000)}\r\n\r\n`, 431],
  ])('%s is refused without a body', async (_, text, status) => {
    const [answer] = await sendRaw(service.port, Buffer.from(text, 'latin1'))
    expect([answer?.status, answer?.body]).toEqual([status, ''])
  })
})
