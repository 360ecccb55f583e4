import { useEffect, useRef, useState } from 'preact/hooks'
import { answerOf, client } from '../../../api/client.ts'
import { type Problem, problemOf } from '../../../api/problem.ts'
import type { Preview } from '../../../api/schema.ts'
import { useSession } from '../../../data/use-session.ts'
import { type Day, isoOf } from '../../../format/days.ts'
import type { Prices, Rates } from './rates-draft.ts'

/** Longer than between two keys, shorter than one waits for. */
const PAUSE_MS = 150

interface PreviewStay {
  /** `YYYY-MM-DD`. */
  readonly arrival: string
  readonly departure: string
  readonly children: number
  readonly extraBed: boolean
}

export interface PreviewRequest {
  readonly rates: Rates
  readonly prices: Partial<Prices>
  readonly from: Day
  /** Exclusive. */
  readonly to: Day
  readonly stay: PreviewStay | null
}

interface UsedPreview {
  /** The last that could be had. */
  readonly preview: Preview | null
  /** It is not, or not yet, that of the request. */
  readonly isBehind: boolean
  readonly problem: Problem | null
}

/** What the service would charge. @param request null: nothing is asked, and the last answer stays */
export function usePreview(slug: string, request: PreviewRequest | null): UsedPreview {
  const { path } = useSession()
  const [answered, setAnswered] = useState<{ asked: string; preview: Preview | null; problem: Problem | null }>({
    ...{ asked: '', preview: null, problem: null },
  })
  const asked = request === null ? null : JSON.stringify(request)
  const isFirst = useRef(true)
  useEffect(() => {
    if (asked === null || request === null) return
    const giveUp = new AbortController()
    const timer = setTimeout(
      async () => {
        try {
          const preview = await answerOf(post(path, slug, request, giveUp.signal))
          setAnswered({ asked, preview, problem: null })
        } catch (error) {
          if (!giveUp.signal.aborted) setAnswered(({ preview }) => ({ asked, preview, problem: problemOf(error) }))
        }
      },
      isFirst.current ? 0 : PAUSE_MS,
    )
    isFirst.current = false
    return () => {
      clearTimeout(timer)
      giveUp.abort()
    }
  }, [slug, asked])
  return { preview: answered.preview, problem: answered.problem, isBehind: asked !== answered.asked }
}

function post(
  path: { readonly agencySlug: string },
  unitSlug: string,
  { rates, prices, from, to, stay }: PreviewRequest,
  signal: AbortSignal,
) {
  const { turnoverNights: _, ...unit } = prices
  return client.POST('/portal/v1/agencies/{agencySlug}/units/{unitSlug}/rates/preview', {
    params: { path: { ...path, unitSlug } },
    body: { rates, unit, from: isoOf(from), to: isoOf(to), stay },
    signal,
  })
}
