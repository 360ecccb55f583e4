import './bookings.css'
import { answerOf, client } from '../../api/client.ts'
import { useResource } from '../../data/use-resource.ts'
import { useSession } from '../../data/use-session.ts'
import { LinkButton } from '../../design/button.tsx'
import { Card, PageHeader } from '../../design/card.tsx'
import { EmptyState, ErrorNote, LoadStatus } from '../../design/feedback.tsx'
import { Icon } from '../../design/icon.tsx'
import { hashOf, type QueryChange } from '../../route/route.ts'
import { type Booking, stayName, stayPlace } from '../../stays/stay-name.ts'
import { Together } from '../../stays/together.tsx'
import { BookingActions } from './booking-actions.tsx'
import { BookingDeliveries, BookingFacts, BookingHistory, BookingPrice, GuestCard } from './booking-cards.tsx'
import { nightsText, Standing } from './booking-table.tsx'
import { NotesCard } from './notes-card.tsx'

/** The filters and page that were last looked at, for the way back from one booking. */
export const lastList: { query: QueryChange } = { query: {} }

/** Everything about one booking, and what can be done with it. */
export function BookingPage({ bookingId }: { bookingId: string }) {
  const { path } = useSession()
  const { data, error, refresh } = useResource(`bookings/${bookingId}`, (signal) =>
    answerOf(
      client.GET('/portal/v1/agencies/{agencySlug}/bookings/{bookingId}', {
        params: { path: { ...path, bookingId } },
        signal,
      }),
    ),
  )
  return (
    <>
      <a class="booking-back" href={hashOf('bookings', lastList.query)}>
        <Icon name="left" size={14} />
        Bookings
      </a>
      {data !== undefined ? (
        <>
          <ErrorNote problem={error} onRetry={refresh} />
          <Known booking={data.booking} />
        </>
      ) : error?.status === 404 ? (
        <Unknown />
      ) : (
        <>
          <PageHeader title="Booking" />
          <LoadStatus of={{ data, error, refresh }} lines={6} isCard />
        </>
      )}
    </>
  )
}

function Known({ booking }: { booking: Booking }) {
  return (
    <>
      <PageHeader
        title={stayName(booking)}
        description={
          <span class="booking-subtitle">
            <span>
              {stayPlace(booking)}, {nightsText(booking)}
            </span>
            <Standing booking={booking} />
          </span>
        }
        actions={<BookingActions booking={booking} />}
      />
      <div class="booking-columns">
        <div class="booking-column">
          <BookingFacts booking={booking} />
          {booking.groupId !== undefined && (
            <Card title="Booked together">
              <Together {...booking} groupId={booking.groupId} hrefOf={(id) => hashOf(['bookings', id])} />
            </Card>
          )}
          {booking.type === 'guest' && <BookingPrice booking={booking} />}
          <BookingHistory booking={booking} />
        </div>
        <div class="booking-column">
          {booking.type === 'guest' && <GuestCard booking={booking} />}
          <NotesCard booking={booking} />
          <BookingDeliveries booking={booking} />
        </div>
      </div>
    </>
  )
}

function Unknown() {
  return (
    <>
      <PageHeader title="Booking" />
      <Card>
        <EmptyState
          icon="search"
          title="There is no such booking"
          action={<LinkButton href={hashOf('bookings')}>See all bookings</LinkButton>}
        >
          The address may be incomplete. Search for the booking by guest or reference.
        </EmptyState>
      </Card>
    </>
  )
}
