import './bookings.css'
import { answerOf, client } from '../../api/client.ts'
import { useResource } from '../../data/use-resource.ts'
import { Button, LinkButton } from '../../design/button.tsx'
import { Card, PageHeader } from '../../design/card.tsx'
import { EmptyState, ErrorNote, Note, Skeleton } from '../../design/feedback.tsx'
import { Pager } from '../../design/pager.tsx'
import { count, plural } from '../../format/count.ts'
import { hashOf } from '../../route/route.ts'
import { setQuery, useRoute } from '../../route/router.ts'
import { useSession } from '../../session/use-session.ts'
import { type BookingFilter, filterCount, filterOf, listQuery, NO_FILTER } from './booking-filter.ts'
import { BookingFilters } from './booking-filters.tsx'
import { searchBookings } from './booking-search.ts'
import { BookingTable } from './booking-table.tsx'
import { lastList } from './last-list.ts'

const PAGE_SIZE = 50

/** Every booking of the agency, newest arrival first. */
export function BookingList() {
  const { may } = useSession()
  const route = useRoute()
  lastList.query = route.query
  const filter = filterOf(route)
  return (
    <>
      <PageHeader
        title="Bookings"
        actions={
          may('desk') && (
            <LinkButton icon="calendar" href={hashOf('calendar')}>
              Book in the calendar
            </LinkButton>
          )
        }
      />
      <BookingFilters filter={filter} />
      {filter.search === '' ? (
        <Listed filter={filter} page={Math.max(1, Number.parseInt(route.query['page'] ?? '1', 10) || 1)} />
      ) : (
        <Found filter={filter} />
      )}
    </>
  )
}

function Listed({ filter, page }: { filter: BookingFilter; page: number }) {
  const { path } = useSession()
  const query = { ...listQuery(filter), page, pageSize: PAGE_SIZE }
  const { data, error, refresh } = useResource(`bookings?${JSON.stringify(query)}`, (signal) =>
    answerOf(client.GET('/portal/v1/agencies/{agencySlug}/bookings', { params: { path, query }, signal })),
  )
  return (
    <>
      <ErrorNote problem={error} onRetry={refresh} />
      {data === undefined && error === null && (
        <Card isFlush>
          <Skeleton lines={8} />
        </Card>
      )}
      {data !== undefined && (
        <Card title={plural(data.totalItems, 'booking')} aside="Newest arrival first" isFlush>
          {data.bookings.length > 0 && <BookingTable bookings={data.bookings} caption="Bookings" />}
          {data.bookings.length === 0 && <NothingFound isFiltered={filterCount(filter) > 0} page={page} />}
          <Pager
            page={page}
            pageSize={PAGE_SIZE}
            totalItems={data.totalItems}
            onPage={(next) => {
              setQuery({ page: next === 1 ? null : next })
              scrollTo(0, 0)
            }}
          />
        </Card>
      )}
    </>
  )
}

function Found({ filter }: { filter: BookingFilter }) {
  const { path } = useSession()
  const { data, error, refresh } = useResource(`bookings?search=${JSON.stringify(filter)}`, (signal) =>
    searchBookings({ path, filter, signal }),
  )
  if (data === undefined)
    return error === null ? (
      <Card isFlush>
        <Skeleton lines={5} />
      </Card>
    ) : (
      <ErrorNote problem={error} onRetry={refresh} />
    )
  const { bookings, guests, hasMore } = data
  return (
    <>
      <ErrorNote problem={error} onRetry={refresh} />
      {guests.total > guests.shown.length && (
        <Note>
          <p>
            {count(guests.total)} guests match. The stays of the newest {guests.shown.length} are shown. Enter more of
            the name, or <a href={hashOf('guests', { search: filter.search })}>see all of these guests</a>.
          </p>
        </Note>
      )}
      {hasMore && guests.total <= guests.shown.length && (
        <Note>
          <p>Only the newest stays of each guest are shown. The guest’s page has the rest.</p>
        </Note>
      )}
      <Card title={`${plural(bookings.length, 'booking')} found`} aside="Newest arrival first" isFlush>
        {bookings.length > 0 ? (
          <BookingTable bookings={bookings} caption="Bookings found" />
        ) : (
          <EmptyState icon="search" title={`Nothing found for “${filter.search}”`} action={<ClearButton />}>
            {filterCount(filter) > 0
              ? 'Other filters are also set. Clear them to search all bookings.'
              : 'Search for a guest by any part of the name, e-mail address or phone number. A reference or booking id must be complete.'}
          </EmptyState>
        )}
      </Card>
    </>
  )
}

function NothingFound({ isFiltered, page }: { isFiltered: boolean; page: number }) {
  if (page > 1)
    return (
      <EmptyState
        icon="bookings"
        title="There is no such page"
        action={<Button onClick={() => setQuery({ page: null })}>Go to the first page</Button>}
      />
    )
  if (isFiltered)
    return (
      <EmptyState icon="filter" title="No bookings match" action={<ClearButton />}>
        Change or clear the filters.
      </EmptyState>
    )
  return (
    <EmptyState
      icon="bookings"
      title="No bookings yet"
      action={<LinkButton href={hashOf('calendar')}>Open the calendar</LinkButton>}
    >
      Book a stay in the calendar, or give a partner an API key. Their bookings appear here immediately.
    </EmptyState>
  )
}

function ClearButton() {
  return <Button onClick={() => setQuery(NO_FILTER)}>Clear all filters</Button>
}
