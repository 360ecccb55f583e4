import { useEffect, useRef, useState } from 'preact/hooks'
import { type Problem, problemOf } from '../../../api/problem.ts'

/** Longer than the time between two keystrokes, and short enough not to be noticed. */
const PAUSE_MS = 150

interface UsedPreview<A> {
  /** The last preview that was answered. */
  readonly preview: A | null
  /** The last answer is not that of the current request. */
  readonly isBehind: boolean
  readonly problem: Problem | null
}

/**
 * What the service says about something that is not saved yet.
 * @param request null: nothing is requested, and the last answer stays
 */
export function usePreview<Request, A>(
  request: Request | null,
  send: (request: Request, signal: AbortSignal) => Promise<A>,
): UsedPreview<A> {
  const [answered, setAnswered] = useState<{ key: string; preview: A | null; problem: Problem | null }>({
    key: '',
    preview: null,
    problem: null,
  })
  const key = request === null ? null : JSON.stringify(request)
  const isFirst = useRef(true)
  useEffect(() => {
    if (key === null || request === null) return
    const giveUp = new AbortController()
    const timer = setTimeout(
      async () => {
        try {
          const preview = await send(request, giveUp.signal)
          setAnswered({ key: key, preview, problem: null })
        } catch (error) {
          if (!giveUp.signal.aborted) setAnswered(({ preview }) => ({ key: key, preview, problem: problemOf(error) }))
        }
      },
      isFirst.current ? 0 : PAUSE_MS,
    )
    isFirst.current = false
    return () => {
      clearTimeout(timer)
      giveUp.abort()
    }
  }, [key])
  return { preview: answered.preview, problem: answered.problem, isBehind: key !== answered.key }
}
