/** Stores, media queries and timers, as components use them. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { realTime, sandboxTime } from './present.ts'
import type { Store } from './store.ts'

/** The store's value; the component is drawn again when it changes. */
export function useStore<T>(store: Store<T>): T {
  const { value } = store
  const [, draw] = useState({})
  useLayoutEffect(() => {
    // It may have changed since it was drawn.
    if (!Object.is(store.value, value)) draw({})
    return store.subscribe(() => draw({}))
  }, [store])
  return value
}

/** Whether a media query holds; the component is drawn again when that changes. */
function useMedia(query: string): boolean {
  const [holds, setHolds] = useState(() => matchMedia(query).matches)
  useLayoutEffect(() => {
    const list = matchMedia(query)
    const changed = () => setHolds(list.matches)
    changed()
    list.addEventListener('change', changed)
    return () => list.removeEventListener('change', changed)
  }, [query])
  return holds
}

/** A screen too narrow for tables. */
export function useIsPhone(): boolean {
  return useMedia('(max-width: 40em)')
}

/** A tablet: tables have no room for what another column says as well. */
export function useIsTablet(): boolean {
  return useMedia('(max-width: 68.75em)')
}

/** How much larger than usual text is in this browser. For what the script lays out in pixels. */
export function useTextScale(): number {
  const [scale] = useState(() => Number.parseFloat(getComputedStyle(document.documentElement).fontSize) / 16)
  return scale
}

const TICK_MS = 30_000

/** Milliseconds, by the half minute: holds show the time that is left. */
export function useNow(): number {
  const inSandbox = useStore(sandboxTime)
  const [now, setNow] = useState(realTime)
  useEffect(() => {
    const timer = setInterval(() => setNow(realTime()), TICK_MS)
    return () => clearInterval(timer)
  }, [])
  return inSandbox ?? now
}

/** As `useNow`, in epoch seconds. */
export function useNowS(): number {
  return Math.floor(useNow() / 1_000)
}

/** Calls `refresh` again and again while `isActive` and the page is seen. */
export function usePolling(
  refresh: () => Promise<void>,
  { isActive, everyMs }: { isActive: boolean; everyMs: number },
) {
  const latest = useRef(refresh)
  latest.current = refresh
  useEffect(() => {
    if (!isActive) return
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') void latest.current()
    }, everyMs)
    return () => clearInterval(timer)
  }, [isActive, everyMs])
}

const SETTLED_MS = 200

/** A text that is being typed or chosen, once it has not changed for a moment. */
export function useSettled(text: string | null): string | null {
  const [settled, setSettled] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), SETTLED_MS)
    return () => clearTimeout(timer)
  }, [text])
  return settled
}
