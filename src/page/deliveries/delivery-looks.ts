/** How deliveries of webhook events look and read. */
import type { Schema } from '../api/schema.ts'
import type { BadgeTone } from '../design/status-looks.ts'

export type Delivery = Schema<'Delivery'>

export const DELIVERY_LOOKS: Readonly<Record<Delivery['status'], { label: string; tone: BadgeTone }>> = {
  pending: { label: 'To be sent', tone: 'info' },
  held: { label: 'Waiting', tone: 'warn' },
  delivered: { label: 'Delivered', tone: 'good' },
  dead: { label: 'Failed', tone: 'bad' },
  dropped: { label: 'Dropped', tone: 'neutral' },
}

export const EVENT_WORDS: Readonly<Record<Delivery['event'], string>> = {
  'booking.created': 'Booking made',
  'booking.updated': 'Booking changed',
  'booking.cancelled': 'Booking cancelled',
  ping: 'Test message',
}

type Attempt = Delivery['attempts'][number]

/** `answered 200`, `no answer within 10 s`. */
export function attemptWords({ httpStatus, reason }: Pick<Attempt, 'httpStatus' | 'reason'>): string {
  if (httpStatus !== null) return `answered ${httpStatus}${STATUS_HINTS[httpStatus] ?? ''}`
  return REASONS[reason ?? ''] ?? reason ?? 'no answer'
}

export function isAccepted({ httpStatus }: Pick<Attempt, 'httpStatus'>): boolean {
  return httpStatus !== null && httpStatus >= 200 && httpStatus < 300
}

/** What a receiver usually means by it. */
const STATUS_HINTS: Readonly<Record<number, string>> = {
  401: ': it rejects the signature, or asks for a password',
  403: ': it forbids the request',
  404: ': there is nothing at this address',
  405: ': it does not accept POST requests',
  410: ': it is no longer there',
  429: ': too many requests',
  500: ': the receiver failed',
  502: ': the server behind it is down',
  503: ': the receiver is unavailable',
}

const REASONS: Readonly<Record<string, string>> = {
  'endpoint address is not publicly routable': 'was not called: the address is on a private network',
  'endpoint not reachable': 'could not be reached: wrong host name, closed port or invalid certificate',
  'no answer within 10s': 'did not answer within 10 seconds',
  'event could not be read': 'was not called: the event could not be read',
}
