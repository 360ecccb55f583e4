import { StatusBadge } from '../../design/badge.tsx'
import { Card } from '../../design/card.tsx'
import { EmptyState } from '../../design/feedback.tsx'
import type { IconName } from '../../design/icon.tsx'
import { type Day, isoOf } from '../../format/days.ts'
import { count } from '../../format/numbers.ts'
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
