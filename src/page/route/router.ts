/** The current route, and ways to another one. */
import { Store } from '../data/store.ts'
import { useStore } from '../data/use-store.ts'
import { hashOf, parseHash, type QueryChange, type Route } from './route.ts'

const current = new Store<Route>(parseHash(location.hash))
addEventListener('hashchange', () => current.set(parseHash(location.hash)))

export function useRoute(): Route {
  return useStore(current)
}

/** Goes to a screen; the browser's Back returns. */
export function navigate(path: readonly string[] | string, query: QueryChange = {}): void {
  location.hash = hashOf(path, query)
}

/**
 * Changes some members of the address's query and keeps the others; null removes one.
 * @param options.replace without a step in the browser's history: for what is typed or scrolled
 */
export function setQuery(change: QueryChange, { replace = false }: { replace?: boolean } = {}): void {
  const { path, query } = current.value
  const hash = hashOf(path, { ...query, ...change })
  if (hash === location.hash) return
  if (!replace) {
    location.hash = hash
    return
  }
  history.replaceState(history.state, '', hash)
  current.set(parseHash(hash))
}
