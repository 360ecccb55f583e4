import { expect, test } from 'bun:test'
import {
  HeaderTexts,
  headersText,
  readAnswerHead,
  readNotOwnerHead,
  readRequestHead,
  requestHead,
} from '../../../src/cluster/forward/frame-heads.ts'
import { FRAME, FRAME_BYTES_MAX, type Frame, FrameQueue, FrameReader } from '../../../src/cluster/forward/frames.ts'

const SENT = [
  { kind: FRAME.request, id: 1, head: 'GET\nhttp://a/ä\n', body: 'text ü€😀' },
  { kind: FRAME.part, id: 4_294_967_295, head: '', body: Uint8Array.of(0, 255, 254, 10, 195) },
  { kind: FRAME.end, id: 7, head: '', body: null },
  { kind: FRAME.answer, id: 8, head: '200\n', body: 'x'.repeat(300) },
]
const READ = SENT.map(({ kind, id, head, body }) => ({ kind, id, head, body: [...Buffer.from(body ?? '')] }))

function written(write: (bytes: Uint8Array) => number = (bytes) => bytes.length): { bytes: Buffer; queue: FrameQueue } {
  const pieces: Buffer[] = []
  const queue = new FrameQueue((bytes) => {
    const taken = write(bytes)
    pieces.push(Buffer.from(bytes.subarray(0, taken)))
    return taken
  })
  for (const { kind, id, head, body } of SENT) queue.push(kind, id, head, body)
  queue.flush()
  while (queue.size > 0) queue.unblock()
  return { bytes: Buffer.concat(pieces), queue }
}

function reader() {
  const frames: { kind: number; id: number; head: string; body: number[] }[] = []
  const read = new FrameReader(({ kind, id, head, body }: Frame) => frames.push({ kind, id, head, body: [...body] }))
  return { frames, read: (bytes: Buffer) => read.read(bytes) }
}

test('frames arrive as they were sent, wherever the bytes are cut in two', () => {
  const { bytes } = written()
  for (let cut = 0; cut <= bytes.length; cut++) {
    const { frames, read } = reader()
    expect(read(Buffer.from(bytes.subarray(0, cut))) && read(Buffer.from(bytes.subarray(cut)))).toBe(true)
    expect(frames).toEqual(READ)
  }
})

test('frames arrive as they were sent, byte by byte', () => {
  const { frames, read } = reader()
  for (const byte of written().bytes) expect(read(Buffer.of(byte))).toBe(true)
  expect(frames).toEqual(READ)
})

test('a connection that takes a few bytes at a time, or none, gets all of them in order', () => {
  let calls = 0
  const { bytes } = written(() => (calls++ % 3 === 0 ? 0 : 7))
  const { frames, read } = reader()
  read(bytes)
  expect(frames).toEqual(READ)
})

test('what is pushed in one turn is written once', async () => {
  const writes: number[] = []
  const queue = new FrameQueue((bytes) => {
    writes.push(bytes.length)
    return bytes.length
  })
  for (let id = 0; id < 500; id++) queue.push(FRAME.request, id, 'head', 'b'.repeat(1_000))
  expect(writes).toEqual([])
  await new Promise((resolve) => setImmediate(resolve))
  expect(writes).toEqual([500 * (13 + 4 + 1_000)])
})

test.each([
  ['shorter than its own prefix', [8, 0]],
  ['longer than any may be', [FRAME_BYTES_MAX + 1, 0]],
  ['with a head that ends after it', [12, 4]],
])('a frame %s is none', (_, [length, head]) => {
  const bytes = Buffer.alloc(32)
  bytes.writeUInt32LE(length as number, 0)
  bytes.writeUInt32LE(head as number, 9)
  expect(reader().read(bytes)).toBe(false)
})

test('headers arrive as they are, several cookies too, and those of one request are none of the next', () => {
  const texts = new HeaderTexts()
  const cookies = new Headers({ 'x-latin': 'ä', 'content-type': 'text/plain' })
  cookies.append('set-cookie', 'a=1')
  cookies.append('set-cookie', 'b=2; HttpOnly')
  for (const headers of [
    new Headers({ a: '1', b: '' }),
    new Headers({ a: '2', b: 'x' }),
    new Headers({ a: '3' }),
    cookies,
    new Headers(),
  ])
    expect(texts.read(headersText(headers))?.toJSON()).toEqual(headers.toJSON())
})

test.each([
  '',
  'a\n',
  'a\n\0',
  'a\n\x001',
  'a\n\x001\n2\n',
  'a\nb\n\x001\n',
  'a b\n\x001\n',
  'set-cookie\nset-cookie\n\x001\n',
])('%p are no headers', (text) => expect(new HeaderTexts().read(text)).toBeNull())

test('the head of a request arrives as it was sent', () => {
  const head = { method: 'POST', url: 'http://a/ä?b', shard: 255, listener: 'admin', hasNewKey: true } as const
  for (const sent of [
    { ...head, route: 'POST /ä', peer: '::1' },
    { ...head, route: null, peer: null, hasNewKey: false },
  ])
    expect(readRequestHead(requestHead(sent, 'a\n\0b\n'))).toEqual({ head: sent, headers: 'a\n\0b\n' })
})

test.each([
  '',
  'GET\n/',
  'GET\n/\n-\n1\npublic\n-\n',
  'GET\n/\n-\n256\npublic\n-\n-\n',
  'GET\n/\n-\n1.5\npublic\n-\n-\n',
  'GET\n/\n-\n1\nother\n-\n-\n',
])('%p is no head of a request', (text) => expect(readRequestHead(text)).toBeNull())

test.each(['', '200', '99\n\0', '600\n\0', 'x\n\0', '200\na\n'])('%p is no head of an answer', (text) =>
  expect(readAnswerHead(text, new HeaderTexts())).toBeNull(),
)

test.each(['', '{}', '{"owner":null}', '{"owner":{"id":1,"url":"x"},"isDoubtful":true}', 'null'])(
  '%p names no owner',
  (text) => expect(readNotOwnerHead(text)).toBeNull(),
)
