import './bar-chart.css'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'

interface Bar {
  /** Below the bar. Empty: only `fullLabel` says it, for bars with no room for each. */
  readonly label: string
  /** Left out: `label` says it all. */
  readonly fullLabel?: string
  readonly value: number
  /** The value in words: `€ 1,240`. */
  readonly text: string
  /** Above the bar, if `text` is too long for that. */
  readonly shortText?: string
  /** Not yet settled, such as a month to come: hatched. */
  readonly isOpen?: boolean
  readonly isCurrent?: boolean
}

const HEIGHT = 168
const TOP = 18
const BOTTOM = 22
const BAR_MAX = 44
/** A bar has room for its figure; in a chart of narrower ones only the highest has one. */
const FIGURE_WIDTH = 40
/** Half of the widest label, such as `22 Nov` in bold. */
const EDGE = 24

/** Columns over time. Screen readers get a table instead. */
export function BarChart({
  title,
  bars,
  max,
  line,
  labelHead = 'Month',
  valueHead,
}: {
  /** Of the table; the visible title is the card's. */
  title: string
  bars: readonly Bar[]
  /** The height of the chart; left out: the greatest value. */
  max?: number
  /** A value to compare the bars with: drawn across them, if it is not above the chart. Say beside the chart what it is. */
  line?: number
  /** Head of the labels in the table. */
  labelHead?: string
  /** Head of the values in the table. */
  valueHead: string
}) {
  const frame = useRef<HTMLDivElement>(null)
  const width = useWidthOf(frame)
  const top = max ?? Math.max(1, ...bars.map(({ value }) => value))
  const step = bars.length === 0 ? 0 : width / bars.length
  const thickness = Math.min(BAR_MAX, step * 0.62)
  const full = HEIGHT - TOP - BOTTOM
  const most = bars.reduce<Bar | null>((high, bar) => (bar.value > (high?.value ?? 0) ? bar : high), null)
  return (
    <div class="bars" ref={frame}>
      <svg width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} aria-hidden="true">
        <defs>
          <pattern id="bars-hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
            <rect class="bars-hatch-ground" width="5" height="5" />
            <rect class="bars-hatch-line" width="2" height="5" />
          </pattern>
        </defs>
        {[0, 0.5, 1].map((part) => (
          <line
            key={part}
            class="bars-line"
            x1="0"
            x2={width}
            y1={TOP + full * part + 0.5}
            y2={TOP + full * part + 0.5}
          />
        ))}
        {bars.map((bar, index) => {
          const { label, fullLabel = label, value, text, shortText = text, isOpen, isCurrent } = bar
          const middle = step * (index + 0.5)
          const height = value <= 0 ? 0 : Math.max(2, (full * Math.min(value, top)) / top)
          const y = TOP + full - height
          return (
            <g key={fullLabel} class="bars-group">
              <title>{`${fullLabel}: ${text}`}</title>
              <rect class="bars-area" x={step * index} y="0" width={step} height={HEIGHT} />
              <rect
                class={isOpen === true ? 'bars-column bars-open' : 'bars-column'}
                fill={isOpen === true ? 'url(#bars-hatch)' : undefined}
                x={middle - thickness / 2}
                y={y}
                width={thickness}
                height={height}
                rx="3"
              />
              {(step >= FIGURE_WIDTH || bar === most) && (
                <text class="bars-value" x={step >= FIGURE_WIDTH ? middle : within(middle, width)} y={y - 5}>
                  {shortText}
                </text>
              )}
              {label !== '' && (
                <text
                  class={isCurrent === true ? 'bars-label bars-label-current' : 'bars-label'}
                  x={step >= FIGURE_WIDTH ? middle : within(middle, width)}
                  y={HEIGHT - 6}
                >
                  {label}
                </text>
              )}
            </g>
          )
        })}
        {line !== undefined && line <= top && (
          <line
            class="bars-mark"
            x1="0"
            x2={width}
            y1={TOP + full - (full * line) / top}
            y2={TOP + full - (full * line) / top}
          />
        )}
      </svg>
      <table class="visually-hidden">
        <caption>{title}</caption>
        <thead>
          <tr>
            <th scope="col">{labelHead}</th>
            <th scope="col">{valueHead}</th>
          </tr>
        </thead>
        <tbody>
          {bars.map(({ label, fullLabel = label, text }) => (
            <tr key={fullLabel}>
              <th scope="row">{fullLabel}</th>
              <td>{text}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** Text at the edge of the chart is not cut off. */
function within(middle: number, width: number): number {
  return Math.min(Math.max(middle, EDGE), width - EDGE)
}

function useWidthOf(ref: { current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0)
  useLayoutEffect(() => {
    const element = ref.current
    if (element === null) return
    const observer = new ResizeObserver(() => setWidth(Math.floor(element.clientWidth)))
    observer.observe(element)
    setWidth(Math.floor(element.clientWidth))
    return () => observer.disconnect()
  }, [])
  return width
}
