import { expect, test } from 'bun:test'
import { Inventory } from '../../../src/core/catalogue/agency.ts'
import { CACHED_UNITS_MAX, Catalogue } from '../../../src/core/catalogue/catalogue.ts'
import { AGENCY, sampleId, sampleKey, sampleUnit } from '../../support/samples.ts'

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
    loadPeople: async () => [],
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

test('keeps no more units than its limit, and counts what it reads', async () => {
  const loads: string[] = []
  const store = {
    loadInventory: async (agencyId: string) => {
      loads.push(agencyId)
      return new Inventory([sampleUnit()], [])
    },
  }
  const made = new Catalogue(store as never, { cachedUnitsMax: 2 })
  for (const agencyId of ['a', 'b', 'a', 'b', 'c', 'b', 'a']) await made.inventory(agencyId)
  expect(loads).toEqual(['a', 'b', 'c', 'a'])
  expect(made.stats).toEqual({ inventoryLoads: 4 })
})

test('in a cluster, an agency that another process has is not kept, and one that comes back is as it is stored then', async () => {
  const served = new Set([AGENCY.id])
  const stored = { agencies: [AGENCY], keys: [sampleKey().key], accessTokens: [], people: [] }
  let units = [sampleUnit()]
  const made = new Catalogue(
    {
      loadAgencies: async () => [],
      loadKeys: async () => [],
      loadAccessTokens: async () => [],
      loadPeople: async () => [],
      loadInventory: async () => new Inventory(units, []),
    },
    { served: { termOf: (agencyId) => (served.has(agencyId) ? 1 : null), refusal: () => new Error('elsewhere') } },
  )
  made.putPart(stored)
  const [key] = stored.keys
  expect(made.keys.holderByHash(key?.secretSha256 ?? '')?.agency).toEqual(AGENCY)
  const before = made.inventory(AGENCY.id)
  expect((await before).size).toBe(1)
  served.clear()
  made.forget(AGENCY.id)
  made.putAgency(AGENCY)
  expect([made.agencies(), made.agencyBySlug(AGENCY.slug), made.keys.holderByHash(key?.secretSha256 ?? '')]).toEqual([
    [],
    null,
    null,
  ])
  expect(await made.inventory(AGENCY.id).catch((error: Error) => error.message)).toBe('elsewhere')
  units = []
  served.add(AGENCY.id)
  made.putPart({ ...stored, agencies: [{ ...AGENCY, slug: 'renamed' }], keys: [] })
  expect(made.agencyBySlug(AGENCY.slug)).toBeNull()
  expect(made.keys.holderByHash(key?.secretSha256 ?? '')).toBeNull()
  expect((await made.inventory(AGENCY.id)).size).toBe(0)
})

test('what a key finds by itself is the inventory as it is: changed, evicted, dropped, given up, and back again', async () => {
  const { made } = catalogue()
  const { key } = sampleKey()
  const agency = { ...AGENCY, id: key.agencyId }
  made.putPart({ agencies: [agency], keys: [key], accessTokens: [], people: [] })
  const holder = made.keys.holderByHash(key.secretSha256)
  const found = () => made.peekInventory(agency.id, holder)
  expect(found()).toBeNull()
  const loaded = await made.inventory(agency.id)
  expect([found() === loaded, found() === loaded]).toEqual([true, true])

  made.putUnit(agency.id, sampleUnit({ id: sampleId('unt', '0'), slug: 'unit-0', name: 'New' }))
  expect(found()?.unitBySlug('unit-0')?.name).toBe('New')
  expect(found() === made.peekInventory(agency.id)).toBe(true)

  // The key's own look at it counts as a use.
  for (const other of ['b', 'c']) await made.inventory(other)
  found()
  await made.inventory('d')
  expect([found() === null, made.peekInventory('b') === null]).toEqual([false, true])
  for (const other of ['e', 'f', 'g', 'h', 'i', 'j']) await made.inventory(other)
  expect([found() === null, made.peekInventory(agency.id) === null]).toEqual([true, true])

  await made.inventory(agency.id)
  expect(found() === null).toBe(false)
  made.dropInventory(agency.id)
  expect(found()).toBeNull()
  await made.inventory(agency.id)
  made.forget(agency.id)
  expect(found()).toBeNull()
})
