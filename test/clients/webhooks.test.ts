/** `unwrap` of both clients, with the vectors that the service's signatures are tested with. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { unwrap, WebhookError } from '../../clients/typescript/src/webhooks.ts'
import { vectors } from '../../docs/webhooks/vectors.json'
import { DriverProcess, PYTHON_MISSING } from './support/driver-process.ts'

interface Message {
  readonly body: Uint8Array<ArrayBuffer>
  readonly headers: Record<string, string>
  readonly secret: string | readonly string[]
  /** Unix seconds. */
  readonly now: number
}

const SECRET = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8='
const T = 1_795_236_025
const bytes = (text: string) => new TextEncoder().encode(text)
const signed = (body: Uint8Array, secret = SECRET) =>
  createHmac('sha256', secret).update(`${T}.`).update(body).digest('hex')

let python: DriverProcess
beforeAll(() => {
  if (!PYTHON_MISSING) python = DriverProcess.python()
})
afterAll(() => python?.stop())

/** The event, or why the message was refused. */
async function inTypescript({ body, headers, secret, now }: Message): Promise<unknown> {
  return unwrap(body, headers, secret, { now: now * 1_000 }).catch((error) => {
    if (error instanceof WebhookError) return error.reason
    throw error
  })
}

async function inPython({ body, ...message }: Message): Promise<unknown> {
  const { event, reason } = await python.ask({ ask: 'webhook', body: Buffer.from(body).toString('hex'), ...message })
  return event ?? reason
}

test('a body may be a Buffer, as frameworks declare it', async () => {
  const body: Buffer = Buffer.from('{}{"event":"ping"}').subarray(2)
  const headers = { 'x-service-signature': `t=${T}, v1=${signed(body)}` }
  expect<unknown>(await unwrap(body, headers, SECRET, { now: T * 1_000 })).toEqual({ event: 'ping' })
})

describe.each([['TypeScript', inTypescript], ...(PYTHON_MISSING ? [] : ([['Python', inPython]] as const))] as const)(
  '%s',
  (_, play) => {
    const body = bytes('{"event":"ping"}')
    const message = (change: Partial<Message> = {}): Message => ({
      body,
      headers: { 'x-service-signature': `t=${T}, v1=${signed(body)}` },
      secret: SECRET,
      now: T,
      ...change,
    })

    test.each(vectors.map((each) => [each.name, each] as const))(
      '%s is accepted with each of its secrets',
      async (_, each) => {
        for (const secret of [...each.secrets, each.secrets]) {
          const event = await play({ body: bytes(each.body), headers: each.headers, secret, now: each.t })
          expect(event).toEqual(JSON.parse(each.body))
        }
      },
    )
    test('a header in other letters is found', async () => {
      const headers = { 'X-Service-Signature': `t=${T}, v1=${signed(body)}` }
      expect(await play(message({ headers }))).toEqual({ event: 'ping' })
    })
    test('during a rotation of the receiver, both of its secrets are accepted, and no third', async () => {
      const other = 'whsec_other'
      const headers = { 'x-service-signature': `t=${T}, v1=${signed(body, other)}` }
      expect(await play(message({ headers, secret: [SECRET, other] }))).toEqual({ event: 'ping' })
      expect(await play(message({ headers, secret: [SECRET, 'whsec_third'] }))).toBe('signature')
    })
    test('a changed body, another secret and a changed time are refused', async () => {
      expect(await play(message({ body: bytes('{"event":"pong"}') }))).toBe('signature')
      expect(await play(message({ secret: 'whsec_other' }))).toBe('signature')
      const headers = { 'x-service-signature': `t=${T + 1}, v1=${signed(body)}` }
      expect(await play(message({ headers }))).toBe('signature')
    })
    test('300 seconds off is accepted, more is not, either way', async () => {
      for (const off of [-300, 300]) expect(await play(message({ now: T + off }))).toEqual({ event: 'ping' })
      for (const off of [-301, 301]) expect(await play(message({ now: T + off }))).toBe('time')
    })
    test.each([
      '',
      't=1',
      `v1=${'0'.repeat(64)}`,
      `t=x, v1=${'0'.repeat(64)}`,
      `t=${T}, v1=${'0'.repeat(63)}`,
      `t=${T}, v1=${'G'.repeat(64)}`,
    ])('the header "%s" is refused', async (header) => {
      expect(await play(message({ headers: { 'x-service-signature': header } }))).toBe('header')
    })
    test('a message without the header is refused', async () => {
      expect(await play(message({ headers: {} }))).toBe('header')
    })
    test('a signed body that is not JSON is refused', async () => {
      const text = bytes('not JSON')
      const headers = { 'x-service-signature': `t=${T}, v1=${signed(text)}` }
      expect(await play(message({ body: text, headers }))).toBe('body')
    })
  },
)

test('a string is refused: its bytes may not be those that were signed', async () => {
  // @ts-expect-error: the type asks for bytes
  const refused = unwrap('{}', new Headers(), SECRET).catch((error: unknown) => error)
  expect(await refused).toBeInstanceOf(TypeError)
})
