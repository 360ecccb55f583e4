import './calendar.css'
import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import { barText } from '../../chart/labels.ts'
import { type ChartUnit, isHold, type Stay } from '../../chart/stay.ts'
import { useResource } from '../../data/use-resource.ts'
import { useSession } from '../../data/use-session.ts'
import { StatusBadge } from '../../design/badge.tsx'
import { Button, LinkButton } from '../../design/button.tsx'
import { DescriptionList } from '../../design/card.tsx'
import { SidePanel } from '../../design/dialog.tsx'
import { ErrorNote, LoadStatus } from '../../design/feedback.tsx'
import { QuoteLines } from '../../design/quote-lines.tsx'
import { type Day, dayText } from '../../format/days.ts'
import { instantText, timeLeft } from '../../format/instants.ts'
import { money, plural } from '../../format/numbers.ts'
import { mailLink, phoneLink } from '../../format/texts.ts'
import { HistoryList } from '../../history/history-list.tsx'
import { historyLines } from '../../history/history-words.ts'
import { hashOf } from '../../route/route.ts'
import { useRoute } from '../../route/router.ts'
import { tryPatch, useTried } from '../../stays/booking-writes.ts'
import { type Booking, partyText, sourceText } from '../../stays/stay-name.ts'
import { Together } from '../../stays/together.tsx'
import { getBooking } from './calendar-data.ts'
import { StayActions } from './stay-actions.tsx'

interface StayPanelProps {
  readonly stay: Stay
  /** The units of the chart, for their names. */
  readonly units: readonly ChartUnit[]
  readonly today: Day
  readonly nowS: number
  readonly onTook: (booking: Booking) => void
  readonly onMove: () => void
  readonly onClose: () => void
}

/** A stay with its details and what can be done with it. */
export function StayPanel({ stay, units, today, nowS, onTook, onMove, onClose }: StayPanelProps) {
  const { path, agency, may } = useSession()
  const { query } = useRoute()
  const nameOf = (unit: string) => units.find(({ slug }) => slug === unit)?.name ?? unit
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
          ['Unit', <a href={hashOf(['units', stay.unit])}>{nameOf(stay.unit)}</a>],
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
      {stay.groupId !== null && (
        <section aria-label="Booked together">
          <h3 class="stay-head">Booked together</h3>
          <Together
            {...stay}
            groupId={stay.groupId}
            hrefOf={(id) => hashOf('calendar', { ...query, booking: id })}
            onCancelled={(bookings) => bookings.forEach(onTook)}
          />
        </section>
      )}
      {stay.type === 'guest' && <StayPrice stay={stay} />}
      <StayHistory stay={stay} nameOf={nameOf} />
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

/** The changes of the stay, read when the section is opened. */
function StayHistory(props: { stay: Stay; nameOf: (unit: string) => string }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details class="stay-history" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>History</summary>
      {isOpen && <Changes {...props} />}
    </details>
  )
}

function Changes({ stay: { id, type, version }, nameOf }: { stay: Stay; nameOf: (unit: string) => string }) {
  const { path } = useSession()
  const { data, error, refresh } = useResource(`bookings/${id}/history?version=${version}`, (signal) =>
    answerOf(
      client.GET('/portal/v1/agencies/{agencySlug}/bookings/{bookingId}/history', {
        params: { path: { ...path, bookingId: id } },
        signal,
      }),
    ),
  )
  return (
    <>
      <LoadStatus of={{ data, error, refresh }} />
      {data !== undefined && <HistoryList entries={historyLines(data.history, { type, nameOf })} />}
      {data !== undefined && data.history[0]?.event !== 'booking.created' && (
        <p class="muted">Earlier changes are no longer kept.</p>
      )}
    </>
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
