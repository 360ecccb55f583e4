import type { Zoom } from '../../chart/scale.ts'
import type { ChartUnit } from '../../chart/stay.ts'
import { Button, IconButton } from '../../design/button.tsx'
import { DateInput, Select, TextInput } from '../../design/inputs.tsx'
import { Segments } from '../../design/segments.tsx'
import { type Day, isoOf, parseDay } from '../../format/days.ts'
import { areasOf, isFiltering, isoOrNull, NO_FILTER, type UnitFilter } from './calendar-address.ts'

const ZOOMS = [
  { value: 'week', label: 'Week' },
  { value: 'month', label: 'Month' },
  { value: 'quarter', label: 'Quarter' },
] as const

interface CalendarToolbarProps {
  readonly zoom: Zoom
  readonly from: Day
  readonly search: string
  /** How many stays the search has found, and which of them is shown; null without a search. */
  readonly found: { readonly count: number; readonly at: number } | null
  readonly filters: number
  readonly isFilterOpen: boolean
  readonly onZoom: (zoom: Zoom) => void
  readonly onToday: () => void
  readonly onStep: (direction: -1 | 1) => void
  readonly onJump: (day: Day) => void
  readonly onSearch: (text: string) => void
  readonly onFound: (step: -1 | 1) => void
  readonly onFilter: () => void
}

export function CalendarToolbar(props: CalendarToolbarProps) {
  const { found } = props
  return (
    <header class="calendar-bar" data-searching={props.isFilterOpen || found !== null}>
      <h1 tabIndex={-1}>Calendar</h1>
      <div class="calendar-moves">
        <Button onClick={props.onToday}>Today</Button>
        <IconButton icon="left" label="Earlier" onClick={() => props.onStep(-1)} />
        <IconButton icon="right" label="Later" onClick={() => props.onStep(1)} />
        <DateInput
          label="Jump to date"
          isLabelHidden
          value={isoOf(props.from)}
          onChange={(text) => {
            const day = parseDay(text)
            if (day !== null) props.onJump(day)
          }}
        />
      </div>
      <Segments label="Zoom" value={props.zoom} options={ZOOMS} onChange={props.onZoom} />
      <div class="calendar-search">
        <TextInput
          label="Search guest or reference"
          isLabelHidden
          type="search"
          placeholder="Guest or reference"
          value={props.search}
          onChange={props.onSearch}
          onKeyDown={(event) => {
            if (event.key !== 'Enter') return
            event.preventDefault()
            props.onFound(event.shiftKey ? -1 : 1)
          }}
        />
        {found !== null && (
          <span class="calendar-found" role="status">
            {found.count === 0 ? 'None' : `${found.at + 1} of ${found.count}`}
          </span>
        )}
        {found !== null && found.count > 1 && (
          <>
            <IconButton icon="up" label="Previous stay found" onClick={() => props.onFound(-1)} />
            <IconButton icon="down" label="Next stay found" onClick={() => props.onFound(1)} />
          </>
        )}
      </div>
      <Button icon="filter" aria-expanded={props.isFilterOpen} onClick={props.onFilter}>
        {props.filters === 0 ? 'Filter' : `Filter (${props.filters})`}
      </Button>
    </header>
  )
}

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
