import '../bookings/bookings.css'
import './guests.css'
import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import { useResource } from '../../data/use-resource.ts'
import { useSession } from '../../data/use-session.ts'
import { Button, LinkButton } from '../../design/button.tsx'
import { Card, DescriptionList, PageHeader } from '../../design/card.tsx'
import { EmptyState, LoadStatus, RoleNote } from '../../design/feedback.tsx'
import { Icon } from '../../design/icon.tsx'
import { Pager } from '../../design/table.tsx'
import { instantText } from '../../format/instants.ts'
import { plural } from '../../format/numbers.ts'
import { countryText, mailLink, phoneLink } from '../../format/texts.ts'
import { hashOf, type QueryChange } from '../../route/route.ts'
import { guestName } from '../../stays/stay-name.ts'
import { BookingTable } from '../bookings/booking-table.tsx'
import { EditGuest, type Guest } from './edit-guest.tsx'
import { EraseGuest } from './erase-guest.tsx'
import { GuestData } from './guest-data.tsx'

/** The search and page that were last looked at, for the way back from one guest. */
export const lastList: { query: QueryChange } = { query: {} }

/** How to reach a guest, and every stay of theirs. */
export function GuestPage({ guestId }: { guestId: string }) {
  const { path } = useSession()
  const { data, error, refresh } = useResource(`guests/${guestId}`, (signal) =>
    answerOf(
      client.GET('/portal/v1/agencies/{agencySlug}/guests/{guestId}', {
        params: { path: { ...path, guestId } },
        signal,
      }),
    ),
  )
  const [erasing, setErasing] = useState<Guest | null>(null)
  // Also one who was known a moment ago: somebody has erased them.
  const isGone = error?.status === 404
  const known = isGone ? undefined : data?.guest
  return (
    <>
      <a class="booking-back" href={hashOf('guests', lastList.query)}>
        <Icon name="left" size={14} />
        Guests
      </a>
      {known !== undefined && <Known guest={known} onErase={() => setErasing(known)} />}
      {known === undefined && <PageHeader title="Guest" />}
      {isGone ? (
        <Card>
          <EmptyState
            icon="search"
            title="Guest not found"
            action={<LinkButton href={hashOf('guests')}>See all guests</LinkButton>}
          />
        </Card>
      ) : (
        <LoadStatus of={{ data, error, refresh }} lines={5} isCard />
      )}
      {erasing !== null && <EraseGuest guest={erasing} onClose={() => setErasing(null)} />}
    </>
  )
}

function Known({ guest, onErase }: { guest: Guest; onErase: () => void }) {
  const { may, agency } = useSession()
  const [isEditing, setEditing] = useState(false)
  const { email, phone, nationality, createdAt, keep } = guest
  return (
    <>
      <PageHeader
        title={guestName(guest)}
        actions={
          may('desk') ? (
            <Button icon="edit" onClick={() => setEditing(true)}>
              Edit contact details
            </Button>
          ) : (
            <RoleNote>You can view this, but changing it needs the role Desk or a higher one.</RoleNote>
          )
        }
      />
      <div class="booking-columns guest-columns">
        <GuestStays guestId={guest.id} />
        <div class="guest-side">
          <Card title="Contact">
            <DescriptionList
              items={[
                ['Name', guestName(guest)],
                ['E-mail', email === null ? null : <a href={mailLink(email)}>{email}</a>],
                ['Phone', phone === null ? null : <a href={phoneLink(phone)}>{phone}</a>],
                ['Nationality', nationality === null ? null : countryText(nationality)],
                ['Known since', instantText(createdAt, agency.timezone)],
                ['Kept', keep ? 'Beyond the retention time' : 'As long as data retention says'],
              ]}
            />
          </Card>
          <GuestData guest={guest} onErase={onErase} />
        </div>
      </div>
      {isEditing && <EditGuest guest={guest} onClose={() => setEditing(false)} />}
    </>
  )
}

const PAGE_SIZE = 20

/** Past and to come, newest arrival first. */
function GuestStays({ guestId }: { guestId: string }) {
  const { path } = useSession()
  const [page, setPage] = useState(1)
  const query = { guest: guestId, page, pageSize: PAGE_SIZE }
  const { data, error, refresh } = useResource(`bookings?guest=${guestId}&page=${page}`, (signal) =>
    answerOf(client.GET('/portal/v1/agencies/{agencySlug}/bookings', { params: { path, query }, signal })),
  )
  return (
    <Card title="Stays" isFlush {...(data === undefined ? {} : { aside: plural(data.totalItems, 'stay') })}>
      <LoadStatus of={{ data, error, refresh }} lines={3} />
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
