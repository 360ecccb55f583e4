/** What is drawn: which rows and days are in the document, which of the rows in this frame, and which bars in a row. Pure. */
import type { Day } from '../format/days.ts'
import {
  type ChartUnit,
  CLOSED_TO_ARRIVAL,
  CLOSED_TO_DEPARTURE,
  closedOn,
  isCleanedAfter,
  NOT_FOR_SALE,
  type Stay,
} from './stay.ts'

/**
 * Which rows and days are in the document. It is a little more than what can be seen, and moves in blocks, so that
 * most scroll events change nothing and no strip stays empty between an event and the frame that answers it.
 */
export interface VisibleWindow {
  readonly rowFrom: number
  /** Exclusive. */
  readonly rowTo: number
  /** Counted from the first day of the chart. */
  readonly dayFrom: number
  /** Exclusive. */
  readonly dayTo: number
}

interface Viewport {
  readonly scrollTop: number
  readonly scrollLeft: number
  /** Of the part that shows days and rows, without the header and the column of units. */
  readonly width: number
  readonly height: number
}

interface Extent {
  readonly rowHeight: number
  readonly rows: number
  readonly dayWidth: number
  readonly days: number
}

const ROWS_PER_BLOCK = 4
const BLOCKS_AHEAD = 1

export function visibleWindow(viewport: Viewport, { rowHeight, rows, dayWidth, days }: Extent): VisibleWindow {
  // Half of what is seen: a block is crossed rarely, and the three blocks or so in the document stay small.
  const daysPerBlock = Math.max(4, Math.ceil(viewport.width / dayWidth / 2))
  const [rowFrom, rowTo] = blocks(viewport.scrollTop, viewport.height, rowHeight, ROWS_PER_BLOCK, rows)
  const [dayFrom, dayTo] = blocks(viewport.scrollLeft, viewport.width, dayWidth, daysPerBlock, days)
  return { rowFrom, rowTo, dayFrom, dayTo }
}

export function isSameWindow(a: VisibleWindow, b: VisibleWindow): boolean {
  return a.rowFrom === b.rowFrom && a.rowTo === b.rowTo && a.dayFrom === b.dayFrom && a.dayTo === b.dayTo
}

function blocks(start: number, length: number, size: number, perBlock: number, count: number): [number, number] {
  const blockSize = size * perBlock
  const from = (Math.floor(Math.max(0, start) / blockSize) - BLOCKS_AHEAD) * perBlock
  const to = (Math.floor((Math.max(0, start) + length) / blockSize) + 1 + BLOCKS_AHEAD) * perBlock
  return [Math.min(Math.max(0, from), count), Math.min(to, count)]
}

interface Days {
  readonly from: Day
  /** Exclusive. */
  readonly to: Day
}

interface PlannedRow {
  readonly index: number
  readonly days: Days
}

/** About 10 ms of work for rows as full as they get. */
const ROWS_PER_FRAME = 4

/**
 * Which rows are drawn for which days in this frame. A scroll bar that is pulled asks for all rows again, frame after frame; only a few
 * take part in each, those in sight first, and the others follow in the next ones. So no frame is long, however fast one scrolls.
 */
export class DrawPlan {
  #drawn = new Map<string, Days>()

  /**
   * @param wanted rows in the order of their importance
   * @param keyOf what tells rows apart, whatever their order
   */
  next(
    wanted: readonly number[],
    keyOf: (index: number) => string,
    days: Days,
  ): { readonly rows: readonly PlannedRow[]; readonly isComplete: boolean } {
    // The first view comes whole.
    let budget = this.#drawn.size === 0 ? Number.POSITIVE_INFINITY : ROWS_PER_FRAME
    const drawn = new Map<string, Days>()
    const rows: PlannedRow[] = []
    let isComplete = true
    for (const index of wanted) {
      const key = keyOf(index)
      const before = this.#drawn.get(key)
      const isCurrent = before?.from === days.from && before.to === days.to
      if (!isCurrent && budget === 0) isComplete = false
      const shown = isCurrent || budget > 0 ? days : before
      if (!isCurrent && budget > 0) budget -= 1
      if (shown === undefined) continue
      drawn.set(key, shown)
      rows.push({ index, days: shown })
    }
    this.#drawn = drawn
    return { rows: rows.sort((a, b) => a.index - b.index), isComplete }
  }
}

