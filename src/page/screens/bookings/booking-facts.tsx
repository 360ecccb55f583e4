import { useSession } from '../../data/use-session.ts'
import { Card, DescriptionList } from '../../design/card.tsx'
import { CopyButton } from '../../design/secret-dialog.tsx'
import { TYPE_LOOKS } from '../../design/status-looks.ts'
import { dayOf, dayText } from '../../format/days.ts'
import { instantText, timeLeft } from '../../format/instants.ts'
import { countryText, mailLink, phoneLink } from '../../format/texts.ts'
import { hashOf } from '../../route/route.ts'
import { type Booking, guestName, partyText, sourceText } from '../../stays/stay-name.ts'

type Item = readonly [name: string, value: preact.ComponentChildren]

export function BookingFacts({ booking }: { booking: Booking }) {
  const { agency } = useSession()
  const at = (instant: string) => instantText(instant, agency.timezone)
  const { holdExpiresAt, expectedUntil, cancelledAt, cancelReason, sourceRef } = booking
  const items: (Item | null)[] = [
    ['Unit', <a href={hashOf(['units', booking.unitSlug])}>{booking.unitName}</a>],
    ['Arrival', dayText(dayOf(booking.arrival), 'long')],
    ['Departure', dayText(dayOf(booking.departure), 'long')],
    expectedUntil === null ? null : ['Expected to stay until', dayText(dayOf(expectedUntil), 'long')],
    booking.type === 'guest' ? null : ['Type', TYPE_LOOKS[booking.type].label],
    holdExpiresAt === null ? null : ['Held until', `${at(holdExpiresAt)} (${timeLeft(holdExpiresAt)} left)`],
    cancelledAt === null ? null : ['Cancelled', at(cancelledAt)],
    cancelledAt === null ? null : ['Reason', cancelReason === 'hold_expired' ? 'The hold expired' : cancelReason],
    partyText(booking) === '' ? null : ['Party', partyText(booking)],
    booking.extraBed ? ['Extra bed', 'Yes'] : null,
    ['Source', sourceText(booking.source)],
    sourceRef === null ? null : ['Reference', sourceRef],
    ['Booked', at(booking.createdAt)],
    [
      'Booking id',
      <span class="booking-id">
        <code>{booking.id}</code>
        <CopyButton text={booking.id} label="Copy the booking id" />
      </span>,
    ],
  ]
  return (
    <Card title="Stay">
      <DescriptionList items={items.filter((item) => item !== null)} />
    </Card>
  )
}

export function GuestCard({ booking: { guest } }: { booking: Booking }) {
  if (guest === null)
    return (
      <Card title="Guest">
        <p class="muted">No guest name was given with this booking.</p>
      </Card>
    )
  const { email, phone } = guest
  return (
    <Card title="Guest" aside={<a href={hashOf(['guests', guest.id])}>Contact and stays</a>}>
      <DescriptionList
        items={[
          ['Name', guestName(guest)],
          ['E-mail', email === null ? null : <a href={mailLink(email)}>{email}</a>],
          ['Phone', phone === null ? null : <a href={phoneLink(phone)}>{phone}</a>],
          ['Nationality', guest.nationality === null ? null : countryText(guest.nationality)],
        ]}
      />
    </Card>
  )
}
