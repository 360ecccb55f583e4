/** The cell that has the keyboard: one tab stop, which the keys and the pointer move. */
import type { RefObject } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Day } from '../format/days.ts'
import { stayOn } from './chart-rows.ts'
import { type Cursor, type CursorLimits, moveCursor, selectionOf } from './cursor.ts'
import type { Ghost } from './gesture.ts'
import type { Stay } from './stay.ts'

interface CursorOptions {
  readonly scroller: RefObject<HTMLElement | null>
  readonly limits: CursorLimits
  readonly initial: { readonly day: Day; readonly row: number }
  readonly canWrite: boolean
  readonly staysOfRow: (row: number) => readonly Stay[]
  readonly reveal: (day: Day, row: number) => void
  readonly onOpen: (stay: Stay) => void
  readonly onSelected: (ghost: Ghost) => void
}

interface UsedCursor {
  readonly cursor: Cursor
  /** Moves it and takes the focus there. */
  moveTo(cursor: Cursor): void
  /** The chart was scrolled: unless somebody is using it, the tab stop comes along. */
  follow(to: { readonly day: Day; readonly row: number }): void
  giveUp(): void
  readonly onKeyDown: (event: KeyboardEvent) => void
}

/** So near, today is seen too, and more likely to be of interest. */
const NEAR_DAYS = 7

export function useCursor(options: CursorOptions): UsedCursor {
  const { scroller, limits, initial, canWrite, staysOfRow, reveal, onOpen, onSelected } = options
  const { rows, today } = limits
  const [kept, setCursor] = useState<Cursor>(() => {
    const isNear = today >= initial.day && today < initial.day + NEAR_DAYS
    return { row: initial.row, day: isNear ? today : initial.day + 1, anchor: null }
  })
  // A filter may have taken its row.
  const cursor = kept.row < rows ? kept : { ...kept, row: Math.max(0, rows - 1), anchor: null }
  const wantsFocus = useRef(false)

  useLayoutEffect(() => {
    if (!wantsFocus.current) return
    wantsFocus.current = false
    scroller.current?.querySelector<HTMLElement>('[data-cursor]')?.focus({ preventScroll: true })
  })

  function moveTo(next: Cursor): void {
    wantsFocus.current = true
    setCursor(next)
  }

  function onKeyDown(event: KeyboardEvent): void {
    if (event.altKey || event.metaKey || !(event.target as Element).closest('[data-cursor]')) return
    if (event.key === 'Escape' && cursor.anchor !== null) {
      event.stopPropagation()
      setCursor({ ...cursor, anchor: null })
    } else if (event.key === 'Enter' || event.key === ' ') enter()
    else {
      const { key, ctrlKey } = event
      const pressed = { key, ctrlKey, shiftKey: event.shiftKey && canWrite }
      const next = moveCursor(cursor, pressed, staysOfRow(cursor.row), limits)
      if (next === null) return
      moveTo(next)
      reveal(next.day, next.row)
    }
    event.preventDefault()
  }

  /** Opens a stay, begins a selection, or ends it. */
  function enter(): void {
    const selection = selectionOf(cursor)
    const stay = stayOn(staysOfRow(cursor.row), cursor.day)
    if (selection !== null) {
      setCursor({ ...cursor, anchor: null })
      onSelected(selection)
    } else if (stay !== null) onOpen(stay)
    else if (canWrite) setCursor({ ...cursor, anchor: cursor.day })
  }

  return {
    cursor,
    moveTo,
    onKeyDown,
    follow({ day, row }) {
      const hasFocus = scroller.current?.contains(document.activeElement) === true
      // A closing dialog returns the focus to the cell that it was opened from, so that cell must stay the tab stop.
      const isUsed = cursor.anchor !== null || hasFocus || document.querySelector('dialog[open]') !== null
      if (!isUsed) setCursor({ day, row, anchor: null })
    },
    giveUp: () => setCursor({ ...cursor, anchor: null }),
  }
}
