import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { BODY_DEPTH_MAX, parseJson, readJson } from '../../src/http/read-request.ts'

const post = (body: string | Uint8Array<ArrayBuffer>, type: string | null = 'application/json') =>
  new Request('http://localhost/', { method: 'POST', body, headers: type === null ? {} : { 'content-type': type } })

describe('parseJson', () => {
  test('gives what JSON.parse gives, for any value that can be stored', () => {
    const storable = fc
      .jsonValue({ maxDepth: 10 })
      .filter((value) => !/\\u0000|\\ud[89a-f]/i.test(JSON.stringify(value)))
    fc.assert(
      fc.property(storable, (value) => {
        expect(parseJson(JSON.stringify(value))).toEqual({ kind: 'read', value: JSON.parse(JSON.stringify(value)) })
      }),
    )
  })
  test('refuses escapes of what cannot be stored, in names too', () => {
    for (const text of ['{"a":["x\\u0000"]}', '{"a":["\\ud800"]}', '{"a":["\\uDC00x"]}', '{"\\u0000":1}', '"\\u0000"'])
      expect(parseJson(text).kind).toBe('refused')
    expect(parseJson('["\\ud83d\\ude00", "\\\\u0000"]').kind).toBe('read')
    for (const text of ['{"a":1e999}', '[-1e999]', '[0.9e999]', '[9E999]', '[10e999]'])
      expect(parseJson(text).kind).toBe('refused')
  })
  test('takes depth 32 and refuses 33, however it is nested; brackets in strings do not count', () => {
    const nested = (depth: number) => '[{"a":'.repeat(depth / 2) + (depth % 2 ? '[]' : '1') + '}]'.repeat(depth / 2)
    expect(parseJson(nested(BODY_DEPTH_MAX)).kind).toBe('read')
    expect(parseJson(nested(BODY_DEPTH_MAX + 1)).kind).toBe('refused')
    expect(parseJson(`["${'[{'.repeat(500)}"]`).kind).toBe('read')
    expect(parseJson(`["\\"${'['.repeat(500)}"]`).kind).toBe('read')
    expect(parseJson(`["\\\\",${'['.repeat(32)}${']'.repeat(32)}]`).kind).toBe('refused')
  })
  test('the last of two equal members wins', () => {
    expect(parseJson('{"a":1,"a":2}')).toEqual({ kind: 'read', value: { a: 2 } })
  })
  test('__proto__ is a member like any other, and changes no object', () => {
    const read = parseJson('{"__proto__":{"polluted":true}}')
    expect(read.kind === 'read' && Object.keys(read.value as object)).toEqual(['__proto__'])
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })
})

describe('readJson', () => {
  test('no body is undefined, whatever the type', async () => {
    expect(await readJson(new Request('http://localhost/', { method: 'POST' }))).toEqual({
      kind: 'read',
      value: undefined,
    })
    expect(await readJson(post('', null))).toEqual({ kind: 'read', value: undefined })
  })
  test.each([
    'application/json',
    'Application/JSON',
    'application/json;charset=utf-8',
    'application/json; charset="UTF-8"',
    'application/json; profile=x',
  ])('the type %s is JSON', async (type) => {
    expect(await readJson(post('{}', type))).toEqual({ kind: 'read', value: {} })
  })
  test.each([null, '', 'text/json', 'application/json+x', 'application/jsonx', 'application/json; charset=utf-16'])(
    'the type %s is not',
    async (type) => {
      // A request with text and no type gets one from the platform; bytes do not.
      expect((await readJson(post(new TextEncoder().encode('{}'), type))).kind).toBe('refused')
    },
  )
  test('a stream without a length is read to its end, and no further than the limit', async () => {
    const stream = (chunks: number) =>
      new ReadableStream({
        pull(controller) {
          if (chunks-- > 0) controller.enqueue(new TextEncoder().encode(' '.repeat(10_000)))
          else {
            controller.enqueue(new TextEncoder().encode('1'))
            controller.close()
          }
        },
      })
    const read = (chunks: number) =>
      readJson(
        new Request('http://localhost/', {
          method: 'POST',
          body: stream(chunks),
          headers: { 'content-type': 'application/json' },
        }),
      )
    expect(await read(6)).toEqual({ kind: 'read', value: 1 })
    expect(await read(7)).toMatchObject({ kind: 'refused', problem: { status: 413, code: 'VALIDATION' } })
  })
  test('a stream that breaks off is a refusal, not a failure', async () => {
    const body = new ReadableStream({
      start: (controller) => controller.error(new Error('gone')),
    })
    const request = new Request('http://localhost/', {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json' },
    })
    expect(await readJson(request)).toMatchObject({ kind: 'refused', problem: { status: 400 } })
  })
})
