import { useSession } from '../../data/use-session.ts'
import { StatusBadge } from '../../design/badge.tsx'
import { Icon } from '../../design/icon.tsx'
import { type Column, Table } from '../../design/table.tsx'
import { timeLeft } from '../../format/instants.ts'
import { type Currency, money, plural } from '../../format/numbers.ts'
import { useIsPhone, useIsTablet } from '../../lib/hooks.ts'
import { hashOf } from '../../route/route.ts'
import { type Booking, sourceText, stayDates, stayName } from '../../stays/stay-name.ts'

/** Bookings, each a link to its page. `nameBy`: what tells one from the others. */
export function BookingTable({
  bookings,
  caption,
  nameBy = 'guest',
}: {
  bookings: readonly Booking[]
  caption: string
  nameBy?: 'guest' | 'unit'
}) {
  const { currency } = useSession()
  const isTablet = useIsTablet()
  const hidden = nameBy === 'unit' ? ['name', 'nights', 'source'] : isTablet ? ['nights'] : []
  return (
    <Table
      caption={caption}
      columns={columnsOf(currency, useIsPhone()).filter(({ key }) => !hidden.includes(key))}
      rows={bookings}
      rowKey={({ id }) => id}
      rowHref={({ id }) => hashOf(['bookings', id])}
      isFaded={({ status }) => status === 'cancelled'}
    />
  )
}

function columnsOf(currency: Currency, isPhone: boolean): Column<Booking>[] {
  return [
    { key: 'name', head: 'Guest', cell: stayName },
    {
      key: 'unit',
      head: 'Unit',
      cell: ({ unitName, groupId }) => (
        <span class="bookings-unit">
          {unitName}
          {groupId !== undefined && (
            <span class="muted" title="Booked together with other stays">
              <Icon name="together" size={14} />
              <span class="visually-hidden"> booked together with other stays</span>
            </span>
          )}
        </span>
      ),
    },
    { key: 'stay', head: 'Stay', cell: (booking) => <span class="bookings-dates numeric">{stayDates(booking)}</span> },
    { key: 'nights', head: 'Nights', align: 'end', isMinor: true, cell: ({ nights }) => nights },
    // Beside the name on a phone.
    { key: 'status', head: 'Status', isActions: isPhone, cell: (booking) => <Standing booking={booking} /> },
    {
      key: 'source',
      head: 'Source',
      isMinor: true,
      cell: ({ source, sourceRef }) => (
        <span class="bookings-source">
          {sourceText(source)}
          {sourceRef !== null && <span class="muted">{sourceRef}</span>}
        </span>
      ),
    },
    {
      key: 'total',
      head: 'Total',
      align: 'end',
      cell: ({ type, totalAmount }) =>
        type === 'guest' ? money(totalAmount, currency) : <span class="muted">no price</span>,
    },
  ]
}

/** The status, and how long a hold still lasts. */
export function Standing({ booking: { status, type, holdExpiresAt } }: { booking: Booking }) {
  return (
    <span class="bookings-standing">
      <StatusBadge status={status} type={type} />
      {holdExpiresAt !== null && <span class="muted">{timeLeft(holdExpiresAt)} left</span>}
    </span>
  )
}

export function nightsText({ nights }: Pick<Booking, 'nights'>): string {
  return plural(nights, 'night')
}
