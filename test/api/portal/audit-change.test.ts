import { expect, test } from 'bun:test'
import { auditChangeJson } from '../../../src/api/portal/audit-change-json.ts'
import { Inventory } from '../../../src/core/catalogue/agency.ts'
import { sampleUnit } from '../../support/samples.ts'

const unit = sampleUnit()
const unitSet = { kind: 'unit_set', unit } as const

test('a change names its unit as it is called now', () => {
  const renamed = { ...unit, name: 'Renamed' }
  expect(auditChangeJson(unitSet, new Inventory([renamed], []))).toMatchObject({
    unitSlug: unit.slug,
    unitName: 'Renamed',
  })
})

test('the entry of a unit that this process does not know of yet has no change: its write is still in doubt', () => {
  expect(auditChangeJson(unitSet, new Inventory([], []))).toBeNull()
})
