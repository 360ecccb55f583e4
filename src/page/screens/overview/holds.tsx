import { Badge } from '../../design/badge.tsx'
import { Card } from '../../design/card.tsx'
import { EmptyState } from '../../design/feedback.tsx'
import { dayRange } from '../../format/days.ts'
import { timeLeft } from '../../format/instants.ts'
import { useNow } from '../../lib/hooks.ts'
import { hashOf } from '../../route/route.ts'
import type { SheetStay } from './day-sheet.ts'

const SHOWN_MAX = 5
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
