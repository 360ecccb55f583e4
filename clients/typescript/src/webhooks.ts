import type {
  BookingCancelledEvent,
  BookingCreatedEvent,
  BookingUpdatedEvent,
  RatesUpdatedEvent,
  UnitUpdatedEvent,
} from './types.ts'

interface Ping {
  id: string
  event: 'ping'
  occurredAt: string
  data: Record<string, never>
}

/** `mode` is `test` in an agency's sandbox, and absent elsewhere. */
export type WebhookEvent = (
  | BookingCreatedEvent
  | BookingUpdatedEvent
  | BookingCancelledEvent
  | RatesUpdatedEvent
  | UnitUpdatedEvent
  | Ping
) & { mode?: 'test' }

/** The message was not signed with a secret of the endpoint, or not now. Answer 400, and do nothing else. */
export class WebhookError extends Error {
  override name = 'WebhookError'
  declare readonly reason: 'header' | 'time' | 'signature' | 'body'

  constructor(reason: WebhookError['reason'], message: string) {
    super(message)
    this.reason = reason
  }
}

type HeadersIn = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

const HEADER = 'x-service-signature'
/** More than a rotation needs; each costs a computation. */
const SIGNATURES_MAX = 4

/**
 * Checks that the service has signed this message, and returns its event.
 * @param rawBody the bytes as received: parsing and serialising a body again changes them
 * @param secret of the endpoint, with `whsec_`; during a rotation one of the two secrets is enough, and both may be given
 * @throws WebhookError
 */
export async function unwrap(
  rawBody: Uint8Array | ArrayBuffer,
  headers: HeadersIn,
  secret: string | readonly string[],
  { toleranceSeconds = 300, now = Date.now() }: { readonly toleranceSeconds?: number; readonly now?: number } = {},
): Promise<WebhookEvent> {
  // JavaScript callers have no types.
  if (typeof rawBody === 'string') throw new TypeError('rawBody must be the bytes of the body, not a string')
  const parts = headerOf(headers).split(/ *, */)
  const time = parts.find((part) => /^t=\d{1,12}$/.test(part))?.slice(2)
  const signatures = parts.filter((part) => /^v1=[0-9a-f]{64}$/.test(part)).slice(0, SIGNATURES_MAX)
  if (time === undefined || signatures.length === 0)
    throw new WebhookError('header', `${HEADER} must be t=<seconds>, v1=<64 hexadecimal digits>`)
  if (Math.abs(now / 1_000 - Number(time)) > toleranceSeconds)
    throw new WebhookError('time', `The message was signed more than ${toleranceSeconds} s from now`)
  const bytes = new Uint8Array(rawBody)
  const signed = await new Blob([`${time}.`, bytes]).arrayBuffer()
  let isSigned = false
  for (const each of [secret].flat()) {
    const algorithm = { name: 'HMAC', hash: 'SHA-256' }
    const key = await crypto.subtle.importKey('raw', new TextEncoder().encode(each), algorithm, false, ['verify'])
    // In constant time.
    for (const signature of signatures)
      isSigned = (await crypto.subtle.verify('HMAC', key, bytesOf(signature.slice(3)), signed)) || isSigned
  }
  if (!isSigned) throw new WebhookError('signature', 'The message is not signed with a secret of this endpoint')
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    throw new WebhookError('body', 'The body is not JSON')
  }
}

function headerOf(headers: HeadersIn): string {
  if (headers instanceof Headers) return headers.get(HEADER) ?? ''
  return String(Object.entries(headers).find(([name]) => name.toLowerCase() === HEADER)?.[1] ?? '')
}

function bytesOf(hex: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
}
