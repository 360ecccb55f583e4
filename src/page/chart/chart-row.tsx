/** A row of the chart, and the bars in it. */
import './chart-row.css'
import { Component } from 'preact'
import type { Day } from '../format/days.ts'
import { timeLeft } from '../format/instants.ts'
import { stayOn } from './chart-rows.ts'
import { type Bar, barsOf, closedRunsOf } from './draw-plan.ts'
import { barLabel, barText, type DayWords, freeCellLabel, unitLabel } from './labels.ts'
import { midnightX, noonX, type Scale } from './scale.ts'
import { type ChartUnit, dueOn, kindOf, nightsOf, type Stay } from './stay.ts'

/** A component that is drawn again only when one of its properties is another value. */
export abstract class Memo<Props extends object> extends Component<Props> {
  override shouldComponentUpdate(next: Props): boolean {
    const now = this.props as Record<string, unknown>
    const then = next as Record<string, unknown>
    return (
      Object.keys(then).some((key) => now[key] !== then[key]) || Object.keys(now).length !== Object.keys(then).length
    )
  }
}

interface ChartBarProps {
  readonly stay: Stay
  /** Pixels from the row's left edge. */
  readonly left: number
  readonly width: number
  /** Pixels behind the departure; 0 for none. */
  readonly cleaning: number
  readonly extension: number
  readonly isExtensionInTheWay: boolean
  readonly column: number
  readonly today: Day
  /** Epoch seconds; null for stays whose looks do not depend on the time. */
  readonly nowS: number | null
  readonly words: DayWords
  readonly isFound: boolean
  readonly isOpen: boolean
  /** Booked together with the stay that is open. */
  readonly isTogether: boolean
  readonly isInFlight: boolean
  readonly isGhosted: boolean
  readonly hasCursor: boolean
}

/** Below this there is no room for a name; colour, pattern and the details on a click remain. */
const TEXT_WIDTH_MIN_PX = 34
/** Most names fit; below, the pointer says them. */
const NAME_WIDTH_PX = 110
const MARK_WIDTH_MIN_PX = 60
const TIME_LEFT_WIDTH_MIN_PX = 130

class ChartBar extends Memo<ChartBarProps> {
  override render({ stay, left, width, cleaning, extension, column, today, nowS, words, ...is }: ChartBarProps) {
    const kind = kindOf(stay)
    const due = dueOn(stay, today)
    const names = ['chart-bar', `chart-bar-${kind}`]
    if (due !== null) names.push('is-due')
    if (width < MARK_WIDTH_MIN_PX) names.push('is-short')
    if (cleaning > 0) names.push('is-cleaned')
    if (is.isFound) names.push('is-found')
    if (is.isOpen) names.push('is-open')
    if (is.isTogether) names.push('is-together')
    if (stay.groupId !== null && width >= MARK_WIDTH_MIN_PX) names.push('is-grouped')
    if (is.isInFlight) names.push('is-in-flight')
    if (is.isGhosted) names.push('is-ghosted')
    const label = barLabel(stay, words, today, nowS ?? 0)
    const hasTime = stay.holdExpiresAt !== null && nowS !== null && width >= TIME_LEFT_WIDTH_MIN_PX
    const timeText = hasTime ? timeLeft((stay.holdExpiresAt ?? 0) * 1_000, nowS * 1_000) : undefined
    return (
      <>
        <div
          class={names.join(' ')}
          role="gridcell"
          aria-colindex={column}
          aria-colspan={nightsOf(stay)}
          aria-label={label}
          title={width < NAME_WIDTH_PX ? label : undefined}
          aria-busy={is.isInFlight}
          tabIndex={is.hasCursor ? 0 : -1}
          data-stay={stay.id}
          data-cursor={is.hasCursor || undefined}
          style={{ left: `${left}px`, width: `${width}px`, '--cleaning': `${cleaning}px` }}
        >
          {width >= TEXT_WIDTH_MIN_PX && (
            <span class="chart-bar-text" aria-hidden="true" data-left={timeText}>
              {barText(stay)}
            </span>
          )}
        </div>
        {extension > 0 && (
          <div
            class={is.isExtensionInTheWay ? 'chart-bar-extension is-in-the-way' : 'chart-bar-extension'}
            aria-hidden="true"
            style={{ left: `${left + width}px`, width: `${extension}px` }}
          />
        )}
      </>
    )
  }
}

