/** Turns pointer events into gestures, and gestures into intents. */
import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { type Gesture, type Hit, hitAt, IDLE, type Intent, move, press, release } from './gesture.ts'
import type { Scale } from './scale.ts'
import type { Stay } from './stay.ts'

interface PointerOptions {
  readonly scroller: RefObject<HTMLElement | null>
  readonly scale: Scale
  readonly unitWidth: number
  readonly headHeight: number
  readonly rows: number
  readonly canWrite: boolean
  readonly staysOfRow: (row: number) => readonly Stay[]
  readonly onIntent: (intent: Intent, isTouch: boolean) => void
  readonly scrollBy: (x: number, y: number) => void
}

interface Pointer {
  readonly gesture: Gesture
  readonly onPointerDown: (event: PointerEvent) => void
  readonly onPointerMove: (event: PointerEvent) => void
  readonly onPointerUp: (event: PointerEvent) => void
  readonly onPointerCancel: () => void
}

/** So close to an edge, a drag scrolls the chart. */
const EDGE_PX = 36
const SCROLL_PX_PER_FRAME = 10

export function usePointer(options: PointerOptions): Pointer {
  const { scroller, scale, unitWidth, headHeight, rows, canWrite, staysOfRow, onIntent, scrollBy } = options
  const [gesture, setGesture] = useState<Gesture>(IDLE)
  // Several events may come before the next draw.
  const current = useRef<Gesture>(IDLE)
  const last = useRef<{ readonly x: number; readonly y: number }>({ x: 0, y: 0 })
  const set = (next: Gesture) => {
    if (next === current.current) return
    current.current = next
    setGesture(next)
  }
  const isDragging = gesture.kind !== 'idle' && gesture.kind !== 'pressed'

  function hitOf({ x, y }: { x: number; y: number }): Hit | null {
    const element = scroller.current
    if (element === null) return null
    const box = element.getBoundingClientRect()
    const inX = x - box.left - unitWidth
    const inY = y - box.top - headHeight
    const isOutside = inX < 0 || inY < 0 || x > box.left + element.clientWidth || y > box.top + element.clientHeight
    // While a stay is dragged, the column of units and the header are the edge of the chart.
    if (isOutside && !isDragging) return null
    const hit = hitAt(inX + element.scrollLeft, inY + element.scrollTop, scale, staysOfRow)
    if (hit.row >= 0 && hit.row < rows) return hit
    return isDragging ? { ...hit, row: Math.max(0, Math.min(rows - 1, hit.row)) } : null
  }

  function follow(): void {
    const hit = hitOf(last.current)
    if (hit !== null) set(move(current.current, last.current, hit))
  }
  const latestFollow = useRef(follow)
  latestFollow.current = follow

  useEffect(() => {
    if (!isDragging) return
    const cancel = (event: KeyboardEvent) => {
      if (event.key !== 'Escape') return
      event.stopPropagation()
      set(IDLE)
    }
    addEventListener('keydown', cancel, { capture: true })
    let frame = requestAnimationFrame(function step() {
      frame = requestAnimationFrame(step)
      const element = scroller.current
      if (element === null) return
      const box = element.getBoundingClientRect()
      const { x, y } = last.current
      const dx = pull(x, box.left + unitWidth, box.left + element.clientWidth)
      const dy = pull(y, box.top + headHeight, box.top + element.clientHeight)
      if (dx === 0 && dy === 0) return
      scrollBy(dx, dy)
      latestFollow.current()
    })
    return () => {
      removeEventListener('keydown', cancel, { capture: true })
      cancelAnimationFrame(frame)
    }
  }, [isDragging, unitWidth, headHeight])

  return {
    gesture,
    onPointerDown(event) {
      if (event.button !== 0 || !event.isPrimary) return
      const point = { x: event.clientX, y: event.clientY }
      const hit = hitOf(point)
      if (hit === null) return
      last.current = point
      set(press(point, hit, canWrite && event.pointerType !== 'touch'))
    },
    onPointerMove(event) {
      const element = scroller.current
      last.current = { x: event.clientX, y: event.clientY }
      if (current.current.kind === 'idle') {
        if (element !== null && event.pointerType === 'mouse') {
          element.dataset['under'] = canWrite ? (hitOf(last.current)?.bar?.part ?? 'free') : 'free'
        }
        return
      }
      const before = current.current.kind
      follow()
      // From here on the events come even if the pointer leaves the chart.
      if (before === 'pressed' && current.current.kind !== 'pressed') element?.setPointerCapture(event.pointerId)
    },
    onPointerUp(event) {
      const intent = release(current.current)
      set(IDLE)
      if (intent.kind !== 'none') onIntent(intent, event.pointerType === 'touch')
    },
    onPointerCancel() {
      set(IDLE)
    },
  }
}

function pull(at: number, from: number, to: number): number {
  if (at < from + EDGE_PX) return -SCROLL_PX_PER_FRAME
  return at > to - EDGE_PX ? SCROLL_PX_PER_FRAME : 0
}
