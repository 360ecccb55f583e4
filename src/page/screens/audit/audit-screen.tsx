import './audit.css'
import { answerOf, client } from '../../api/client.ts'
import { useResource } from '../../data/use-resource.ts'
import { useSession } from '../../data/use-session.ts'
import { Button } from '../../design/button.tsx'
import { Card, PageHeader, Tabs, useTab } from '../../design/card.tsx'
import { EmptyState, LoadStatus, Note } from '../../design/feedback.tsx'
import { DateInput, Select } from '../../design/inputs.tsx'
import { Pager } from '../../design/table.tsx'
import { dayOf, isoOf } from '../../format/days.ts'
import { plural } from '../../format/numbers.ts'
import { nameText } from '../../format/texts.ts'
import { OUTCOMES, outcomeWords } from '../../history/history-words.ts'
import { hashOf, pageOf, type QueryChange, type Route } from '../../route/route.ts'
import { setQuery, toPage, useRoute } from '../../route/router.ts'
import { stayName, stayPlace } from '../../stays/stay-name.ts'
import { keyName } from '../keys/key-table.tsx'
import { AuditTable } from './audit-table.tsx'
import { Usage } from './usage.tsx'

const TABS = [
  { key: 'trail', label: 'Who did what' },
  { key: 'usage', label: 'API usage' },
]

export function AuditScreen() {
  const tab = useTab(TABS)
  return (
    <>
      <PageHeader title="Audit and usage" />
      <Tabs label="Audit and usage" tabs={TABS} />
      {tab === 'usage' ? <Usage /> : <AuditTrail />}
    </>
  )
}

const PAGE_SIZE = 50

/** Every change and every refused attempt, newest first. */
function AuditTrail() {
  const { path } = useSession()
  const route = useRoute()
  const filter = filterOf(route)
  const page = pageOf(route)
  const query = { ...auditQuery(filter), page, pageSize: PAGE_SIZE }
  const { data, error, refresh } = useResource(`audit?${JSON.stringify(query)}`, (signal) =>
    answerOf(client.GET('/portal/v1/agencies/{agencySlug}/audit', { params: { path, query }, signal })),
  )
  return (
    <>
      <AuditFilters filter={filter} />
      {filter.booking !== '' && <OfOneBooking filter={filter} />}
      <LoadStatus of={{ data, error, refresh }} lines={8} isCard />
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
          <Pager page={page} pageSize={PAGE_SIZE} totalItems={data.totalItems} onPage={toPage} />
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
            {stayName(booking)}, {stayPlace(booking)}
          </a>
        )}
        .
      </p>
    </Note>
  )
}

const LIST_MAX = 200
const OUTCOME_OPTIONS = [
  { value: '', label: 'Any' },
  ...Object.entries(OUTCOMES).map(([value, { label }]) => ({ value, label })),
]

/** A change of a filter shows the first page. It is no step of its own in the browser's history. */
const change = (member: keyof AuditFilter) => (value: string) =>
  setQuery({ [member]: value === '' ? null : value, page: null }, { replace: true })

function AuditFilters({ filter }: { filter: AuditFilter }) {
  const people = usePeople()
  const { who, outcome, from, to } = filter
  const isKnown = people.some(({ value }) => value === who)
  const outcomes =
    outcome === '' || outcome in OUTCOMES
      ? OUTCOME_OPTIONS
      : [...OUTCOME_OPTIONS, { value: outcome, label: outcomeWords(outcome).label }]
  return (
    <search class="audit-filters">
      <Select
        label="Who"
        value={who}
        onChange={change('who')}
        options={isKnown ? people : [...people, { value: who, label: 'Somebody else' }]}
      />
      <Select label="Outcome" value={outcome} onChange={change('outcome')} options={outcomes} />
      <DateInput label="From" value={from} max={to} onChange={change('from')} />
      <DateInput label="Until" value={to} min={from} onChange={change('to')} />
      {isFiltered(filter) && (
        <Button tone="quiet" icon="close" onClick={() => setQuery(NO_FILTER, { replace: true })}>
          Clear
        </Button>
      )}
    </search>
  )
}

/** Everyone who can do something: people, partners, the operator, and the service itself. */
function usePeople(): { value: string; label: string }[] {
  const { path, agency, may } = useSession()
  const query = { pageSize: LIST_MAX }
  const keys = useResource('keys', (signal) =>
    answerOf(client.GET('/portal/v1/agencies/{agencySlug}/keys', { params: { path, query }, signal })),
  )
  // Only owners can list people.
  const people = useResource(may('owner') && agency.sandboxOf === null ? 'people' : null, (signal) =>
    answerOf(client.GET('/portal/v1/agencies/{agencySlug}/people', { params: { path, query }, signal })),
  )
  const tokens = useResource('access-tokens?all', (signal) =>
    answerOf(client.GET('/portal/v1/agencies/{agencySlug}/access-tokens', { params: { path, query }, signal })),
  )
  return [
    { value: '', label: 'Anyone' },
    ...(people.data?.people ?? []).map(({ id, name }) => ({ value: `person:${id}`, label: nameText(name) })),
    ...(tokens.data?.accessTokens ?? []).map(({ id, name }) => ({ value: `token:${id}`, label: `${name} (token)` })),
    ...(keys.data?.keys ?? []).map((key) => ({ value: `key:${key.id}`, label: `${keyName(key)} (API key)` })),
    { value: 'portal', label: 'The operator' },
    { value: 'system', label: 'Timers' },
  ]
}

/** What the audit trail is filtered by, as it is in the address. */
interface AuditFilter {
  /** `person:ID`, `token:ID`, `key:ID`, `portal`, `system`, or empty. */
  readonly who: string
  readonly outcome: string
  /** `YYYY-MM-DD`, both inclusive. */
  readonly from: string
  readonly to: string
  /** An id. */
  readonly booking: string
}

const MEMBERS = ['who', 'outcome', 'from', 'to', 'booking'] as const

const NO_FILTER: QueryChange = Object.fromEntries([...MEMBERS, 'page'].map((member) => [member, null]))

function filterOf({ query }: Pick<Route, 'query'>): AuditFilter {
  const of = (member: (typeof MEMBERS)[number]) => query[member] ?? ''
  return {
    who: of('who'),
    outcome: of('outcome'),
    from: dateOrNone(of('from')),
    to: dateOrNone(of('to')),
    booking: of('booking'),
  }
}

function isFiltered(filter: AuditFilter): boolean {
  return MEMBERS.some((member) => filter[member] !== '')
}

/** The same as the service's query, without what is not set. */
function auditQuery({ who, outcome, from, to, booking }: AuditFilter) {
  return {
    ...whoQuery(who),
    ...(outcome === '' ? {} : { outcome }),
    ...(from === '' ? {} : { from }),
    // The service's end is exclusive.
    ...(to === '' ? {} : { to: isoOf(dayOf(to) + 1) }),
    ...(booking === '' ? {} : { booking }),
  }
}

function whoQuery(who: string) {
  if (who === 'portal' || who === 'system') return { actor: who } as const
  const [kind, id] = who.split(':')
  if (id === undefined) return {}
  return kind === 'person' || kind === 'token' || kind === 'key' ? { [kind]: id } : {}
}

function dateOrNone(text: string): string {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)) ? text : ''
}
