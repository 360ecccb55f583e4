import { useEffect, useRef } from 'preact/hooks'

/** Calls `refresh` again and again while `isActive` and the page is seen. */
export function usePolling(refresh: () => Promise<void>, { isActive, everyMs }: { isActive: boolean; everyMs: number }) {
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
