import { answerOf, client } from '../../api/client.ts'
import { useResource } from '../../data/use-resource.ts'
import { useSession } from '../../data/use-session.ts'
import { Button } from '../../design/button.tsx'
import { DateInput, Select } from '../../design/inputs.tsx'
import { OUTCOMES, outcomeWords } from '../../history/history-words.ts'
import { setQuery } from '../../route/router.ts'
import { keyName } from '../keys/key-state.ts'
import { type AuditFilter, isFiltered, NO_FILTER } from './audit-filter.ts'

const LIST_MAX = 200
const OUTCOME_OPTIONS = [
  { value: '', label: 'Any' },
  ...Object.entries(OUTCOMES).map(([value, { label }]) => ({ value, label })),
]

/** A change of a filter shows the first page. It is no step of its own in the browser's history. */
const change = (member: keyof AuditFilter) => (value: string) =>
  setQuery({ [member]: value === '' ? null : value, page: null }, { replace: true })

export function AuditFilters({ filter }: { filter: AuditFilter }) {
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
        options={isKnown ? people : [...people, { value: who, label: 'Another key or token' }]}
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
  const { path } = useSession()
  const query = { pageSize: LIST_MAX }
  const keys = useResource('keys', (signal) =>
    answerOf(client.GET('/portal/v1/agencies/{agencySlug}/keys', { params: { path, query }, signal })),
  )
  const tokens = useResource('access-tokens?all', (signal) =>
    answerOf(client.GET('/portal/v1/agencies/{agencySlug}/access-tokens', { params: { path, query }, signal })),
  )
  return [
    { value: '', label: 'Anyone' },
    ...(tokens.data?.accessTokens ?? []).map(({ id, name }) => ({ value: `token:${id}`, label: name })),
    ...(keys.data?.keys ?? []).map((key) => ({ value: `key:${key.id}`, label: `${keyName(key)} (API key)` })),
    { value: 'portal', label: 'The operator' },
    { value: 'system', label: 'Timers' },
  ]
}
