/** The current route, and ways to another one. */
import { useStore } from '../lib/hooks.ts'
import { Store } from '../lib/store.ts'
import { hashOf, parseHash, type QueryChange, type Route } from './route.ts'

const current = new Store<Route>(parseHash(location.hash))
/** The address that `current` was read from. The browser has another one already between Back and its `hashchange`. */
let followed = location.hash
/** The last of them is asked before another place is shown; see `guardLeaving`. */
const guards = new Set<(next: Route) => boolean>()

addEventListener('hashchange', () => {
  const next = parseHash(location.hash)
  const mayLeave = [...guards].at(-1)?.(next) ?? true
  // What is on the screen stays, and so does its address.
  if (!mayLeave) history.pushState(history.state, '', hashOf(current.value.path, current.value.query))
  followed = location.hash
  if (mayLeave) current.set(next)
})

/**
 * While something unsaved is on the screen, `mayLeave` decides whether another address is gone to.
 * @returns ends that
 */
export function guardLeaving(mayLeave: (next: Route) => boolean): () => void {
  guards.add(mayLeave)
  return () => void guards.delete(mayLeave)
}

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
  // The step that is on its way wins: written now, a position of before would take the place of the one gone back to.
  if (location.hash !== followed) return
  history.replaceState(history.state, '', hash)
  followed = location.hash
  current.set(parseHash(hash))
}

/** Goes to another page of a list, and to the top of the screen. @param page from 1 */
export function toPage(page: number): void {
  setQuery({ page: page === 1 ? null : page })
  scrollTo(0, 0)
}
