/** A1: how much of a kind an agency can make. */
import { expect, test } from 'bun:test'
import { FEE_TYPES_PER_AGENCY_MAX, FeeCommands } from '../../src/accounts/fee-commands.ts'
import { UNITS_PER_AGENCY_MAX, UnitCommands } from '../../src/accounts/unit-commands.ts'
import { Inventory } from '../../src/core/catalogue/agency.ts'
import type { FeeType } from '../../src/core/domain/unit.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { systemIds } from '../../src/lib/ids.ts'
import { AGENCY, CALLER, sampleUnit } from '../support/samples.ts'

const FEE: FeeType = {
  id: 'fee_new',
  label: 'Linen',
  kind: 'fixed',
  amount: 800,
  basisPoints: null,
  includesWeeklyCleaning: false,
  application: 'every_stay',
  active: false,
}

function catalogueOf(inventory: Inventory) {
  return {
    inventory: async () => inventory,
    peekInventory: () => inventory,
    putFeeType: () => {},
    termOf: () => 1,
  } as never
}

test(`an agency can have ${UNITS_PER_AGENCY_MAX} units, and change them, but not make another`, async () => {
  const units = Array.from({ length: UNITS_PER_AGENCY_MAX }, (_, i) =>
    sampleUnit({ id: `unt_${i}`, slug: `unit-${i}` }),
  )
  const made: string[] = []
  const commands = (count: number) =>
    new UnitCommands({
      catalogue: catalogueOf(new Inventory(units.slice(0, count), [])),
      commands: {
        setUnit: async (_agency: unknown, unitId: string) => {
          made.push(unitId)
          return { kind: 'done', unit: units[0] }
        },
      } as never,
      clock: systemClock,
      newId: systemIds,
    })
  const create = (count: number) => commands(count).create(AGENCY, { ...sampleUnit(), slug: 'another' }, CALLER)
  expect((await create(UNITS_PER_AGENCY_MAX - 1)).kind).toBe('done')
  expect(await create(UNITS_PER_AGENCY_MAX)).toMatchObject({ refusal: { code: 'VALIDATION', field: 'slug' } })
  expect(made).toHaveLength(1)
  const changed = await commands(UNITS_PER_AGENCY_MAX).change(AGENCY, 'unit-0', { change: (unit) => unit }, CALLER)
  expect(changed.kind).toBe('done')
})

test(`an agency can have ${FEE_TYPES_PER_AGENCY_MAX} fee types, and change them, but not make another`, async () => {
  const feeTypes = Array.from({ length: FEE_TYPES_PER_AGENCY_MAX }, (_, i) => ({ ...FEE, id: `fee_${i}` }))
  const commands = (count: number) =>
    new FeeCommands({
      catalogue: catalogueOf(new Inventory([], feeTypes.slice(0, count))),
      store: { insertFeeType: async () => {}, updateFeeType: async () => {} } as never,
      clock: systemClock,
      newId: systemIds,
    })
  const { id: _, ...draft } = FEE
  expect((await commands(FEE_TYPES_PER_AGENCY_MAX - 1).create(AGENCY, draft, CALLER)).kind).toBe('done')
  expect(await commands(FEE_TYPES_PER_AGENCY_MAX).create(AGENCY, draft, CALLER)).toMatchObject({
    refusal: { code: 'VALIDATION', field: 'label' },
  })
  expect((await commands(FEE_TYPES_PER_AGENCY_MAX).change(AGENCY, 'fee_0', (fee) => fee, CALLER)).kind).toBe('done')
})
