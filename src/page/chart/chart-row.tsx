import type { Day } from '../format/days.ts'
import { ChartBar } from './chart-bar.tsx'
import { stayOn } from './chart-rows.ts'
import { type DayWords, freeCellLabel, unitLabel } from './labels.ts'
import { Memo } from './memo.ts'
import { type Bar, barsOf } from './row-layout.ts'
import { midnightX, noonX, type Scale } from './scale.ts'
import type { ChartUnit, Stay } from './stay.ts'

/** Stays that are drawn apart. Sets that never change, so that comparing them is enough. */
export interface Emphasis {
  readonly found: ReadonlySet<string>
  readonly openId: string | null
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
        isInFlight={emphasis.inFlight.has(id)}
        isGhosted={emphasis.ghostedId === id}
        hasCursor={onCursor === stay}
      />
    )
  }
}
