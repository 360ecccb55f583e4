import { useRef } from 'preact/hooks'
import type { Problem } from '../api/problem.ts'
import { useResource } from '../data/use-resource.ts'
import type { Tried } from './booking-writes.ts'

interface UsedTried {
  /** The last that is known; of other input while `isLoading`. */
  readonly tried: Tried | null
  readonly problem: Problem | null
  readonly isLoading: boolean
  /** Asks the same again. */
  readonly retry: () => void
}

/**
 * What a write would do, asked anew whenever the input is another.
 * @param input names everything that `load` depends on; null: nothing to ask yet
 */
export function useTried(input: object | null, load: (signal: AbortSignal) => Promise<Tried>): UsedTried {
  const { data, error, isLoading, refresh } = useResource(
    input === null ? null : `tried?${JSON.stringify(input)}`,
    load,
  )
  const last = useRef<Tried | null>(null)
  if (data !== undefined) last.current = data
  if (error !== null) last.current = null
  return {
    ...{ tried: last.current, problem: error, retry: () => void refresh() },
    isLoading: isLoading || (data === undefined && error === null),
  }
}
