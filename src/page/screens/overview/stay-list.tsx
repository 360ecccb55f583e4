import { Badge, StatusBadge } from '../../design/badge.tsx'
import { Card } from '../../design/card.tsx'
import { EmptyState } from '../../design/feedback.tsx'
import type { IconName } from '../../design/icon.tsx'
import { type Day, dayRange, isoOf } from '../../format/days.ts'
import { timeLeft } from '../../format/instants.ts'
import { count } from '../../format/numbers.ts'
import { useNow } from '../../lib/hooks.ts'
import { hashOf } from '../../route/route.ts'
import type { SheetStay } from './day-sheet.ts'

const SHOWN_MAX = 5

/** Stays of today, each a link to its booking. */
export function StayList({
  title,
  icon,
  stays,
  today,
  empty,
  when,
}: {
  title: string
  icon: IconName
  stays: readonly SheetStay[]
  today: Day
  empty: string
  when: (stay: SheetStay) => string
}) {
  return (
    <Card title={title} isFlush aside={stays.length > 0 && <span class="numeric">{count(stays.length)}</span>}>
      {stays.length === 0 ? (
        <EmptyState icon={icon} title={empty} />
      ) : (
        <ul class="stay-list">
          {stays.slice(0, SHOWN_MAX).map((stay) => (
            <li key={stay.id}>
              <a class="stay" href={hashOf(['bookings', stay.id])}>
                <span class="stay-who">{stay.guest ?? 'Guest without a name'}</span>
                <span class="stay-mark">
                  <StatusBadge status={stay.status} type={stay.type} />
                </span>
                <span class="stay-where">{stay.unit}</span>
                <span class="stay-when">{when(stay)}</span>
              </a>
            </li>
          ))}
        </ul>
      )}
      {stays.length > SHOWN_MAX && (
        <a class="stay-more" href={hashOf('bookings', { type: 'guest', from: isoOf(today), to: isoOf(today) })}>
          {count(stays.length - SHOWN_MAX)} more: see the guests of today
        </a>
      )}
    </Card>
  )
}

const SOON_MS = 24 * 3_600_000

/** Holds, soonest to expire first, with the time that is left. */
export function Holds({ holds }: { holds: readonly SheetStay[] }) {
  const now = useNow()
  const shown = holds.slice(0, SHOWN_MAX)
  return (
    <Card
      title="Holds expiring soon"
      isFlush
      aside={holds.length > SHOWN_MAX && <a href={hashOf('bookings', { status: 'option' })}>All {holds.length}</a>}
    >
      {shown.length === 0 ? (
        <EmptyState icon="clock" title="No open holds" />
      ) : (
        <ul class="stay-list">
          {shown.map(({ id, guest, unit, arrival, departure, holdExpiresAt }) => (
            <li key={id}>
              <a class="stay" href={hashOf(['bookings', id])}>
                <span class="stay-who">{guest ?? 'Guest without a name'}</span>
                <span class="stay-mark">
                  <Badge tone={(holdExpiresAt ?? 0) - now < SOON_MS ? 'warn' : 'neutral'}>
                    {timeLeft(holdExpiresAt ?? 0, now)} left
                  </Badge>
                </span>
                <span class="stay-where">{unit}</span>
                <span class="stay-when">{dayRange(arrival, departure)}</span>
              </a>
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}
