import { answerOf, client } from '../api/client.ts'
import type { Schema } from '../api/schema.ts'
import { useResource } from '../data/use-resource.ts'
import { useSession } from '../data/use-session.ts'

const UNITS_PER_PAGE = 200

/** Every unit of the agency, archived ones too, by name. */
export function useUnits() {
  const { path } = useSession()
  return useResource('units?all', async (signal) => {
    const all: Schema<'Unit'>[] = []
    for (let page = 1; ; page++) {
      const { units, pageCount } = await answerOf(
        client.GET('/portal/v1/agencies/{agencySlug}/units', {
          params: { path, query: { page, pageSize: UNITS_PER_PAGE } },
          signal,
        }),
      )
      all.push(...units)
      if (page >= pageCount) return all.toSorted((a, b) => a.name.localeCompare(b.name))
    }
  })
}
