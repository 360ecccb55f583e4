import type { RefObject } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Day } from '../format/days.ts'
import { isSameWindow, type VisibleWindow, visibleWindow } from './draw-plan.ts'

interface Size {
  readonly width: number
  readonly height: number
}

/** The size of an element, followed; null until it is known. */
export function useSize(element: RefObject<HTMLElement | null>): Size | null {
  const [size, setSize] = useState<Size | null>(null)
  useLayoutEffect(() => {
    const { current } = element
    if (current === null) return
    const measure = () => setSize({ width: current.clientWidth, height: current.clientHeight })
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(current)
    return () => observer.disconnect()
  }, [element])
  return size
}

interface ScrollOptions {
  readonly scroller: RefObject<HTMLElement | null>
  /** Of the part with days and rows. */
  readonly width: number
  readonly height: number
  readonly unitWidth: number
  readonly dayWidth: number
  readonly rowHeight: number
  readonly firstDay: Day
  readonly days: number
  readonly rows: number
  readonly initial: { readonly day: Day; readonly row: number }
  /** Scrolling has paused here. */
  readonly onSettled: (at: ScrolledTo) => void
}

/** The day at the left edge and the row at the top. */
export interface ScrolledTo {
  readonly leftDay: Day
  readonly topRow: number
}

const SETTLED_AFTER_MS = 250

interface Scrolling {
  /** Rows and days to be drawn. */
  readonly window: VisibleWindow
  /** Brings a day to the left edge and a row to the top, as far as there is room. Null: as it is. */
  scrollTo(to: { readonly day: Day | null; readonly row: number | null }): void
  /** Scrolls as little as needed to show the cell. */
  reveal(day: Day, row: number): void
  scrollBy(x: number, y: number): void
  /** The row in the middle of what is seen. */
  middleRow(): number
}

/**
 * Follows the scroller, and has the chart drawn again only when the window of rows and days changes. The position is kept in days,
 * so that another zoom or width shows the same time.
 */
export function useScrolling(options: ScrollOptions): Scrolling {
  const { scroller, width, height, unitWidth, dayWidth, rowHeight, firstDay, days, rows } = options
  const [, draw] = useState({})
  const position = useRef({ day: options.initial.day as number, top: options.initial.row * rowHeight })
  const viewport = () => ({
    scrollLeft: (position.current.day - firstDay) * dayWidth,
    scrollTop: position.current.top,
    width,
    height,
  })
  const compute = () => visibleWindow(viewport(), { rowHeight, rows, dayWidth, days })
  const drawn = useRef<VisibleWindow | null>(null)
  const settled = useRef(options.onSettled)
  settled.current = options.onSettled
  const window = compute()
  drawn.current = window

  const shiftedTo = useRef(Number.NaN)
  const shift = (isDrawn = false) => {
    const { scrollLeft } = viewport()
    if (scroller.current === null || (scrollLeft === shiftedTo.current && !isDrawn)) return
    shiftedTo.current = scrollLeft
    shiftBarTexts(scroller.current, scrollLeft + unitWidth)
  }
  useLayoutEffect(() => shift(true))

  useLayoutEffect(() => {
    const { current } = scroller
    if (current === null || dayWidth === 0) return
    // Anything that changes the width of a day moves the day that was at the left edge.
    current.scrollLeft = (position.current.day - firstDay) * dayWidth
    current.scrollTop = position.current.top
    let timer: ReturnType<typeof setTimeout> | undefined
    const follow = () => {
      clearTimeout(timer)
      timer = setTimeout(settle, SETTLED_AFTER_MS)
      position.current = { day: firstDay + current.scrollLeft / dayWidth, top: current.scrollTop }
      shift()
      if (drawn.current === null || !isSameWindow(drawn.current, compute())) draw({})
    }
    const settle = () => {
      const { day, top } = position.current
      settled.current({ leftDay: Math.round(day), topRow: Math.round(top / rowHeight) })
    }
    current.addEventListener('scroll', follow, { passive: true })
    return () => {
      clearTimeout(timer)
      current.removeEventListener('scroll', follow)
    }
  }, [scroller, dayWidth, rowHeight, firstDay, days, rows, width, height])

  function scrollTo({ day, row }: { day: Day | null; row: number | null }) {
    const { current } = scroller
    if (day !== null) position.current = { ...position.current, day: Math.max(firstDay, day) }
    if (row !== null) position.current = { ...position.current, top: Math.max(0, row * rowHeight) }
    if (current === null) return
    if (day !== null) current.scrollLeft = (day - firstDay) * dayWidth
    if (row !== null) current.scrollTop = row * rowHeight
  }

  function reveal(day: Day, row: number) {
    const { scrollLeft, scrollTop } = viewport()
    const left = (day - firstDay) * dayWidth
    const top = row * rowHeight
    const x = left < scrollLeft ? left : left + dayWidth > scrollLeft + width ? left + dayWidth - width : null
    const y = top < scrollTop ? top : top + rowHeight > scrollTop + height ? top + rowHeight - height : null
    scrollTo({ day: x === null ? null : firstDay + x / dayWidth, row: y === null ? null : y / rowHeight })
  }

  function scrollBy(x: number, y: number) {
    scroller.current?.scrollBy({ left: x, top: y, behavior: 'instant' })
  }

  const middleRow = () => Math.floor((position.current.top + height / 2) / rowHeight)

  return { window, scrollTo, reveal, scrollBy, middleRow }
}

/**
 * Keeps the name of a bar in sight when the bar begins to the left of what is seen. `position: sticky` would do it too, but makes a
 * layer of every bar: measured, a frame of scrolling then costs twice as much.
 */
const SHIFT = '--text-shift'

/** @param edge where the days begin to be seen, in pixels from the left edge of the rows */
function shiftBarTexts(body: Element, edge: number): void {
  for (const bar of body.querySelectorAll<HTMLElement>('.chart-bar')) {
    const { style } = bar
    const left = Number.parseFloat(style.left)
    const hidden = left < edge && left + Number.parseFloat(style.width) > edge ? `${Math.round(edge - left)}px` : ''
    if (style.getPropertyValue(SHIFT) !== hidden) style.setProperty(SHIFT, hidden)
  }
}
