import { answerOf, client } from '../../api/client.ts'
import type { Problem } from '../../api/problem.ts'
import { useResource } from '../../data/use-resource.ts'
import { useSession } from '../../session/use-session.ts'
import type { Unit } from './unit-words.ts'

const PAGE_SIZE = 200

/** Every unit of the agency by name, archived ones too. */
export function useUnits(): {
  units: readonly Unit[] | undefined
  error: Problem | null
  refresh: () => Promise<void>
} {
  const { path } = useSession()
  const { data, error, refresh } = useResource('units', async (signal) => {
    const units: Unit[] = []
    for (let page = 1; ; page++) {
      const answer = await answerOf(
        client.GET('/portal/v1/agencies/{agencySlug}/units', {
          params: { path, query: { page, pageSize: PAGE_SIZE } },
          signal,
        }),
      )
      units.push(...answer.units)
      if (answer.units.length < PAGE_SIZE) return units
    }
  })
  return { units: data, error, refresh }
}
