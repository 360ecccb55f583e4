import type { ChartUnit } from '../../chart/stay.ts'
import { Button } from '../../design/button.tsx'
import { DateInput, Select, TextInput } from '../../design/inputs.tsx'
import { parseDay } from '../../format/days.ts'
import { areasOf, isFiltering, isoOrNull, NO_FILTER, type UnitFilter } from './calendar-address.ts'

const BEDROOMS = [
  { value: '', label: 'Any' },
  ...[1, 2, 3, 4, 5].map((rooms) => ({ value: String(rooms), label: `${rooms} or more` })),
]

/** Which units are shown. */
export function CalendarFilters(props: {
  units: readonly ChartUnit[]
  filter: UnitFilter
  shown: number
  /** Said in place of how many are shown, while that is not known. */
  unknown: string | null
  onChange: (filter: UnitFilter) => void
}) {
  const { units, filter, shown, unknown, onChange } = props
  const { freeFrom, freeTo } = filter
  const areas = areasOf(units).map((area) => ({ value: area, label: area }))
  const isHalf = (freeFrom === null) !== (freeTo === null)
  const isBackwards = freeFrom !== null && freeTo !== null && freeTo <= freeFrom
  return (
    <section class="calendar-filters" aria-label="Filter units">
      <TextInput label="Unit" type="search" value={filter.text} onChange={(text) => onChange({ ...filter, text })} />
      <Select
        label="Area"
        value={filter.area ?? ''}
        options={[{ value: '', label: 'All' }, ...areas]}
        onChange={(area) => onChange({ ...filter, area: area === '' ? null : area })}
      />
      <Select
        label="Bedrooms"
        value={filter.bedrooms === null ? '' : String(filter.bedrooms)}
        options={BEDROOMS}
        onChange={(rooms) => onChange({ ...filter, bedrooms: rooms === '' ? null : Number(rooms) })}
      />
      <DateInput
        label="Free from"
        value={isoOrNull(freeFrom) ?? ''}
        onChange={(text) => isWhole(text) && onChange({ ...filter, freeFrom: parseDay(text) })}
      />
      <DateInput
        label="Free until"
        value={isoOrNull(freeTo) ?? ''}
        onChange={(text) => isWhole(text) && onChange({ ...filter, freeTo: parseDay(text) })}
        error={isBackwards ? 'Must be after “Free from”' : undefined}
      />
      <p class="calendar-shown" role="status">
        {isHalf ? 'Enter both dates. ' : ''}
        {unknown ?? `${shown} of ${units.length} units`}
      </p>
      {isFiltering(filter) && <Button onClick={() => onChange(NO_FILTER)}>Clear</Button>}
    </section>
  )
}

/** A year that is still being typed is left alone. */
function isWhole(text: string): boolean {
  return text === '' || parseDay(text) !== null
}
