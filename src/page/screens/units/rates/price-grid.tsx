import { useRef, useState } from 'preact/hooks'
import { useSession } from '../../../data/use-session.ts'
import { type Day, dayText } from '../../../format/days.ts'
import { money, plural } from '../../../format/numbers.ts'
import {
  type GridCell,
  type GridRow,
  type NightPrice,
  type NightPrices,
  nextNight,
  seasonRuns,
} from './night-prices.ts'

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
  const [pointed, setPointed] = useState<Day | null>(null)
  const [focused, setFocused] = useState<Day>(() => rows[0]?.cells[0]?.day ?? today)
  const grid = useRef<HTMLDivElement>(null)
  const first = rows[0]?.cells[0]?.day ?? 0
  const last = rows.at(-1)?.cells.at(-1)?.day ?? 0
  // What is pointed at may be of the rows shown before.
  const shown = pointed !== null && pointed >= first && pointed <= last ? pointed : null
  const tabStop = focused < first || focused > last ? first : focused
  const dayOfEvent = (event: Event) => {
    const { day } = (event.target as HTMLElement).closest<HTMLElement>('[data-day]')?.dataset ?? {}
    return day === undefined ? null : Number(day)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const day = dayOfEvent(event)
    if (day === null) return
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault()
      onChoose(day)
      return
    }
    const next = nextNight(rows, day, event.key)
    if (next === undefined) return
    event.preventDefault()
    setFocused(next)
    setPointed(next)
    grid.current?.querySelector<HTMLElement>(`[data-day="${next}"]`)?.focus()
  }
  return (
    <>
      {/* biome-ignore lint/a11y/useSemanticElements: a table cannot have the rows of seasons in between */}
      <div
        ref={grid}
        role="grid"
        aria-label={label}
        class={props.showsPrices ? 'price-grid price-grid-month' : 'price-grid'}
        style={{ '--price-columns': columns }}
        onKeyDown={onKeyDown}
        onPointerOver={(event) => setPointed(dayOfEvent(event))}
        onPointerLeave={() => setPointed(null)}
        onFocusIn={(event) => setPointed(dayOfEvent(event))}
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

/** A Monday, to name the days of the week after. */
const MONDAY = 4

/** The days of the week above the columns. Each night's name has its own. */
function Weekdays({ columns }: { columns: number }) {
  const style = columns > 7 ? 'narrowWeekday' : 'weekday'
  return (
    <div class="price-row price-weekdays" aria-hidden="true">
      {Array.from({ length: columns }, (_, column) => (
        <span key={column} class={column % 7 > 4 ? 'price-weekend' : undefined} style={{ gridColumn: column + 2 }}>
          {dayText(MONDAY + (column % 7), style)}
        </span>
      ))}
    </div>
  )
}

function Row({ row, tabStop, pointed, ...grid }: PriceGridProps & { row: GridRow; tabStop: Day; pointed: Day | null }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: see the grid
    // biome-ignore lint/a11y/useFocusableInteractive: only nights can be chosen
    <div class="price-row" role="row">
      {/* biome-ignore lint/a11y/useSemanticElements: see the grid */}
      {/* biome-ignore lint/a11y/useFocusableInteractive: only nights can be chosen */}
      <span class="price-row-label" role="rowheader">
        {row.label}
        {row.year !== null && <span class="price-row-year"> {row.year}</span>}
      </span>
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
    </div>
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
    'price-night',
    `price-heat-${night === undefined ? 0 : nights.heat(night.price)}`,
    changed.has(day) ? 'price-changed' : '',
    isInStay ? 'price-in-stay' : '',
    day < today ? 'price-past' : '',
    day === today ? 'price-today' : '',
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
          <span class="price-date" aria-hidden="true">
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
