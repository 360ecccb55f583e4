import './calendar.css'
import { useState } from 'preact/hooks'
import { barText } from '../../chart/labels.ts'
import { type ChartUnit, isHold, type Stay } from '../../chart/stay.ts'
import { useResource } from '../../data/use-resource.ts'
import { useSession } from '../../data/use-session.ts'
import { StatusBadge } from '../../design/badge.tsx'
import { Button, LinkButton } from '../../design/button.tsx'
import { DescriptionList } from '../../design/card.tsx'
import { SidePanel } from '../../design/dialog.tsx'
import { ErrorNote } from '../../design/feedback.tsx'
import { QuoteLines } from '../../design/quote-lines.tsx'
import { type Day, dayText } from '../../format/days.ts'
import { instantText, timeLeft } from '../../format/instants.ts'
import { money, plural } from '../../format/numbers.ts'
import { mailLink, phoneLink } from '../../format/texts.ts'
import { hashOf } from '../../route/route.ts'
import { tryPatch, useTried } from '../../stays/booking-writes.ts'
import { type Booking, partyText, sourceText } from '../../stays/stay-name.ts'
import { getBooking } from './calendar-data.ts'
import { StayActions } from './stay-actions.tsx'

interface StayPanelProps {
  readonly stay: Stay
  readonly unit: ChartUnit | null
  readonly today: Day
  readonly nowS: number
  readonly onTook: (booking: Booking) => void
  readonly onMove: () => void
  readonly onClose: () => void
}

/** A stay with its details and what can be done with it. */
export function StayPanel({ stay, unit, today, nowS, onTook, onMove, onClose }: StayPanelProps) {
  const { path, agency, may } = useSession()
  // Reloaded for each new version that the change stream reports.
  const { data, error } = useResource(`bookings/${stay.id}?version=${stay.version}`, (signal) =>
    getBooking(path, stay.id, signal),
  )
  const [last, setLast] = useState<Booking | null>(null)
  if (data !== undefined && data.booking !== last) setLast(data.booking)
  const booking = data?.booking ?? last
  const guest = booking?.guest ?? null
  const isStay = stay.type === 'guest' || stay.type === 'owner_stay'

  return (
    <SidePanel
      title={barText(stay)}
      onClose={onClose}
      footer={
        <LinkButton href={hashOf(['bookings', stay.id])} icon="external">
          Booking page
        </LinkButton>
      }
    >
      <div class="stay-status">
        <StatusBadge status={stay.status} type={stay.type} />
        {stay.type !== 'guest' && isHold(stay.status) && <StatusBadge status={stay.status} />}
        {stay.holdExpiresAt !== null && (
          <span class="numeric" title={instantText(stay.holdExpiresAt * 1_000, agency.timezone)}>
            {timeLeft(stay.holdExpiresAt * 1_000, nowS * 1_000)} left
          </span>
        )}
      </div>
      {may('desk') && <StayActions {...{ stay, today, onTook, onMove }} />}
      <DescriptionList
        items={[
          ['Unit', <a href={hashOf(['units', stay.unit])}>{unit?.name ?? stay.unit}</a>],
          ['Arrival', dayText(stay.arrival, 'long')],
          ['Departure', `${dayText(stay.departure, 'long')} (${plural(stay.departure - stay.arrival, 'night')})`],
          ...(stay.expectedUntil === null ? [] : [['Expected until', dayText(stay.expectedUntil, 'long')] as const]),
          ...(isStay ? [['Party', partyText(stay)] as const] : []),
          ...(guest === null
            ? []
            : [
                ['E-mail', guest.email === null ? null : <a href={mailLink(guest.email)}>{guest.email}</a>] as const,
                ['Phone', guest.phone === null ? null : <a href={phoneLink(guest.phone)}>{guest.phone}</a>] as const,
              ]),
          [
            'Source',
            stay.sourceRef === null ? sourceText(stay.source) : `${sourceText(stay.source)}, ${stay.sourceRef}`,
          ],
          ...(booking?.notes ? [['Notes', booking.notes] as const] : []),
        ]}
      />
      <ErrorNote problem={error} />
      {stay.type === 'guest' && <StayPrice stay={stay} />}
    </SidePanel>
  )
}

/** The agreed total, and how the present rates come to theirs. */
function StayPrice({ stay }: { stay: Stay }) {
  const { path, currency, may } = useSession()
  const mayEdit = may('desk')
  const { tried } = useTried(mayEdit ? { lines: stay.id, version: stay.version } : null, (signal) =>
    tryPatch({}, { ...path, bookingId: stay.id }, signal),
  )
  const quote = tried?.quote ?? null
  const isSame = quote !== null && quote.total === stay.total
  return (
    <section class="stay-price" aria-label="Price">
      {!isSame && (
        <p class="stay-total">
          <span>Total</span>
          <strong class="numeric">{stay.total === null ? '—' : money(stay.total, currency)}</strong>
        </p>
      )}
      {quote !== null && !isSame && <p class="muted">At today’s rates and fees the stay would cost:</p>}
      {quote !== null && (
        <QuoteLines
          lines={quote.lines}
          total={quote.total}
          totalHead={`Total, ${plural(quote.nights, 'night')}`}
          currency={currency}
        />
      )}
    </section>
  )
}

/** For an address with a booking that has been cancelled since. */
export function MissingStayPanel({ onClose }: { onClose: () => void }) {
  return (
    <SidePanel title="Stay" onClose={onClose} footer={<Button onClick={onClose}>Close</Button>}>
      <p>This stay is not in the calendar: it was cancelled, or it is more than two years away.</p>
    </SidePanel>
  )
}
