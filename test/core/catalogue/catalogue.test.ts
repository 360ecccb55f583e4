import { expect, test } from 'bun:test'
import { CACHED_UNITS_MAX, Catalogue } from '../../../src/core/catalogue/catalogue.ts'
import { Inventory } from '../../../src/core/catalogue/inventory.ts'
import { sampleId, sampleUnit } from '../../support/samples.ts'

/** Units of an agency. Three such agencies reach the limit. */
const THIRD = Math.floor(CACHED_UNITS_MAX / 3)
const UNITS = Array.from({ length: THIRD }, (_, i) => sampleUnit({ id: sampleId('unt', i), slug: `unit-${i}` }))

function catalogue() {
  const loads: string[] = []
  const inventory = new Inventory(UNITS, [])
  const made = new Catalogue({
    loadAgencies: async () => [],
    loadKeys: async () => [],
    loadAccessTokens: async () => [],
    loadInventory: async (agencyId) => {
      loads.push(agencyId)
      return inventory
    },
  })
  return { made, loads }
}

const USES: [string, (made: Catalogue) => unknown][] = [
  ['peeked at', (made) => made.peekInventory('a')],
  ['read', (made) => made.inventory('a')],
  ['changed', (made) => made.putUnit('a', sampleUnit({ id: sampleId('unt', '0'), slug: 'unit-0', name: 'New' }))],
]
for (const [how, use] of USES) {
  test(`an agency that was just ${how} stays in memory, and the least recently used one is evicted`, async () => {
    const { made, loads } = catalogue()
    for (const agencyId of ['a', 'b', 'c']) await made.inventory(agencyId)
    await use(made)
    await made.inventory('d')
    for (const agencyId of ['a', 'c', 'd']) expect(made.peekInventory(agencyId)).not.toBeNull()
    expect(made.peekInventory('b')).toBeNull()
    expect(loads).toEqual(['a', 'b', 'c', 'd'])
  })
}
