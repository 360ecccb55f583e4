import { useLayoutEffect, useState } from 'preact/hooks'
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
