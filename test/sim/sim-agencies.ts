import type { Agency } from '../../src/core/catalogue/agency.ts'
import type { Unit } from '../../src/core/domain/unit.ts'
import { shardOf } from '../../src/core/journal/shard.ts'
import { agenciesOfShards } from '../support/journal-records.ts'
import { AGENCY, sampleId, sampleRules, sampleUnit } from '../support/samples.ts'

/** When a world begins: so late in a month that the wall clock goes back and forth across its end. */
export const BEGIN = Date.UTC(2027, 0, 31, 23, 45)

const [FIRST = '', ...OTHERS] = agenciesOfShards(4)

/** Five agencies. The first two share a shard, the others have one each. */
export const AGENCIES: readonly Agency[] = [FIRST, neighbourOf(FIRST), ...OTHERS].map((id, i) => ({
  ...AGENCY,
  id,
  slug: `agency-${i}`,
}))

/** The shards that these agencies have entries in, in order. */
export const SIM_SHARDS: readonly number[] = [...new Set(AGENCIES.map(({ id }) => shardOf(id)))].sort((a, b) => a - b)

const UNITS: ReadonlyMap<string, readonly Unit[]> = new Map(
  AGENCIES.map(({ id }, i) => [id, Array.from({ length: 1 + (i % 3) }, (_, n) => unitOf(i, n))]),
)

export function unitsOf(agencyId: string): readonly Unit[] {
  return UNITS.get(agencyId) ?? []
}

function unitOf(agency: number, n: number): Unit {
  const name = `unit-${agency}-${n}`
  return sampleUnit({ id: sampleId('unt', name), slug: name, rules: sampleRules({ turnoverNights: (agency + n) % 3 }) })
}

/** Another agency of the same shard. */
function neighbourOf(agencyId: string): string {
  for (let label = 1; ; label++) {
    const id = sampleId('agc', `neighbour ${label}`)
    if (shardOf(id) === shardOf(agencyId)) return id
  }
}
