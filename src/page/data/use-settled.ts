import { useEffect, useState } from 'preact/hooks'

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
