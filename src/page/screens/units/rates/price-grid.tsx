import { useSession } from '../../../data/use-session.ts'
import { type Day, dayText } from '../../../format/days.ts'
import { money, plural } from '../../../format/numbers.ts'
import { DayRow, dayOfEvent, useDayGrid, Weekdays } from '../editing/day-grid.tsx'
import type { GridCell, GridRow } from '../editing/day-rows.ts'
import { type NightPrice, type NightPrices, seasonRuns } from './night-prices.ts'

export interface GridStay {
  readonly arrival: Day
  readonly departure: Day
}

interface PriceGridProps {
  label: string
  rows: readonly GridRow[]
  columns: number
  /** Shows prices in the cells; else only how high they are. */
  showsPrices: boolean
  nights: NightPrices
  /** Before the changes that are not saved. */
  before: NightPrices | null
  changed: ReadonlySet<Day>
  stay: GridStay | null
  /** Chosen as arrival, while the departure is being chosen. */
  arrival: Day | null
  today: Day
  onChoose: (day: Day) => void
}

/** Nights in rows; arrow keys move, Enter or a click chooses arrival, then departure. */
export function PriceGrid(props: PriceGridProps) {
  const { label, rows, columns, nights, before, stay, arrival, today, onChoose } = props
  const { pointed: shown, tabStop, setFocused, onArrow, pointing } = useDayGrid(rows, today)
  const onKeyDown = (event: KeyboardEvent) => {
    const day = dayOfEvent(event)
    if (day === null) return
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault()
      onChoose(day)
    } else onArrow(event, day)
  }
  return (
    <>
      {/* biome-ignore lint/a11y/useSemanticElements: a table cannot have the rows of seasons in between */}
      <div
        {...pointing}
        role="grid"
        aria-label={label}
        class={props.showsPrices ? 'day-grid day-grid-weeks' : 'day-grid'}
        style={{ '--day-columns': columns }}
        onKeyDown={onKeyDown}
        onClick={(event) => {
          const day = dayOfEvent(event)
          if (day === null) return
          setFocused(day)
          onChoose(day)
        }}
      >
        <Weekdays columns={columns} />
        {rows.map((row) => (
          <Row key={row.key} row={row} tabStop={tabStop} pointed={shown} {...props} />
        ))}
      </div>
      <p class="price-readout" aria-live="off">
        <Readout
          night={shown === null ? undefined : nights.at(shown)}
          before={shown === null ? undefined : before?.at(shown)}
          hint={
            arrival !== null
              ? `Arrival ${dayText(arrival, 'short')}. Now choose the departure.`
              : stay === null
                ? 'Choose an arrival and a departure to price a stay.'
                : 'Point at a night for its price. Choose another arrival to price another stay.'
          }
        />
      </p>
    </>
  )
}

function Row({ row, tabStop, pointed, ...grid }: PriceGridProps & { row: GridRow; tabStop: Day; pointed: Day | null }) {
  return (
    <DayRow row={row}>
      {row.cells.map((cell) => (
        <Cell key={cell.day} cell={cell} isTabStop={cell.day === tabStop} pointed={pointed} {...grid} />
      ))}
      {seasonRuns(row, grid.nights).map(({ name, from }, index, runs) => (
        <span
          key={from}
          class="price-season"
          aria-hidden="true"
          title={name}
          // A short season's name continues below the nights after it.
          style={{ gridColumn: `${from + 2} / ${(runs[index + 1]?.from ?? grid.columns) + 2}` }}
        >
          {name}
        </span>
      ))}
    </DayRow>
  )
}

function Cell({
  cell: { day, column },
  isTabStop,
  pointed,
  nights,
  changed,
  stay,
  arrival,
  today,
  showsPrices,
}: PriceGridProps & { cell: GridCell; isTabStop: boolean; pointed: Day | null }) {
  const { currency } = useSession()
  const night = nights.at(day)
  const name =
    night === undefined
      ? dayText(day, 'long')
      : `${dayText(day, 'long')}: ${nightText(night, money(night.price, currency))}`
  const isPicking = arrival !== null && pointed !== null && pointed > arrival
  const isInStay =
    arrival !== null
      ? day === arrival || (isPicking && day > arrival && day < pointed)
      : stay !== null && day >= stay.arrival && day < stay.departure
  const classes = [
    'day-cell',
    `price-heat-${night === undefined ? 0 : nights.heat(night.price)}`,
    changed.has(day) ? 'price-changed' : '',
    isInStay ? 'price-in-stay' : '',
    day < today ? 'day-past' : '',
    day === today ? 'day-today' : '',
  ]
  return (
    // biome-ignore lint/a11y/useSemanticElements: see the grid
    <div
      role="gridcell"
      tabIndex={isTabStop ? 0 : -1}
      class={classes.filter(Boolean).join(' ')}
      data-day={day}
      aria-selected={isInStay}
      aria-label={showsPrices ? undefined : name}
      style={{ gridColumn: column + 2 }}
    >
      {showsPrices && night !== undefined && (
        <>
          <span class="visually-hidden">{name}</span>
          <span class="day-date" aria-hidden="true">
            {new Date(day * 86_400_000).getUTCDate()}
          </span>
          <span class="price-amount numeric" aria-hidden="true">
            {cellMoney(night.price, currency)}
          </span>
        </>
      )}
    </div>
  )
}

function Readout({
  night,
  before,
  hint,
}: {
  night: NightPrice | undefined
  before: NightPrice | undefined
  hint: string
}) {
  const { currency } = useSession()
  if (night === undefined) return <span class="muted">{hint}</span>
  const hadOther = before !== undefined && (before.price !== night.price || before.minStay !== night.minStay)
  return (
    <>
      <strong>{dayText(night.day, 'long')}</strong>{' '}
      <span class="numeric">{nightText(night, money(night.price, currency))}</span>
      {hadOther && (
        <span class="price-before numeric">
          {' '}
          now {money(before.price, currency)}
          {before.minStay !== night.minStay && `, at least ${plural(before.minStay, 'night')}`}
        </span>
      )}
    </>
  )
}

function nightText({ season, minStay }: NightPrice, price: string): string {
  return [price, season ?? 'outside seasons', `at least ${plural(minStay, 'night')}`].join(' · ')
}

/** Without its sign and without zero cents, which a cell has no room for. */
function cellMoney(amount: number, { digits }: { digits: number }): string {
  const unit = 10 ** digits
  return (amount / unit).toLocaleString(undefined, {
    maximumFractionDigits: digits,
    minimumFractionDigits: amount % unit === 0 ? 0 : digits,
  })
}