/** A stay in the row of its unit: from noon to noon, and behind some a tail. */
export interface Bar {
  readonly stay: Stay
  /** Nights that are cleaned after the departure: until here, or null. They end at the next arrival. */
  readonly cleanedUntil: Day | null
  /** The expected extension: until here, or null. Not cut: where it reaches the next stay, somebody has to act. */
  readonly expectedUntil: Day | null
  /** Whether the expected extension reaches into the next stay. */
  readonly isExtensionInTheWay: boolean
}

/**
 * One lane is enough: no night is sold twice, so bars never overlap.
 * @param stays of one unit, sorted by arrival
 * @param window days of which anything is to be seen
 */
export function barsOf(
  stays: readonly Stay[],
  turnoverNights: number,
  window: { readonly from: Day; readonly to: Day },
): Bar[] {
  const bars: Bar[] = []
  const first = firstToDraw(stays, window.from)
  // An expected extension may reach beyond later stays.
  for (let i = 0; i < first; i++) {
    const stay = stays[i]
    if (stay?.expectedUntil != null && stay.expectedUntil >= window.from)
      bars.push(barOf(stay, stays[i + 1], turnoverNights))
  }
  for (let i = first; i < stays.length; i++) {
    const stay = stays[i]
    if (stay === undefined || stay.arrival >= window.to) break
    const next = stays[i + 1]
    const bar = barOf(stay, next, turnoverNights)
    const until = Math.max(stay.departure, bar.cleanedUntil ?? 0, bar.expectedUntil ?? 0)
    // The day of the departure is half covered.
    if (until >= window.from) bars.push(bar)
  }
  return bars
}

function barOf(stay: Stay, next: Stay | undefined, turnoverNights: number): Bar {
  const { expectedUntil, departure } = stay
  const nextArrival = next?.arrival ?? Number.POSITIVE_INFINITY
  const cleanedUntil = isCleanedAfter(stay.type) ? Math.min(departure + turnoverNights, nextArrival) : departure
  return {
    stay,
    cleanedUntil: cleanedUntil > departure ? cleanedUntil : null,
    expectedUntil,
    isExtensionInTheWay: expectedUntil !== null && expectedUntil > nextArrival,
  }
}

/** Consecutive days that are closed in one way; for `stopped`, nights. */
interface ClosedRun {
  readonly kind: 'stopped' | 'no-arrival' | 'no-departure'
  readonly from: Day
  readonly to: Day
}

/** The closed days of a unit that are marked: only free days, and a night that is not for sale has no other mark. */
export function closedRunsOf(
  unit: ChartUnit,
  stays: readonly Stay[],
  { from, to }: { readonly from: Day; readonly to: Day },
): ClosedRun[] {
  if (unit.closed.length === 0) return []
  const near = stays.filter(({ arrival, departure }) => departure >= from && arrival < to)
  const isFree = (night: Day) => !near.some(({ arrival, departure }) => arrival <= night && night < departure)
  const isStopped = (night: Day) => (closedOn(unit, night) & NOT_FOR_SALE) !== 0
  const isOpen = (night: Day) => isFree(night) && !isStopped(night)
  const kinds = {
    stopped: (day: Day) => isStopped(day) && isFree(day),
    'no-arrival': (day: Day) => (closedOn(unit, day) & CLOSED_TO_ARRIVAL) !== 0 && isOpen(day),
    'no-departure': (day: Day) => (closedOn(unit, day) & CLOSED_TO_DEPARTURE) !== 0 && isOpen(day - 1),
  }
  const runs: ClosedRun[] = []
  for (const [kind, holds] of Object.entries(kinds) as [ClosedRun['kind'], (day: Day) => boolean][]) {
    let start: Day | null = null
    for (let day = from; day <= to; day++) {
      const isIn = day < to && holds(day)
      if (isIn) start ??= day
      else if (start !== null) {
        runs.push({ kind, from: start, to: day })
        start = null
      }
    }
  }
  return runs
}

/** The first stay that can be seen, less one, whose tail may be. */
function firstToDraw(stays: readonly Stay[], from: Day): number {
  let low = 0
  let high = stays.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((stays[middle] as Stay).departure < from) low = middle + 1
    else high = middle
  }
  return Math.max(0, low - 1)
}
