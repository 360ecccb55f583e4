import { useId, useState } from 'preact/hooks'
import { Button } from '../../design/button.tsx'
import { DateInput, Field, Select } from '../../design/inputs.tsx'
import { STATUS_LOOKS, TYPE_LOOKS } from '../../design/status-looks.ts'
import { SearchInput } from '../../design/table.tsx'
import { useIsPhone } from '../../lib/hooks.ts'
import { setQuery } from '../../route/router.ts'
import { useUnits } from '../../stays/use-units.ts'
import { type BookingFilter, dateOrNone, filterCount, NO_FILTER } from './booking-filter.ts'

const ANY = { value: '', label: 'Any' }
const STATUSES = [ANY, ...Object.entries(STATUS_LOOKS).map(([value, { label }]) => ({ value, label }))]
const TYPES = [ANY, ...Object.entries(TYPE_LOOKS).map(([value, { label }]) => ({ value, label }))]
/** What sources are commonly called; any other can be typed. */
const SOURCES = ['portal', 'partner', 'website', 'airbnb', 'booking.com']

/** A change of a filter shows the first page. It is no step of its own in the browser's history. */
const change = (member: keyof BookingFilter) => (value: string) =>
  setQuery({ [member]: value === '' ? null : value, page: null }, { replace: true })

/** Days that are asked for take the place of “upcoming” or “past”. A year that is still being typed is left alone. */
const changeDay = (member: 'from' | 'to') => (value: string) => {
  if (value !== '' && dateOrNone(value) === '') return
  setQuery({ [member]: value === '' ? null : value, when: null, page: null }, { replace: true })
}

export function BookingFilters({ filter }: { filter: BookingFilter }) {
  const isPhone = useIsPhone()
  const count = filterCount(filter)
  const [isOpen, setOpen] = useState(count > 0)
  const showsAll = !isPhone || isOpen
  const isSet = count > 0 || filter.search !== ''
  return (
    <search class={isSet ? 'bookings-filters bookings-filters-set' : 'bookings-filters'}>
      <div class="bookings-search">
        <SearchInput search={filter.search} placeholder="Guest, reference or id" />
        {isPhone && (
          <Button icon="filter" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {count === 0 ? 'Filters' : `Filters (${count})`}
          </Button>
        )}
      </div>
      {showsAll && (
        <>
          <Select label="Status" value={filter.status} onChange={change('status')} options={STATUSES} />
          <Select label="Type" value={filter.type} onChange={change('type')} options={TYPES} />
          <UnitSelect unit={filter.unit} />
          <SourceInput key={filter.source} source={filter.source} />
          <DateInput label="Stays from" value={filter.from} max={filter.to} onChange={changeDay('from')} />
          <DateInput label="Stays until" value={filter.to} min={filter.from} onChange={changeDay('to')} />
          {isSet && (
            <Button tone="quiet" icon="close" onClick={() => setQuery(NO_FILTER, { replace: true })}>
              Clear
            </Button>
          )}
        </>
      )}
    </search>
  )
}

function UnitSelect({ unit }: { unit: string }) {
  const { data } = useUnits()
  const units = (data ?? []).map(({ slug, name, status }) => ({
    value: slug,
    label: status === 'archived' ? `${name} (archived)` : name,
  }))
  const known = units.some(({ value }) => value === unit) || unit === ''
  const options = [ANY, ...units, ...(known ? [] : [{ value: unit, label: unit }])]
  return <Select label="Unit" value={unit} onChange={change('unit')} options={options} />
}

/** Applied when it is left or chosen: half a source finds nothing. */
function SourceInput({ source }: { source: string }) {
  const id = useId()
  return (
    <Field label="Source">
      {(control) => (
        <>
          <input
            {...control}
            class="input"
            list={id}
            defaultValue={source}
            placeholder="Any"
            autocomplete="off"
            onChange={({ currentTarget }) => change('source')(currentTarget.value.trim())}
          />
          <datalist id={id}>
            {SOURCES.map((each) => (
              <option key={each} value={each} />
            ))}
          </datalist>
        </>
      )}
    </Field>
  )
}
