import type { Zoom } from '../../chart/scale.ts'
import { Button, IconButton } from '../../design/button.tsx'
import { Segments } from '../../design/choices.tsx'
import { DateInput, TextInput } from '../../design/inputs.tsx'
import { type Day, isoOf, parseDay } from '../../format/days.ts'

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
