import './night-grid.css'
import { type Day, dayOfMonth, dayText } from '../../../format/days.ts'
import { DayMonth, dayOfEvent, useDayGrid } from '../editing/day-grid.tsx'
import { weekRows } from '../editing/day-rows.ts'
import { type NightState, type Nights, stateOn } from './nights.ts'

const WORDS: Readonly<Record<NightState, string>> = { free: 'Free', taken: 'Taken', cleaning: 'Cleaning' }
const STATES = ['free', 'taken', 'cleaning'] as const

interface NightGridProps {
  /** First days of the months that are shown. */
  months: readonly Day[]
  nights: Nights
  /** The current nights to compare with; null: no comparison. */
  now: Nights | null
  today: Day
}

/** The nights of a unit. Where a night differs from now, the lower part of its day shows what it is now. */
export function NightGrid({ months, nights, now, today }: NightGridProps) {
  const weeks = months.map((month) => weekRows(month))
  const { pointed, tabStop, setFocused, onArrow, pointing } = useDayGrid(weeks.flat(), today)
  const wordsOf = (day: Day) => {
    const [state, present] = [stateOn(nights, day), now === null ? null : stateOn(now, day)]
    return present === null || present === state ? WORDS[state] : `${WORDS[state]}, now ${WORDS[present].toLowerCase()}`
  }
  return (
    <>
      {/* biome-ignore lint/a11y/useSemanticElements: a table cannot have a month beside the other */}
      <div
        {...pointing}
        role="grid"
        aria-label={now === null ? 'Nights now' : 'Nights as they were'}
        class="night-grid day-months day-grid-weeks"
        style={{ '--day-columns': 7 }}
        onKeyDown={(event) => {
          const day = dayOfEvent(event)
          if (day !== null) onArrow(event, day)
        }}
        onClick={(event) => {
          const day = dayOfEvent(event)
          if (day !== null) setFocused(day)
        }}
      >
        {months.map((month, index) => (
          <DayMonth key={month} month={month} weeks={weeks[index] ?? []}>
            {({ day, column }) => {
              const [state, present] = [stateOn(nights, day), stateOn(now ?? nights, day)]
              const classes = [
                'day-cell',
                `night-${state}`,
                day === today ? 'day-today' : '',
                day < today ? 'day-over' : '',
              ]
              return (
                // biome-ignore lint/a11y/useSemanticElements: see the grid
                <div
                  key={day}
                  role="gridcell"
                  tabIndex={day === tabStop ? 0 : -1}
                  class={classes.filter(Boolean).join(' ')}
                  data-day={day}
                  style={{ gridColumn: column + 2 }}
                >
                  <span class="visually-hidden">{`${dayText(day, 'long')}: ${wordsOf(day)}`}</span>
                  <span class="day-date" aria-hidden="true">
                    {dayOfMonth(day)}
                  </span>
                  {present !== state && <span class={`night-now night-${present}`} aria-hidden="true" />}
                </div>
              )
            }}
          </DayMonth>
        ))}
      </div>
      <p class="day-readout" aria-live="off">
        {pointed === null ? (
          <span class="muted">Point at a night to see its state.</span>
        ) : (
          <>
            <strong>{dayText(pointed, 'long')}</strong> {wordsOf(pointed)}
          </>
        )}
      </p>
      <ul class="day-legend" aria-label="Legend">
        {STATES.map((state) => (
          <li key={state}>
            <span class={`day-swatch night-${state}`} aria-hidden="true" />
            {WORDS[state]}
          </li>
        ))}
        {now !== null && (
          <li>
            <span class="day-swatch night-swatch" aria-hidden="true">
              <span class="night-now night-taken" />
            </span>
            Different now: then above, now below
          </li>
        )}
      </ul>
    </>
  )
}
