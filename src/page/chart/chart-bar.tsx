import type { Day } from '../format/days.ts'
import { timeLeft } from '../format/instants.ts'
import { barLabel, barText, type DayWords } from './labels.ts'
import { Memo } from './memo.ts'
import { dueOn, kindOf, nightsOf, type Stay } from './stay.ts'

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

export class ChartBar extends Memo<ChartBarProps> {
  override render({ stay, left, width, cleaning, extension, column, today, nowS, words, ...is }: ChartBarProps) {
    const kind = kindOf(stay)
    const due = dueOn(stay, today)
    const names = ['chart-bar', `chart-bar-${kind}`]
    if (due !== null) names.push('is-due')
    if (width < MARK_WIDTH_MIN_PX) names.push('is-short')
    if (cleaning > 0) names.push('is-cleaned')
    if (is.isFound) names.push('is-found')
    if (is.isOpen) names.push('is-open')
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
