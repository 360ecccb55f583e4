/** Line charts as SVG, drawn for a page that defines the colours of `.s0` to `.s4` (src/cli/bench/report.ts). */

/** Trusted markup; all other values are escaped. */
export class Html {
  constructor(readonly text: string) {}
}

/** Markup whose values are escaped, unless they are markup. Lists are joined. */
export function html(parts: TemplateStringsArray, ...values: readonly unknown[]): Html {
  return new Html(parts.map((part, i) => (i === 0 ? '' : markupOf(values[i - 1])) + part).join(''))
}

function markupOf(value: unknown): string {
  if (value instanceof Html) return value.text
  if (Array.isArray(value)) return value.map(markupOf).join('')
  if (value === null || value === undefined) return ''
  return Bun.escapeHTML(String(value))
}

interface Series {
  readonly name: string
  readonly points: readonly (readonly [x: number, y: number])[]
}

interface Axis {
  readonly label: string
  readonly min: number
  readonly max: number
  readonly ticks: readonly (readonly [at: number, text: string])[]
}

export interface Chart {
  /** Text alternative for screen readers. */
  readonly description: string
  readonly x: Axis
  readonly yLabel: string
  readonly series: readonly Series[]
}

/** For desktop and phone: the page shows one of them, because text in a scaled-down drawing is unreadable. */
const SIZES = [
  { name: 'wide', width: 770, height: 300 },
  { name: 'narrow', width: 360, height: 250 },
] as const
const PLOT = { left: 58, right: 26, top: 12, bottom: 46 }
/** Between the middles of two labels of the horizontal axis. */
const TICK_GAP_MIN = 38

export function lineChart(chart: Chart): Html {
  return html`
    <div class="legend">${chart.series.map(({ name }, i) => html`<span><svg width="26" height="10" aria-hidden="true"><line class="line s${i}" x1="1" x2="25" y1="5" y2="5"/></svg>${name}</span>`)}</div>
    ${SIZES.map((size) => drawing(chart, size))}`
}

function drawing({ description, x, yLabel, series }: Chart, { name, width, height }: (typeof SIZES)[number]): Html {
  const [plotWidth, plotHeight] = [width - PLOT.left - PLOT.right, height - PLOT.top - PLOT.bottom]
  const y = axisFrom0(Math.max(0, ...series.flatMap(({ points }) => points.map(([, value]) => value))), yLabel)
  const left = (value: number) => place(PLOT.left + ((value - x.min) / (x.max - x.min || 1)) * plotWidth)
  const top = (value: number) => place(PLOT.top + (1 - value / y.max) * plotHeight)
  const bottom = PLOT.top + plotHeight
  const grid = y.ticks.map(
    ([at, text]) => html`
      <line class="grid" x1="${PLOT.left}" x2="${width - PLOT.right}" y1="${top(at)}" y2="${top(at)}"/>
      <text class="tick" x="${PLOT.left - 8}" y="${top(at) + 4}" text-anchor="end">${text}</text>`,
  )
  let last = Number.NEGATIVE_INFINITY
  const ticks = x.ticks.map(([at, text]) => {
    if (left(at) - last < TICK_GAP_MIN) return null
    last = left(at)
    return html`
      <line class="mark" x1="${last}" x2="${last}" y1="${bottom}" y2="${bottom + 5}"/>
      <text class="tick" x="${last}" y="${bottom + 19}" text-anchor="middle">${text}</text>`
  })
  const lines = series.map(({ points }, i) => {
    const [first] = points
    if (first === undefined) return null
    // A line with a single point would be invisible.
    if (points.length === 1) return html`<circle class="dot s${i}" cx="${left(first[0])}" cy="${top(first[1])}" r="3"/>`
    return html`<polyline class="line s${i}" points="${points.map(([px, py]) => `${left(px)},${top(py)}`).join(' ')}"/>`
  })
  return html`<svg class="chart ${name}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${description}">
      ${grid}${ticks}
      <line class="axis" x1="${PLOT.left}" x2="${width - PLOT.right}" y1="${bottom}" y2="${bottom}"/>
      ${lines}
      <text class="label" x="${PLOT.left + plotWidth / 2}" y="${height - 6}" text-anchor="middle">${x.label}</text>
      <text class="label" transform="translate(13 ${PLOT.top + plotHeight / 2}) rotate(-90)" text-anchor="middle">${y.label}</text>
    </svg>`
}

function place(value: number): number {
  return Math.round(value * 10) / 10
}

const TICKS = 5

/** From 0 to a round number, with ticks at 1, 2 or 5 times a power of ten. */
export function axisFrom0(highest: number, label: string): Axis {
  const rough = (highest || 1) / TICKS
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = power * ([1, 2, 5].find((of) => of * power >= rough) ?? 10)
  const max = step * Math.ceil((highest || 1) / step)
  const digits = Math.max(0, -Math.floor(Math.log10(step)))
  const count = Math.round(max / step)
  const ticks = Array.from({ length: count + 1 }, (_, i) => [i * step, (i * step).toFixed(digits)] as const)
  return { label, min: 0, max, ticks }
}

/** Seconds of a run. */
export function timeAxis(seconds: number): Axis {
  const { ticks } = axisFrom0(seconds, '')
  const max = Math.max(1, seconds)
  return {
    label: 'Time since the start of the run (s)',
    min: 0,
    max,
    ticks: ticks.filter(([at]) => at <= max && Number.isInteger(at)).map(([at]) => [at, String(at)] as const),
  }
}

const SHARES = [
  [0.5, '50 %'],
  [0.9, '90 %'],
  [0.99, '99 %'],
  [0.999, '99.9 %'],
  [0.9999, '99.99 %'],
] as const

/** The position of a share on its axis: the steps from 90 to 99 to 99.9 % are equally wide. */
export function placeOfShare(share: number): number {
  return Math.log10(1 / (1 - share))
}

/** Up to the slowest of so many requests. */
export function shareAxis(highest: number): Axis {
  const max = Math.max(1, placeOfShare(highest))
  return {
    label: 'Share of requests that were at least this fast',
    min: 0,
    max,
    ticks: SHARES.map(([share, text]) => [placeOfShare(share), text] as const).filter(([at]) => at <= max),
  }
}
