import { useLayoutEffect, useState } from 'preact/hooks'

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
  return useMedia('(max-width: 640px)')
}
