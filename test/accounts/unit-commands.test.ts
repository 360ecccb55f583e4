import { expect, test } from 'bun:test'
import { UnitCommands } from '../../src/accounts/unit-commands.ts'
import type { Unit } from '../../src/core/domain/unit.ts'
import { MemoryLedger } from '../support/memory-ledger.ts'
import { AGENCY, CALLER, sampleId, sampleUnit } from '../support/samples.ts'

test('a change that names the slug the unit has keeps it for itself, although the unit gives it up before its turn', async () => {
  const [x, y] = [sampleId('unt', '0'), sampleId('unt', '1')]
  const ledger = await MemoryLedger.open([sampleUnit({ id: x, slug: 'a' }), sampleUnit({ id: y, slug: 'b' })])
  const { catalogue, clock, commands, directory } = ledger
  const units = new UnitCommands({ catalogue, commands, clock, newId: () => '' })
  const setSlug = (slug: string, newSlug: string) =>
    units.change(AGENCY, slug, { newSlug, change: (unit: Unit) => ({ ...unit, slug: newSlug }) }, CALLER)
  /** Holds the turn of the first unit. */
  const busy = () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    void directory.turn({ agencyId: AGENCY.id, unitId: x }, () => promise)
    return resolve
  }

  const beforeLeaving = busy()
  const leaving = setSlug('a', 'c')
  await clock.advance(10)
  const beforeStaying = busy()
  const staying = setSlug('a', 'a')
  await clock.advance(10)
  beforeLeaving()
  await clock.advance(10)
  expect((await leaving).kind).toBe('done')
  const taking = setSlug('b', 'a')
  await clock.advance(10)
  beforeStaying()
  await clock.advance(10)

  expect((await staying).kind).toBe('done')
  expect(await taking).toMatchObject({ refusal: { code: 'SLUG_TAKEN' } })
  const inventory = await catalogue.inventory(AGENCY.id)
  expect(inventory.units.map(({ id, slug }) => [id, slug])).toEqual([
    [x, 'a'],
    [y, 'b'],
  ])
})
