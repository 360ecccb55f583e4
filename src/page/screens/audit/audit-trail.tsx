import { answerOf, client } from '../../api/client.ts'
import { useResource } from '../../data/use-resource.ts'
import { useSession } from '../../data/use-session.ts'
import { Button } from '../../design/button.tsx'
import { Card } from '../../design/card.tsx'
import { EmptyState, ErrorNote, Note, Skeleton } from '../../design/feedback.tsx'
import { Pager } from '../../design/table.tsx'
import { plural } from '../../format/numbers.ts'
import { hashOf } from '../../route/route.ts'
import { setQuery, useRoute } from '../../route/router.ts'
import { stayDates, stayName } from '../../stays/stay-name.ts'
import { type AuditFilter, auditQuery, filterOf, isFiltered, NO_FILTER } from './audit-filter.ts'
import { AuditFilters } from './audit-filters.tsx'
import { AuditTable } from './audit-table.tsx'

const PAGE_SIZE = 50

/** Every change and every refused attempt, newest first. */
export function AuditTrail() {
  const { path } = useSession()
  const route = useRoute()
  const filter = filterOf(route)
  const page = Math.max(1, Number.parseInt(route.query['page'] ?? '1', 10) || 1)
  const query = { ...auditQuery(filter), page, pageSize: PAGE_SIZE }
  const { data, error, refresh } = useResource(`audit?${JSON.stringify(query)}`, (signal) =>
    answerOf(client.GET('/portal/v1/agencies/{agencySlug}/audit', { params: { path, query }, signal })),
  )
  return (
    <>
      <AuditFilters filter={filter} />
      {filter.booking !== '' && <OfOneBooking filter={filter} />}
      <ErrorNote problem={error} onRetry={refresh} />
      {data === undefined && error === null && (
        <Card isFlush>
          <Skeleton lines={8} />
        </Card>
      )}
      {data !== undefined && (
        <Card title={plural(data.totalItems, 'entry').replace('entrys', 'entries')} aside="Newest first" isFlush>
          {data.audit.length > 0 ? (
            <AuditTable entries={data.audit} />
          ) : (
            <EmptyState
              icon="audit"
              title={isFiltered(filter) ? 'No entries match' : 'No entries yet'}
              action={isFiltered(filter) && <Button onClick={() => setQuery(NO_FILTER)}>Clear all filters</Button>}
            >
              {isFiltered(filter)
                ? 'Change or clear the filters.'
                : 'Every change appears here with who made it, and every refused attempt with the reason.'}
            </EmptyState>
          )}
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

/** Says whose trail it is, by name. */
function OfOneBooking({ filter: { booking: bookingId } }: { filter: AuditFilter }) {
  const { path } = useSession()
  const { data } = useResource(`bookings/${bookingId}`, (signal) =>
    answerOf(
      client.GET('/portal/v1/agencies/{agencySlug}/bookings/{bookingId}', {
        params: { path: { ...path, bookingId } },
        signal,
      }),
    ),
  )
  const booking = data?.booking
  return (
    <Note>
      <p>
        Only entries about{' '}
        {booking === undefined ? (
          'one booking'
        ) : (
          <a href={hashOf(['bookings', bookingId])}>
            {stayName(booking)}, {booking.unitName}, {stayDates(booking)}
          </a>
        )}
        .
      </p>
    </Note>
  )
}
