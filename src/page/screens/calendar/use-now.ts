import { useEffect, useState } from 'preact/hooks'

const TICK_MS = 30_000

/** Epoch seconds, by the half minute: holds show the time that is left. */
export function useNowS(): number {
  const [now, setNow] = useState(() => Math.floor(Date.now() / 1_000))
  useEffect(() => {
    const timer = setInterval(() => setNow(Math.floor(Date.now() / 1_000)), TICK_MS)
    return () => clearInterval(timer)
  }, [])
  return now
}