/** Stays that are drawn apart. Sets that never change, so that comparing them is enough. */
export interface Emphasis {
  readonly found: ReadonlySet<string>
  readonly openId: string | null
  /** Of the stay that is open. */
  readonly openGroupId: string | null
  readonly ghostedId: string | null
  readonly inFlight: ReadonlySet<string>
}

interface ChartRowProps {
  readonly unit: ChartUnit
  readonly stays: readonly Stay[]
  readonly index: number
  readonly scale: Scale
  readonly unitWidth: number
  /** Days in the document. */
  readonly from: Day
  readonly to: Day
  readonly today: Day
  /** Epoch seconds, by the half minute. */
  readonly nowS: number
  readonly words: DayWords
  readonly emphasis: Emphasis
  /** The day of the cursor, if this row has it. */
  readonly cursor: Day | null
}

/** Between two bars that share a day. */
const GAP_PX = 1

/** The first column is the unit's. */
const COLUMN_OF_FIRST_DAY = 2

export class ChartRow extends Memo<ChartRowProps> {
  override render({ unit, stays, index, scale, unitWidth, cursor, words, ...props }: ChartRowProps) {
    const onCursor = cursor === null ? null : stayOn(stays, cursor)
    const bars = barsOf(stays, unit.turnoverNights, props)
    // The cursor may be far from what is seen: the keyboard keeps its place.
    if (onCursor !== null && !bars.some(({ stay }) => stay === onCursor))
      bars.push({ stay: onCursor, cleanedUntil: null, expectedUntil: null, isExtensionInTheWay: false })
    return (
      <div
        class={unit.isArchived ? 'chart-row is-archived' : 'chart-row'}
        role="row"
        aria-rowindex={index + 2}
        style={{ top: `${index * scale.rowHeight}px` }}
      >
        <div class="visually-hidden" role="rowheader" aria-colindex={1}>
          {unitLabel(unit)}
        </div>
        {closedRunsOf(unit, stays, props).map(({ kind, from, to }) => (
          <div
            key={`${kind} ${from}`}
            class={`chart-closed chart-closed-${kind}`}
            aria-hidden="true"
            style={{
              left: `${unitWidth + (kind === 'stopped' ? noonX(scale, from) : midnightX(scale, from))}px`,
              width: `${(to - from) * scale.dayWidth}px`,
              '--day-width': `${scale.dayWidth}px`,
            }}
          />
        ))}
        {bars.map((bar) => this.#bar(bar, onCursor))}
        {cursor !== null && onCursor === null && (
          <div
            key={`cell-${cursor}`}
            class="chart-cell"
            role="gridcell"
            aria-colindex={COLUMN_OF_FIRST_DAY + cursor - scale.firstDay}
            aria-label={freeCellLabel(unit, cursor, words, stays.find(({ departure }) => departure === cursor) ?? null)}
            tabIndex={0}
            data-cursor
            style={{ left: `${unitWidth + midnightX(scale, cursor)}px`, width: `${scale.dayWidth}px` }}
          />
        )}
      </div>
    )
  }

  #bar({ stay, cleanedUntil, expectedUntil, isExtensionInTheWay }: Bar, onCursor: Stay | null) {
    const { scale, unitWidth, today, nowS, words, emphasis } = this.props
    const end = noonX(scale, stay.departure)
    const tail = (until: Day | null) => (until === null ? 0 : noonX(scale, until) - end - GAP_PX)
    const { id } = stay
    return (
      <ChartBar
        key={id}
        stay={stay}
        left={unitWidth + noonX(scale, stay.arrival) + GAP_PX}
        width={(stay.departure - stay.arrival) * scale.dayWidth - 2 * GAP_PX}
        cleaning={tail(cleanedUntil)}
        extension={tail(expectedUntil)}
        isExtensionInTheWay={isExtensionInTheWay}
        column={COLUMN_OF_FIRST_DAY + stay.arrival - scale.firstDay}
        today={today}
        nowS={stay.holdExpiresAt === null ? null : nowS}
        words={words}
        isFound={emphasis.found.has(id)}
        isOpen={emphasis.openId === id}
        isTogether={emphasis.openId !== id && stay.groupId !== null && emphasis.openGroupId === stay.groupId}
        isInFlight={emphasis.inFlight.has(id)}
        isGhosted={emphasis.ghostedId === id}
        hasCursor={onCursor === stay}
      />
    )
  }
}
