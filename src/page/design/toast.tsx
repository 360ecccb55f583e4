import './toast.css'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useStore } from '../lib/hooks.ts'
import { Store } from '../lib/store.ts'
import { IconButton } from './button.tsx'
import { Icon } from './icon.tsx'

interface Toast {
  readonly text: string
  readonly tone?: 'plain' | 'good' | 'bad'
  /** Takes back what the toast reports. */
  readonly undo?: () => void
}

interface ShownToast extends Toast {
  readonly id: number
}

const SHOWN_MAX = 3
/** Long enough to read, and to reach Undo. Failures stay until closed. */
const SHOWN_MS = { withUndo: 10_000, plain: 5_000 } as const

const toasts = new Store<readonly ShownToast[]>([])
let last = 0

/** Where toasts can appear, the topmost place last. */
const places = new Store<readonly object[]>([])

/** Says what has just happened: `toast({ text: 'Moved to Sea View', undo })`. */
export function toast(shown: Toast): void {
  last += 1
  const id = last
  toasts.set([...toasts.value, { ...shown, id }].slice(-SHOWN_MAX))
  if (shown.tone === 'bad') return
  setTimeout(() => dismiss(id), shown.undo === undefined ? SHOWN_MS.plain : SHOWN_MS.withUndo)
}

function dismiss(id: number): void {
  if (toasts.value.some((shown) => shown.id === id)) toasts.set(toasts.value.filter((shown) => shown.id !== id))
}

/**
 * Where toasts appear: drawn once for the page, and once in each dialog, because what is outside of an open dialog cannot be clicked.
 * Those of the topmost place are shown.
 */
export function Toasts() {
  const [place] = useState({})
  useLayoutEffect(() => {
    places.set([...places.value, place])
    return () => places.set(places.value.filter((other) => other !== place))
  }, [place])
  const isTopmost = useStore(places).at(-1) === place
  const all = useStore(toasts)
  const shown = isTopmost ? all : NO_TOASTS
  const section = useRef<HTMLElement>(null)
  const newest = shown.at(-1)?.id
  // A dialog that is open covers everything but what was put on top of it later.
  useLayoutEffect(() => {
    if (newest === undefined) return
    section.current?.showPopover()
    return () => section.current?.hidePopover()
  }, [newest])
  return (
    <section ref={section} class="toasts" popover="manual" aria-label="Messages" aria-live="polite">
      {shown.map((one) => (
        <ToastCard key={one.id} shown={one} />
      ))}
    </section>
  )
}

const NO_TOASTS: readonly ShownToast[] = []

function ToastCard({ shown: { id, text, tone = 'plain', undo } }: { shown: ShownToast }) {
  return (
    <div class={`toast toast-${tone}`}>
      {tone !== 'plain' && <Icon name={tone === 'bad' ? 'warning' : 'check'} />}
      <span class="toast-text">{text}</span>
      {undo !== undefined && (
        <button
          type="button"
          class="toast-undo"
          onClick={() => {
            dismiss(id)
            undo()
          }}
        >
          Undo
        </button>
      )}
      <IconButton icon="close" label="Dismiss" onClick={() => dismiss(id)} />
    </div>
  )
}
