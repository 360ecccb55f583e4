import './bookings.css'
import { answerOf, client } from '../../api/client.ts'
import { useResource } from '../../data/use-resource.ts'
import { useSession } from '../../data/use-session.ts'
import { Button, LinkButton } from '../../design/button.tsx'
import { Card, PageHeader } from '../../design/card.tsx'
import { EmptyState, ErrorNote, LoadStatus, Note } from '../../design/feedback.tsx'
import { Segments } from '../../design/segments.tsx'
import { Pager } from '../../design/table.tsx'
import { isoOf, todayIn } from '../../format/days.ts'
import { count, plural } from '../../format/numbers.ts'
import { hashOf, pageOf } from '../../route/route.ts'
import { setQuery, toPage, useRoute } from '../../route/router.ts'
import { useLiveStays } from '../../stays/live-stays.ts'
import {
  type BookingFilter,
  filterCount,
  filterOf,
  listQuery,
  NO_FILTER,
  usualWhen,
  WHENS,
  type When,
  whenQuery,
} from './booking-filter.ts'
import { BookingFilters } from './booking-filters.tsx'
import { BookingPage, lastList } from './booking-page.tsx'
import { searchBookings } from './booking-search.ts'
import { BookingTable } from './booking-table.tsx'

const LIVE = ['bookings', 'audit']

/** `#/bookings` lists, `#/bookings/bkg_…` shows one. */
export function BookingsScreen() {
  const { path } = useRoute()
  useLiveStays(LIVE)
  const id = path[1]
  return id === undefined ? <BookingList /> : <BookingPage key={id} bookingId={id} />
}

const PAGE_SIZE = 50

/** The bookings of the agency: those to come, soonest first, unless another part of time is asked for. */
function BookingList() {
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
      {filter.search === '' ? <Listed filter={filter} page={pageOf(route)} /> : <Found filter={filter} />}
    </>
  )
}

function Listed({ filter, page }: { filter: BookingFilter; page: number }) {
  const { path } = useSession()
  const { agency } = useSession()
  const query = {
    ...listQuery(filter),
    ...whenQuery(filter, isoOf(todayIn(agency.timezone))),
    page,
    pageSize: PAGE_SIZE,
  }
  const { data, error, refresh } = useResource(`bookings?${JSON.stringify(query)}`, (signal) =>
    answerOf(client.GET('/portal/v1/agencies/{agencySlug}/bookings', { params: { path, query }, signal })),
  )
  return (
    <>
      <LoadStatus of={{ data, error, refresh }} lines={8} isCard />
      {data !== undefined && (
        <Card title={titleOf(data.totalItems, filter.when)} aside={<WhenSegments filter={filter} />} isFlush>
          {data.bookings.length > 0 && (
            <BookingTable bookings={data.bookings} caption={`Bookings, ${ORDER_WORDS[query.order]}`} />
          )}
          {data.bookings.length === 0 && <NothingFound filter={filter} page={page} />}
          <Pager page={page} pageSize={PAGE_SIZE} totalItems={data.totalItems} onPage={toPage} />
        </Card>
      )}
    </>
  )
}

/** Whatever days were asked for are given up: they would contradict it. */
function WhenSegments({ filter: { when, status } }: { filter: BookingFilter }) {
  const usual = usualWhen({ from: '', to: '', status })
  return (
    <Segments
      label="Which bookings"
      value={when}
      options={WHENS.map((value) => ({ value, label: WHEN_LABELS[value] }))}
      onChange={(value) => setQuery({ when: value === usual ? null : value, from: null, to: null, page: null })}
    />
  )
}

const WHEN_LABELS = { upcoming: 'Upcoming', past: 'Past', all: 'All' } as const satisfies Record<When, string>

const ORDER_WORDS = { earliest_first: 'soonest arrival first', latest_first: 'latest arrival first' } as const

function titleOf(total: number, when: When): string {
  switch (when) {
    case 'upcoming':
      return `${plural(total, 'booking')} in house or upcoming`
    case 'past':
      return plural(total, 'past booking')
    case 'all':
      return plural(total, 'booking')
  }
}

function Found({ filter }: { filter: BookingFilter }) {
  const { path, agency } = useSession()
  const today = isoOf(todayIn(agency.timezone))
  const { data, error, refresh } = useResource(`bookings?search=${JSON.stringify(filter)}`, (signal) =>
    searchBookings({ path, filter, today, signal }),
  )
  if (data === undefined) return <LoadStatus of={{ data, error, refresh }} lines={5} isCard />
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
      <Card title={`${plural(bookings.length, 'booking')} found`} aside="Upcoming first" isFlush>
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

function NothingFound({ filter, page }: { filter: BookingFilter; page: number }) {
  if (page > 1)
    return (
      <EmptyState
        icon="bookings"
        title="There is no such page"
        action={<Button onClick={() => setQuery({ page: null })}>Go to the first page</Button>}
      />
    )
  const everything = <Button onClick={() => setQuery({ when: 'all' })}>Show all dates</Button>
  if (filterCount(filter) > 0)
    return filter.when === 'all' ? (
      <EmptyState icon="filter" title="No bookings match" action={<ClearButton />}>
        Change or clear the filters.
      </EmptyState>
    ) : (
      <EmptyState icon="filter" title={`No ${filter.when} bookings match`} action={everything}>
        Others may match: look at all dates, or change the filters.
      </EmptyState>
    )
  if (filter.when === 'past') return <EmptyState icon="bookings" title="No past bookings" />
  return (
    <EmptyState
      icon="bookings"
      title={filter.when === 'all' ? 'No bookings yet' : 'No upcoming bookings'}
      action={filter.when === 'all' ? <LinkButton href={hashOf('calendar')}>Open the calendar</LinkButton> : everything}
    >
      Book a stay in the calendar, or give a partner an API key. Their bookings appear here immediately.
    </EmptyState>
  )
}

function ClearButton() {
  return <Button onClick={() => setQuery(NO_FILTER)}>Clear all filters</Button>
}
