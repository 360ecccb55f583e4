import './toast.css'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { Store } from '../data/store.ts'
import { useStore } from '../data/use-store.ts'
import { IconButton } from './button.tsx'
import { Icon } from './icon.tsx'

export interface Toast {
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

/** Says what has just happened: `toast({ text: 'Moved to Sea View', undo })`. */
export function toast(shown: Toast): void {
  last += 1
  toasts.set([...toasts.value, { ...shown, id: last }].slice(-SHOWN_MAX))
}

function dismiss(id: number): void {
  toasts.set(toasts.value.filter((shown) => shown.id !== id))
}

/** Where toasts appear. Drawn once. */
export function Toasts() {
  const shown = useStore(toasts)
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

function ToastCard({ shown }: { shown: ShownToast }) {
  const { id, text, tone = 'plain', undo } = shown
  useEffect(() => {
    if (tone === 'bad') return
    const timer = setTimeout(() => dismiss(id), undo === undefined ? SHOWN_MS.plain : SHOWN_MS.withUndo)
    return () => clearTimeout(timer)
  }, [id])
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
