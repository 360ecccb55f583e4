/**
 * The tape chart: a row for each unit, a column for each day, and a bar for each stay from noon to noon. Only what can be seen is in
 * the document (draw-plan.ts). For assistive technology it is a grid of one tab stop; for the pointer, gesture.ts says what each
 * movement means. It writes nothing: what its user wants goes to the screen around it.
 */
import './chart.css'
import type { RefObject } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Button } from '../design/button.tsx'
import type { Day } from '../format/days.ts'
import { plural } from '../format/numbers.ts'
import { useTextScale } from '../lib/hooks.ts'
import { ChartBackdrop, ChartGhost, ChartHead, ChartUnits } from './chart-frame.tsx'
import { ChartRow, type Emphasis } from './chart-row.tsx'
import { type ChartRows, isFree } from './chart-rows.ts'
import { selectionOf } from './cursor.ts'
import { DrawPlan } from './draw-plan.ts'
import { type Ghost, ghostOf, type Intent, stayBetween } from './gesture.ts'
import type { DayWords } from './labels.ts'
import { dayWidthOf, type Scale, type Zoom } from './scale.ts'
import type { ChartUnit, Stay } from './stay.ts'
import { useCursor } from './use-cursor.ts'
import { usePointer } from './use-pointer.ts'
import { type ScrolledTo, useScrolling, useSize } from './use-scrolling.ts'

/** What the screen shows on the chart while it asks whether to write it. */
interface Proposal {
  readonly unit: string
  readonly arrival: Day
  readonly departure: Day
}

export interface ChartHandle {
  scrollTo(to: { readonly day: Day | null; readonly row: number | null }): void
}

interface TapeChartProps {
  /** The rows, in order. */
  readonly units: readonly ChartUnit[]
  readonly data: ChartRows
  /** `data.revision`: the chart is drawn again when it changes. */
  readonly revision: number
  readonly firstDay: Day
  /** Exclusive. */
  readonly endDay: Day
  readonly loadedFrom: Day
  readonly loadedTo: Day
  readonly today: Day
  /** Epoch seconds. */
  readonly nowS: number
  readonly zoom: Zoom
  readonly rowHeight: number
  readonly unitWidth: number
  readonly words: DayWords
  /** Whether stays can be made and changed. */
  readonly canWrite: boolean
  readonly found: ReadonlySet<string>
  readonly openId: string | null
  readonly inFlight: ReadonlySet<string>
  readonly proposals: readonly Proposal[]
  /** The stay that a proposal would move. It is drawn faded at its old place. */
  readonly movedId: string | null
  readonly initial: { readonly day: Day; readonly row: number }
  readonly handle: RefObject<ChartHandle>
  /** Days that are drawn from now on: their stays are wanted. */
  readonly onSeen: (days: { readonly from: Day; readonly to: Day }) => void
  readonly onSettled: (at: ScrolledTo) => void
  readonly onOpen: (stay: Stay) => void
  readonly onCreate: (unit: ChartUnit, stay: { readonly arrival: Day; readonly departure: Day }) => void
  readonly onChange: (stay: Stay, unit: ChartUnit, to: { readonly arrival: Day; readonly departure: Day }) => void
  /** The user asked for what cannot be. */
  readonly onRefused: (why: string) => void
}

/** At the usual size of text. */
const HEAD_HEIGHT_PX = 56

