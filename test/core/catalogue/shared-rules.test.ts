import { expect, test } from 'bun:test'
import { Inventory } from '../../../src/core/catalogue/agency.ts'
import { Catalogue } from '../../../src/core/catalogue/catalogue.ts'
import { AGENCY, sampleUnit } from '../../support/samples.ts'

const UNIT = sampleUnit({})

async function catalogueOf(): Promise<Catalogue> {
  const catalogue = new Catalogue({
    loadAgencies: async () => [],
    loadKeys: async () => [],
    loadAccessTokens: async () => [],
    loadPeople: async () => [],
    loadInventory: async () => new Inventory([structuredClone(UNIT)], []),
  })
  await catalogue.inventory(AGENCY.id)
  return catalogue
}
const rulesIn = (catalogue: Catalogue) => catalogue.peekInventory(AGENCY.id)?.unitById(UNIT.id)?.rules

test('a unit in memory and its master data share equal rules, in whatever order their members are', async () => {
  const catalogue = await catalogueOf()
  const { rates, ...others } = structuredClone(UNIT.rules)
  const rules = { rates, ...others }
  catalogue.shareRules(AGENCY.id, UNIT.id, rules)
  expect(rulesIn(catalogue)).toBe(rules)
})

test('other rules are not taken over', async () => {
  const catalogue = await catalogueOf()
  catalogue.shareRules(AGENCY.id, UNIT.id, { ...UNIT.rules, minStay: UNIT.rules.minStay + 1 })
  expect(rulesIn(catalogue)).toEqual(UNIT.rules)
})

test('a unit or agency that is not in memory shares nothing', async () => {
  const catalogue = await catalogueOf()
  catalogue.shareRules(AGENCY.id, 'none', UNIT.rules)
  catalogue.shareRules('none', UNIT.id, UNIT.rules)
  expect(rulesIn(catalogue)).not.toBe(UNIT.rules)
})
