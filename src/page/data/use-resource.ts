import { useLayoutEffect, useRef } from 'preact/hooks'
import { useStore } from '../lib/hooks.ts'
import { type Load, Resource, type ResourceState, resources } from './resources.ts'

interface UsedResource<T> extends ResourceState<T> {
  refresh(): Promise<void>
  /** Changes what is shown, without asking the service. */
  change(change: (data: T) => T): void
}

const NOTHING = new Resource<never>()

/**
 * Reads something and keeps it: `useResource('keys?page=1', (signal) => answerOf(client.GET(…, { signal })))`.
 * @param key names everything that `load` depends on, filters and page too; null: read nothing yet
 */
export function useResource<T>(key: string | null, load: Load<T>): UsedResource<T> {
  const resource = key === null ? (NOTHING as Resource<T>) : resources.of<T>(key)
  const latest = useRef(load)
  latest.current = load
  useLayoutEffect(() => (key === null ? undefined : resource.watch((signal) => latest.current(signal))), [resource])
  const state = useStore(resource)
  return { ...state, refresh: () => resource.refresh(), change: (change) => void resource.change(change) }
}