export function TapeChart(props: TapeChartProps) {
  const { units, data, firstDay, endDay, today, zoom, rowHeight, unitWidth, words, canWrite } = props
  const scroller = useRef<HTMLDivElement>(null)
  const size = useSize(scroller)
  const textScale = useTextScale()
  const headHeight = HEAD_HEIGHT_PX * textScale
  const width = Math.max(0, (size?.width ?? 0) - unitWidth)
  const height = Math.max(0, (size?.height ?? 0) - headHeight)
  const dayWidth = Math.round(dayWidthOf(zoom, width / textScale) * textScale)
  const scale = useMemo<Scale>(() => ({ firstDay, dayWidth, rowHeight }), [firstDay, dayWidth, rowHeight])
  const days = endDay - firstDay
  // The cursor is moved by the scrolling, and scrolls itself.
  const settled = useRef<(at: ScrolledTo) => void>(() => {})
  const scrolling = useScrolling({
    scroller,
    width,
    height,
    unitWidth,
    dayWidth,
    rowHeight,
    firstDay,
    days,
    rows: units.length,
    initial: props.initial,
    onSettled: (at) => settled.current(at),
  })
  const staysOfRow = (row: number) => {
    const unit = units[row]
    return unit === undefined ? [] : data.staysOf(unit.slug)
  }

  /** Why a stay cannot be there; null if it can. */
  const refusal = (ghost: Ghost, stayId?: string): string | null => {
    const unit = units[ghost.row]
    if (unit === undefined) return 'No unit'
    if (unit.isArchived) return 'Archived'
    if (ghost.arrival < props.loadedFrom || ghost.departure > props.loadedTo) return 'Not loaded yet'
    return isFree(data.staysOf(unit.slug), ghost, stayId) ? null : 'Taken'
  }

  function create(ghost: Ghost): void {
    const unit = units[ghost.row]
    if (unit === undefined) return
    const why = refusal(ghost)
    if (why !== null) props.onRefused(REFUSED[why] ?? why)
    else props.onCreate(unit, ghost)
  }

  const { cursor, moveTo, follow, giveUp, onKeyDown } = useCursor({
    scroller,
    canWrite,
    staysOfRow,
    initial: props.initial,
    reveal: scrolling.reveal,
    limits: {
      rows: units.length,
      firstDay,
      endDay,
      today,
      rowsPerPage: Math.max(1, Math.floor(height / rowHeight) - 1),
    },
    onOpen: props.onOpen,
    onSelected: create,
  })
  const { row } = cursor
  settled.current = (at) => {
    follow({ day: at.leftDay + 1, row: at.topRow })
    props.onSettled(at)
  }

  function onIntent(intent: Intent, isTouch: boolean): void {
    switch (intent.kind) {
      case 'none':
        return
      case 'create':
        moveTo({ row: intent.ghost.row, day: intent.ghost.arrival, anchor: null })
        create(intent.ghost)
        return
      case 'change': {
        const unit = units[intent.ghost.row]
        const why = refusal(intent.ghost, intent.stay.id)
        if (why !== null) props.onRefused(REFUSED[why] ?? why)
        else if (unit !== undefined) props.onChange(intent.stay, unit, intent.ghost)
        return
      }
      case 'pick': {
        const { row, day, bar } = intent.hit
        if (bar !== null && cursor.anchor === null) {
          const { arrival, departure } = bar.stay
          moveTo({ row, day: Math.max(arrival, Math.min(day, departure - 1)), anchor: null })
          props.onOpen(bar.stay)
        } else if (cursor.anchor !== null && cursor.row === row) {
          // The second tap: the departure.
          moveTo({ row, day, anchor: null })
          create({ row, ...stayBetween(cursor.anchor, day) })
        } else moveTo({ row, day, anchor: isTouch && canWrite && bar === null ? day : null })
      }
    }
  }

  const pointer = usePointer({
    scroller,
    scale,
    unitWidth,
    headHeight,
    rows: units.length,
    canWrite,
    staysOfRow,
    onIntent,
    scrollBy: scrolling.scrollBy,
  })

  // A new value draws nothing: the screen calls it.
  props.handle.current = { scrollTo: scrolling.scrollTo }

  const { rowFrom, rowTo, dayFrom, dayTo } = scrolling.window
  const isMeasured = size !== null
  useEffect(() => {
    if (isMeasured) props.onSeen({ from: firstDay + dayFrom, to: firstDay + dayTo })
  }, [isMeasured, dayFrom, dayTo, firstDay])

  const { gesture } = pointer
  const dragged = gesture.kind === 'moving' || gesture.kind === 'stretching' ? gesture.stay.id : null
  const ghostedId = dragged ?? props.movedId
  const { found, openId, inFlight } = props
  const openGroupId = openId === null ? null : (data.stay(openId)?.groupId ?? null)
  const emphasis = useMemo<Emphasis>(
    () => ({ found, openId, openGroupId, ghostedId, inFlight }),
    [found, openId, openGroupId, ghostedId, inFlight],
  )

  const wanted: number[] = []
  for (let i = rowFrom; i < rowTo; i++) wanted.push(i)
  // The cell with the keyboard stays in the document wherever the chart is scrolled to.
  if (units.length > 0 && (row < rowFrom || row >= rowTo)) wanted.push(row)
  const middle = scrolling.middleRow()
  wanted.sort((a, b) => Math.abs(a - middle) - Math.abs(b - middle))
  const plan = useRef<DrawPlan>(null)
  plan.current ??= new DrawPlan()
  const [, drawAgain] = useState({})
  const { rows, isComplete } = isMeasured
    ? plan.current.next(wanted, (index) => units[index]?.slug ?? '', { from: firstDay + dayFrom, to: firstDay + dayTo })
    : NOTHING_PLANNED
  const draws = useRef(0)
  draws.current += 1
  useEffect(() => {
    if (isComplete) return
    const drawn = draws.current
    // Scrolling may have drawn the next few rows in this frame already.
    const frame = requestAnimationFrame(() => {
      if (draws.current === drawn) drawAgain({})
    })
    return () => cancelAnimationFrame(frame)
  })

  const selection = ghostOf(gesture) ?? selectionOf(cursor)
  const nowS = Math.floor(props.nowS / 30) * 30

  return (
    <>
      <div
        ref={scroller}
        class={dragged !== null || gesture.kind === 'selecting' ? 'chart is-dragging' : 'chart'}
        role="grid"
        aria-label="Calendar of all units"
        aria-describedby="chart-keys"
        aria-rowcount={units.length + 1}
        aria-colcount={days + 1}
        aria-multiselectable={canWrite}
        onKeyDown={onKeyDown}
        onPointerDown={pointer.onPointerDown}
        onPointerMove={pointer.onPointerMove}
        onPointerUp={pointer.onPointerUp}
        onPointerCancel={pointer.onPointerCancel}
        style={{
          '--unit-width': `${unitWidth}px`,
          '--row-height': `${rowHeight}px`,
          '--head-height': `${headHeight}px`,
        }}
      >
        <div class="chart-canvas" role="presentation" style={{ width: `${unitWidth + days * dayWidth}px` }}>
          <ChartHead
            {...{ scale, unitWidth, today, words }}
            from={firstDay + dayFrom}
            to={firstDay + dayTo}
            corner={units.length === 1 ? '1 unit' : `${units.length} units`}
          />
          <div class="chart-body" role="rowgroup" style={{ height: `${units.length * rowHeight}px` }}>
            <ChartBackdrop
              {...{ scale, unitWidth, today, firstDay, endDay }}
              from={firstDay + dayFrom}
              to={firstDay + dayTo}
              loadedFrom={props.loadedFrom}
              loadedTo={props.loadedTo}
            />
            <ChartUnits {...{ units, rowFrom, rowTo, rowHeight }} />
            {rows.map(({ index, days }) => {
              const unit = units[index]
              if (unit === undefined) return null
              return (
                <ChartRow
                  key={unit.slug}
                  {...{ unit, index, scale, unitWidth, today, nowS, words, emphasis }}
                  stays={data.staysOf(unit.slug)}
                  from={days.from}
                  to={days.to}
                  cursor={index === row ? cursor.day : null}
                />
              )
            })}
            {selection !== null && (
              <ChartGhost
                {...{ ghost: selection, scale, unitWidth }}
                {...saidOf(selection, refusal(selection, dragged ?? undefined), words)}
              />
            )}
            {selection === null &&
              ghostsOf(props.proposals, units).map((ghost, index) => (
                <ChartGhost key={index} {...{ ghost, scale, unitWidth }} {...saidOf(ghost, null, words)} />
              ))}
          </div>
        </div>
        <span id="chart-keys" hidden>
          {canWrite ? KEYS_OF_WRITERS : KEYS}
        </span>
      </div>
      {cursor.anchor !== null && (
        <div class="chart-hint" role="status">
          Arrival {words.medium(cursor.anchor)}. Now choose the day of the departure.
          <Button size="s" onClick={giveUp}>
            Cancel
          </Button>
        </div>
      )}
    </>
  )
}

const NOTHING_PLANNED = { rows: [], isComplete: true } as const

const KEYS = 'Arrow keys move between days and units, Enter opens a stay, Home goes to today.'
const KEYS_OF_WRITERS = `${KEYS} Shift and arrow keys select nights, Enter on selected nights makes a booking, Escape cancels the selection.`

const REFUSED: Readonly<Record<string, string>> = {
  Taken: 'Some of these nights are taken. Nothing was changed.',
  Archived: 'This unit is archived and takes no stays.',
  'Not loaded yet': 'These days are still being loaded. Try again in a moment.',
}

function saidOf(ghost: Ghost, why: string | null, words: DayWords): { text: string; isRefused: boolean } {
  const dates = `${words.range(ghost)} · ${plural(ghost.departure - ghost.arrival, 'night')}`
  return { text: why === null ? dates : `${why} · ${dates}`, isRefused: why !== null }
}

function ghostsOf(proposals: readonly Proposal[], units: readonly ChartUnit[]): Ghost[] {
  return proposals.flatMap(({ unit, arrival, departure }) => {
    const row = units.findIndex(({ slug }) => slug === unit)
    return row === -1 ? [] : [{ row, arrival, departure }]
  })
}
