import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import { useResource } from '../../data/use-resource.ts'
import { useSession } from '../../data/use-session.ts'
import { LinkButton } from '../../design/button.tsx'
import { Card } from '../../design/card.tsx'
import { EmptyState, ErrorNote, Skeleton } from '../../design/feedback.tsx'
import { Pager } from '../../design/table.tsx'
import { plural } from '../../format/numbers.ts'
import { hashOf } from '../../route/route.ts'
import { BookingTable } from '../bookings/booking-table.tsx'

const PAGE_SIZE = 20

/** Past and to come, newest arrival first. */
export function GuestStays({ guestId }: { guestId: string }) {
  const { path } = useSession()
  const [page, setPage] = useState(1)
  const query = { guest: guestId, page, pageSize: PAGE_SIZE }
  const { data, error, refresh } = useResource(`bookings?guest=${guestId}&page=${page}`, (signal) =>
    answerOf(client.GET('/portal/v1/agencies/{agencySlug}/bookings', { params: { path, query }, signal })),
  )
  return (
    <Card title="Stays" isFlush {...(data === undefined ? {} : { aside: plural(data.totalItems, 'stay') })}>
      <ErrorNote problem={error} onRetry={refresh} />
      {data === undefined && error === null && <Skeleton lines={3} />}
      {data !== undefined && data.bookings.length > 0 && (
        <BookingTable bookings={data.bookings} caption="Stays of the guest" nameBy="unit" />
      )}
      {data !== undefined && data.bookings.length === 0 && (
        <EmptyState
          icon="bookings"
          title="No stays"
          action={<LinkButton href={hashOf('calendar')}>Open the calendar</LinkButton>}
        >
          Book one in the calendar under the same e-mail address.
        </EmptyState>
      )}
      <Pager page={page} pageSize={PAGE_SIZE} totalItems={data?.totalItems ?? 0} onPage={setPage} />
    </Card>
  )
}
