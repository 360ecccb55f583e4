import './delivery-list.css'
import type { ComponentChildren } from 'preact'
import { answerOf, client } from '../api/client.ts'
import type { Schema } from '../api/schema.ts'
import { useMutation } from '../data/use-mutation.ts'
import { useSession } from '../data/use-session.ts'
import { Badge } from '../design/badge.tsx'
import { Button } from '../design/button.tsx'
import { Icon } from '../design/icon.tsx'
import type { BadgeTone } from '../design/status-looks.ts'
import { toast } from '../design/toast.tsx'
import { instantText, relativeTime } from '../format/instants.ts'
import { count, plural } from '../format/numbers.ts'
import { realTime } from '../lib/present.ts'

export type Delivery = Schema<'Delivery'>

const DELIVERY_LOOKS: Readonly<Record<Delivery['status'], { label: string; tone: BadgeTone }>> = {
  pending: { label: 'To be sent', tone: 'info' },
  held: { label: 'Waiting', tone: 'warn' },
  delivered: { label: 'Delivered', tone: 'good' },
  dead: { label: 'Failed', tone: 'bad' },
  dropped: { label: 'Dropped', tone: 'neutral' },
}

const EVENT_WORDS: Readonly<Record<Delivery['event'], string>> = {
  'booking.created': 'Booking made',
  'booking.updated': 'Booking changed',
  'booking.cancelled': 'Booking cancelled',
  'rates.updated': 'Rates or restrictions changed',
  'unit.updated': 'Unit changed',
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

/** A later attempt is not waited for: whoever asks for it again and again would keep the session alive all day. */
const SOON_MS = 90_000

/** Whether something is about to happen to one of these. */
export function isAwaited(deliveries: readonly Delivery[], now: number = realTime()): boolean {
  return deliveries.some(({ nextAttemptAt }) => nextAttemptAt !== null && Date.parse(nextAttemptAt) < now + SOON_MS)
}

/** Deliveries, each of which opens to show its attempts. `about`: what tells it from the others; `link`: where it leads. */
export function DeliveryList({
  deliveries,
  about,
  link,
}: {
  deliveries: readonly Delivery[]
  about: (delivery: Delivery) => ComponentChildren
  link: (delivery: Delivery) => ComponentChildren
}) {
  return (
    <ul class="deliveries">
      {deliveries.map((delivery) => (
        <li key={delivery.id}>
          <DeliveryDetails delivery={delivery} about={about(delivery)} link={link(delivery)} />
        </li>
      ))}
    </ul>
  )
}

function DeliveryDetails({
  delivery,
  about,
  link,
}: {
  delivery: Delivery
  about: ComponentChildren
  link: ComponentChildren
}) {
  const { agency } = useSession()
  const { event, status, createdAt, attempts } = delivery
  const look = DELIVERY_LOOKS[status]
  const last = attempts.at(-1)
  return (
    <details class="delivery">
      <summary>
        <span class="delivery-mark">
          <Icon name="right" size={14} />
        </span>
        <span class="delivery-what">
          <span class="delivery-event">{EVENT_WORDS[event]}</span>
          <span class="delivery-about">{about}</span>
        </span>
        <span class="delivery-state">
          <Badge tone={look.tone}>{look.label}</Badge>
          <span class="delivery-when" title={instantText(createdAt, agency.timezone)}>
            {relativeTime(createdAt)}
          </span>
        </span>
        {last !== undefined && !isAccepted(last) && (
          <span class="delivery-trouble">
            {attempts.length === 1
              ? `The receiver ${attemptWords(last)}`
              : `${plural(attempts.length, 'attempt')}; at the last one, the receiver ${attemptWords(last)}`}
          </span>
        )}
      </summary>
      <div class="delivery-body">
        <Attempts delivery={delivery} />
        <div class="delivery-foot">
          <Resend delivery={delivery} />
          {link}
        </div>
      </div>
    </details>
  )
}

function Resend({ delivery: { id, event, status } }: { delivery: Delivery }) {
  const { path, may } = useSession()
  const { run, isRunning } = useMutation({
    send: (deliveryId: string, header) =>
      answerOf(
        client.POST('/portal/v1/agencies/{agencySlug}/deliveries/{deliveryId}/resend', {
          params: { path: { ...path, deliveryId }, header },
        }),
      ),
    invalidates: ['webhooks', 'bookings'],
    onDone: ({ delivery }) =>
      toast({
        tone: 'good',
        text: delivery.status === 'held' ? 'It will be sent once the endpoint is switched on' : 'Sending it again',
      }),
  })
  if (event === 'ping') return null
  if (!may('manager')) return <p class="muted delivery-role">Only managers and owners can send it again.</p>
  return (
    <Button size="s" icon="refresh" isBusy={isRunning} onClick={() => void run(id)}>
      {status === 'pending' ? 'Send now' : 'Send again'}
    </Button>
  )
}

/** Every attempt of a delivery: when, how long it took, and what came of it. */
function Attempts({ delivery: { attempts, nextAttemptAt, status } }: { delivery: Delivery }) {
  const { agency } = useSession()
  return (
    <ol class="attempts">
      {attempts.map((one) => (
        <li key={one.attempt}>
          <span class={isAccepted(one) ? 'attempt-good' : 'attempt-bad'}>
            <Icon name={isAccepted(one) ? 'check' : 'close'} size={12} />
          </span>
          <span class="attempt-words">
            {instantText(one.at, agency.timezone)}: {attemptWords(one)}
          </span>
          <span class="numeric muted">{count(Math.round(one.durationMs))} ms</span>
        </li>
      ))}
      {nextAttemptAt !== null && (
        <li>
          <span class="attempt-next">
            <Icon name="clock" size={12} />
          </span>
          <span class="attempt-words">
            {attempts.length === 0 ? 'First' : 'Next'} attempt {instantText(nextAttemptAt, agency.timezone)}
          </span>
        </li>
      )}
      {status === 'held' && (
        <li>
          <span class="attempt-next">
            <Icon name="clock" size={12} />
          </span>
          <span class="attempt-words">Waiting until the endpoint is switched on</span>
        </li>
      )}
    </ol>
  )
}
