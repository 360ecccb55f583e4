import './guests.css'
import { answerOf, client } from '../../api/client.ts'
import { useResource } from '../../data/use-resource.ts'
import { useSession } from '../../data/use-session.ts'
import { Button, LinkButton } from '../../design/button.tsx'
import { Card, PageHeader } from '../../design/card.tsx'
import { EmptyState, LoadStatus } from '../../design/feedback.tsx'
import { type Column, Pager, SearchInput, Table } from '../../design/table.tsx'
import { dayOf, dayText } from '../../format/days.ts'
import { localTime } from '../../format/instants.ts'
import { plural } from '../../format/numbers.ts'
import { countryText } from '../../format/texts.ts'
import { hashOf, pageOf } from '../../route/route.ts'
import { setQuery, toPage, useRoute } from '../../route/router.ts'
import { useLiveStays } from '../../stays/live-stays.ts'
import { guestName } from '../../stays/stay-name.ts'
import type { Guest } from './edit-guest.tsx'
import { GuestPage, lastList } from './guest-page.tsx'

const LIVE = ['guests', 'bookings']

/** `#/guests` lists, `#/guests/gst_…` shows one. */
export function GuestsScreen() {
  const { path } = useRoute()
  useLiveStays(LIVE)
  const id = path[1]
  return id === undefined ? <GuestList /> : <GuestPage key={id} guestId={id} />
}

const PAGE_SIZE = 50
/** The service ignores a shorter search. */
const SEARCH_LENGTH_MIN = 2

/** Everyone who has booked, newest first. */
function GuestList() {
  const { path, agency } = useSession()
  const route = useRoute()
  lastList.query = route.query
  const search = (route.query['search'] ?? '').trim()
  const page = pageOf(route)
  const query = { page, pageSize: PAGE_SIZE, ...(search === '' ? {} : { search }) }
  const { data, error, refresh } = useResource(`guests?${JSON.stringify(query)}`, (signal) =>
    answerOf(client.GET('/portal/v1/agencies/{agencySlug}/guests', { params: { path, query }, signal })),
  )
  const isTooShort = search !== '' && [...search].length < SEARCH_LENGTH_MIN
  return (
    <>
      <PageHeader title="Guests" description="Guests are added when a stay is booked in their name." />
      <search class="guests-search">
        <SearchInput search={search} placeholder="Part of a name, e-mail address or phone number" />
        {isTooShort && <p class="muted">Enter at least two characters.</p>}
      </search>
      <LoadStatus of={{ data, error, refresh }} lines={8} isCard />
      {data !== undefined && (
        <Card title={plural(data.totalItems, 'guest')} aside="Newest first" isFlush>
          {data.guests.length > 0 ? (
            <Table
              caption="Guests"
              columns={columnsOf(agency.timezone)}
              rows={data.guests}
              rowKey={({ id }) => id}
              rowHref={({ id }) => hashOf(['guests', id])}
            />
          ) : (
            <Nothing search={search} />
          )}
          <Pager page={page} pageSize={PAGE_SIZE} totalItems={data.totalItems} onPage={toPage} />
        </Card>
      )}
    </>
  )
}

function columnsOf(timezone: string): Column<Guest>[] {
  const none = <span class="muted">—</span>
  return [
    { key: 'name', head: 'Name', cell: guestName },
    {
      key: 'email',
      head: 'E-mail',
      cell: ({ email }) => (email === null ? none : <div class="guests-email">{email}</div>),
    },
    {
      key: 'phone',
      head: 'Phone',
      cell: ({ phone }) => (phone === null ? none : <span class="guests-phone numeric">{phone}</span>),
    },
    {
      key: 'nationality',
      head: 'Nationality',
      isMinor: true,
      cell: ({ nationality }) => (nationality === null ? none : countryText(nationality)),
    },
    {
      key: 'since',
      head: 'Known since',
      isMinor: true,
      cell: ({ createdAt }) => <span class="numeric">{dayText(dayOf(localTime(createdAt, timezone).date))}</span>,
    },
  ]
}

function Nothing({ search }: { search: string }) {
  if (search !== '')
    return (
      <EmptyState
        icon="search"
        title={`No guest matches “${search}”`}
        action={<Button onClick={() => setQuery({ search: null, page: null })}>Clear the search</Button>}
      >
        Search for any part of a name, e-mail address or phone number.
      </EmptyState>
    )
  return (
    <EmptyState
      icon="guests"
      title="No guests yet"
      action={<LinkButton href={hashOf('calendar')}>Open the calendar</LinkButton>}
    >
      Book a stay in the calendar, and its guest appears here with all of their stays.
    </EmptyState>
  )
}
