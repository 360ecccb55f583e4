/** What both clients offer, compared with the OpenAPI document of the service. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import * as nightledger from '../../clients/typescript/src/index.ts'
import { partnerDocument } from '../../src/api/partner/partner-surface.ts'
import { CASES, KEY, OPERATIONS } from './support/conformance-cases.ts'
import { DriverProcess, PYTHON_MISSING } from './support/driver-process.ts'
import { type PartnerDocument, TYPES } from './support/make-types.ts'

const document: PartnerDocument = JSON.parse(await partnerDocument())
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replace('/partner/v1', '')}`),
)
const codes = [
  ...new Set(
    Object.values(document.components.schemas).flatMap(({ properties }) =>
      properties?.['requestId'] === undefined ? [] : [String(properties['code']?.const)],
    ),
  ),
]
const className = (code: string) =>
  `${code
    .split('_')
    .map((word) => word.slice(0, 1) + word.slice(1).toLowerCase())
    .join('')}Error`

let python: DriverProcess
beforeAll(() => {
  if (!PYTHON_MISSING) python = DriverProcess.python()
})
afterAll(() => python?.stop())

test.each(Object.entries(TYPES))('%s is made from the present document: run `bun run clients:types`', (path, make) => {
  expect(readFileSync(join(import.meta.dir, '../..', path), 'utf8')).toBe(make(document))
})

describe('TypeScript', () => {
  const client = new nightledger.Nightledger({ key: KEY, url: 'http://127.0.0.1:9' })

  test.each(operations)('%s has a method', (operation) => {
    const path = OPERATIONS[operation]
    if (path === undefined) throw new Error(`clients/conformance/operations.json does not name ${operation}`)
    expect(path.split('.').reduce((of: unknown, name) => Reflect.get(Object(of), name), client)).toBeFunction()
  })
  test.each(codes)('%s has a class', (code) => {
    const Class: unknown = Reflect.get(nightledger, className(code))
    expect(Class).toBeFunction()
    expect(CASES.some(({ steps }) => steps.some(({ error }) => error?.class === className(code)))).toBe(true)
  })
  test('no dump of a client has its key', () => {
    const dumps = [
      inspect(client, { depth: null, showHidden: true }),
      Bun.inspect(client, { depth: 20 }),
      JSON.stringify(client),
      String(client),
    ]
    for (const dump of dumps) expect(dump).not.toContain(KEY)
  })
  test('a key with characters that a header cannot have is refused without being repeated', () => {
    const make = () => new nightledger.Nightledger({ key: `${KEY}\n`, url: 'http://127.0.0.1:9' })
    expect(make).toThrow(new TypeError('key must be printable ASCII without spaces'))
  })
  test('a kept checkpoint that is no signed note is refused before anything is sent', async () => {
    const refusal = new TypeError('A checkpoint must be a signed note, as the service has sent it')
    for (const note of ['x', 'origin\n5\n', `origin\n-1\n${'A'.repeat(43)}=\n\n— key AAAA\n`]) {
      expect(() => client.changes.follow({ checkpoint: note })).toThrow(refusal)
      await expect(client.history.verify(note, note)).rejects.toThrow(refusal)
    }
  })
  test('an abort of the caller ends a call, its pauses and a loop over changes, with the reason of the caller', async () => {
    const leaving = new AbortController()
    const reason = new Error('leaving')
    const options = { signal: leaving.signal }
    const closed = new nightledger.Nightledger({ key: KEY, url: 'http://127.0.0.1:9' })
    const ended = [
      closed.me(options),
      closed.changes
        .follow({ after: 'c0', ...options })
        [Symbol.asyncIterator]()
        .next(),
    ]
    const thrown = Promise.all(
      ended.map((each) =>
        each.then(
          () => null,
          (error: unknown) => error,
        ),
      ),
    )
    await Bun.sleep(20)
    leaving.abort(reason)
    expect(await thrown).toEqual([reason, reason])
  })
  test.each([false, true])(
    'an abort between two changes that have arrived ends the loop there; polled: %p',
    async (poll) => {
      const changes = [1, 2].map((seq) => ({ cursor: `c${seq}`, seq }))
      const stream = changes.map((each) => `id: ${each.cursor}\ndata: ${JSON.stringify(each)}\n\n`).join('')
      const answer = () =>
        poll
          ? Response.json({ changes, cursor: 'c2', hasMore: true })
          : new Response(stream, { headers: { 'content-type': 'text/event-stream' } })
      const answering = new nightledger.Nightledger({
        key: KEY,
        url: 'http://127.0.0.1:9',
        fetch: async () => answer(),
      })
      const leaving = new AbortController()
      const reason = new Error('leaving')
      const follow = answering.changes.follow({ after: 'c0', signal: leaving.signal, poll })
      const seen: string[] = []
      const loop = (async () => {
        for await (const { cursor } of follow) {
          seen.push(cursor)
          leaving.abort(reason)
        }
      })()
      await expect(loop).rejects.toBe(reason)
      expect(seen).toEqual(['c1'])
      expect(follow.cursor).toBe('c1')
    },
  )
  test.each([
    ['a\nb', 'DE-1'],
    ['€ 17', 'DE-1'],
    ['k1', 17n as unknown],
  ])('arguments that cannot be sent are an error of the caller, at once: %p, %p', async (idempotencyKey, sourceRef) => {
    const pauses: number[] = []
    const clock = { now: () => 0, random: () => 1, sleep: async (ms: number) => void pauses.push(ms) }
    const careless = new nightledger.Nightledger({ key: KEY, url: 'http://127.0.0.1:9', clock })
    const stay = { unit: 'a', arrival: '2027-03-01', departure: '2027-03-05', sourceRef: sourceRef as string } as const
    await expect(careless.book(stay, { idempotencyKey })).rejects.toBeInstanceOf(TypeError)
    expect(pauses).toEqual([])
  })
  test('a time without limit is one, in place of a millisecond', async () => {
    const slow = async (_: string, { signal }: RequestInit) => {
      await Bun.sleep(20)
      signal?.throwIfAborted()
      return Response.json({ feeTypes: [] })
    }
    const limits = { timeoutMs: Infinity, deadlineMs: Infinity, triesMax: 1 }
    const patient = new nightledger.Nightledger({ key: KEY, url: 'http://127.0.0.1:9', fetch: slow, ...limits })
    expect(await patient.feeTypes()).toEqual([])
  })
  test('only a date that exists is a date', () => {
    expect(nightledger.isoDate('2028-02-29')).toBe('2028-02-29' as nightledger.IsoDate)
    for (const text of ['2027-02-29', '2027-13-01', '2027-1-1', '27-01-01', '', '2027-01-01T00:00:00Z'])
      expect(() => nightledger.isoDate(text)).toThrow(RangeError)
  })
})

describe.skipIf(PYTHON_MISSING)('Python', () => {
  test('every operation has a method, in both faces, and every code a class', async () => {
    const { missing, classes } = await python.ask({
      ask: 'surface',
      calls: operations.map((each) => OPERATIONS[each] ?? each),
    })
    expect(missing).toEqual([])
    for (const code of codes) expect(classes[code]).toBe(className(code))
  })
})
