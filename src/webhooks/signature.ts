import { createHmac } from 'node:crypto'
import type { Instant } from '../core/domain/booking.ts'
import { secretBytes } from './signing-secret.ts'

export const USER_AGENT = 'nightledger-webhooks/1'

/**
 * The headers of one attempt. Every active secret signs, the newest first: after a rotation with overlap there are two,
 * and a receiver accepts the message if either signature matches.
 * @param at time of the attempt; signatures carry whole seconds
 */
export function signedHeaders(message: {
  eventId: string
  body: string
  at: Instant
  secrets: readonly string[]
}): Record<string, string> {
  const { eventId, body, secrets } = message
  const t = Math.floor(message.at / 1_000)
  return {
    'content-type': 'application/json',
    'user-agent': USER_AGENT,
    'x-service-signature': `t=${t}, ${secrets.map((secret) => `v1=${serviceSignature(secret, t, body)}`).join(', ')}`,
    'webhook-id': eventId,
    'webhook-timestamp': String(t),
    'webhook-signature': secrets.map((secret) => `v1,${standardSignature(secret, eventId, t, body)}`).join(' '),
  }
}

/** Lower-case hex over `<t>.<raw body>`, keyed with the secret's characters as shown (docs/contract.md#signature). */
export function serviceSignature(secret: string, t: number, body: string): string {
  return createHmac('sha256', secret).update(`${t}.${body}`).digest('hex')
}

/** Base64 over `<id>.<t>.<raw body>`, keyed with the secret's bytes (Standard Webhooks specification). */
export function standardSignature(secret: string, eventId: string, t: number, body: string): string {
  return createHmac('sha256', secretBytes(secret)).update(`${eventId}.${t}.${body}`).digest('base64')
}
