import './delivery-list.css'
import type { ComponentChildren } from 'preact'
import { answerOf, client } from '../api/client.ts'
import { useMutation } from '../data/use-mutation.ts'
import { Badge } from '../design/badge.tsx'
import { Button } from '../design/button.tsx'
import { Icon } from '../design/icon.tsx'
import { toast } from '../design/toast.tsx'
import { plural } from '../format/count.ts'
import { instantText, relativeTime } from '../format/instants.ts'
import { useSession } from '../session/use-session.ts'
import { Attempts } from './attempts.tsx'
import { attemptWords, DELIVERY_LOOKS, type Delivery, EVENT_WORDS, isAccepted } from './delivery-looks.ts'

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
