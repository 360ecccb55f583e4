import { describe, expect, test } from 'bun:test'
import type { StoredUnit } from '../../../src/core/journal/journal-store.ts'
import { stateHash } from '../../../src/core/journal/snapshot-codec.ts'
import { recoverTogether } from '../../../src/core/units/recover-together.ts'
import { Slices } from '../../../src/lib/slices.ts'
import { MemoryLedger } from '../../support/memory-ledger.ts'
import { AGENCY, CALLER, requestFor, sampleId, sampleUnit } from '../../support/samples.ts'

const units = (count: number) =>
  Array.from({ length: count }, (_, i) => sampleUnit({ id: sampleId('unt', i), slug: `unit-${i}` }))
const addressOf = ({ id }: { id: string }) => ({ agencyId: AGENCY.id, unitId: id })

/** After a restart: none of the units is in memory. Counts the statements. */
async function coldLedger(count: number, limits: { residentMax?: number } = {}) {
  const all = units(count)
  const ledger = await MemoryLedger.open(all)
  for (const [i, unit] of all.entries())
    for (let day = 0; day < i % 3; day++)
      await ledger.commands.book(AGENCY, requestFor(unit, `2027-03-1${day}`, `2027-03-1${day + 1}`), CALLER)
  await ledger.takeOver({ residentMax: 1_000, ...limits })
  const statements = { alone: 0, together: 0 }
  const { store } = ledger
  const { loadUnit, loadUnits } = store
  store.loadUnit = (...params) => {
    statements.alone += 1
    return loadUnit.apply(store, params)
  }
  // Not through `loadUnit`, so that a statement is counted once.
  store.loadUnits = async (agencyId, unitIds) => {
    statements.together += 1
    const uncounted = Object.assign(Object.create(store), { loadUnit })
    return loadUnits.call(uncounted, agencyId, unitIds)
  }
  return { ledger, all, statements }
}

describe('units activated together', () => {
  test('are resident afterwards, loaded with one statement, in the state in which each is recovered alone', async () => {
    const { ledger, all, statements } = await coldLedger(25)
    await ledger.directory.activate(all.map(addressOf))
    expect(statements).toEqual({ alone: 0, together: 1 })
    expect(ledger.directory.stats).toMatchObject({ resident: 25, activating: 0, activations: 25 })
    const together = all.map(({ id }) => ledger.directory.peek(id)).map((state) => state && stateHash(state))
    await ledger.takeOver({ residentMax: 1_000 })
    for (const [i, unit] of all.entries())
      expect(together[i]).toBe(stateHash(await ledger.directory.read(addressOf(unit))))
  })

  test('by a command are in memory when it settles, and it says when they could not be loaded', async () => {
    const { ledger, all } = await coldLedger(5)
    const { loadUnits } = ledger.store
    ledger.store.loadUnits = async () => {
      throw new Error('database away')
    }
    const failed = await ledger.commands.activate(AGENCY, all).catch((error: Error) => error.message)
    expect(failed).toBe('database away')
    ledger.store.loadUnits = loadUnits
    await ledger.commands.activate(AGENCY, all)
    expect(ledger.directory.stats).toMatchObject({ resident: 5, activating: 0 })
  })

  test('take a statement per 25, and those that are in memory none', async () => {
    const { ledger, all, statements } = await coldLedger(60)
    await ledger.directory.activate(all.map(addressOf))
    expect(statements).toEqual({ alone: 0, together: 3 })
    await ledger.directory.activate(all.map(addressOf))
    expect(statements).toEqual({ alone: 0, together: 3 })
  })

  test('at the same time as alone, and by others, are each loaded once and get one actor', async () => {
    const { ledger, all, statements } = await coldLedger(20)
    const addresses = all.map(addressOf)
    const first = all[0] as (typeof all)[0]
    const alone = ledger.directory.read(addressOf(first))
    const others = [ledger.directory.activate(addresses), ledger.directory.activate(addresses)]
    const booked = ledger.commands.book(AGENCY, requestFor(first, '2027-05-01', '2027-05-03'), CALLER)
    await Promise.all(others)
    expect(await alone).toBe(await ledger.directory.read(addressOf(first)))
    expect((await booked).kind).toBe('done')
    expect(statements).toEqual({ alone: 1, together: 1 })
    expect(ledger.directory.stats.activations).toBe(20)
  })

  test('more than there is room for can all be read afterwards', async () => {
    const { ledger, all } = await coldLedger(30, { residentMax: 4 })
    await ledger.directory.activate(all.map(addressOf))
    expect(ledger.directory.stats.resident).toBeLessThanOrEqual(4)
    for (const unit of all) expect((await ledger.commands.calendar(AGENCY, unit)).unitId).toBe(unit.id)
  })

  test('one of which is damaged are activated, and only reading that one fails', async () => {
    const { ledger, all } = await coldLedger(10)
    const { loadUnits } = ledger.store
    const bad = all[3]?.id ?? ''
    ledger.store.loadUnits = async (...params) => {
      const loaded = new Map(await loadUnits.apply(ledger.store, params))
      const { tail } = loaded.get(bad) as StoredUnit
      return loaded.set(bad, { snapshots: [], tail: tail.map((entry) => ({ ...entry, checksum: '00000000' })) })
    }
    await ledger.directory.activate(all.map(addressOf))
    expect(all.filter(({ id }) => ledger.directory.peek(id) === null).map(({ id }) => id)).toEqual([bad])
    expect(ledger.directory.stats).toMatchObject({ activating: 0, damaged: 1 })
    ledger.store.loadUnit = async (_, unitId) => (await ledger.store.loadUnits('', [unitId])).get(unitId) as StoredUnit
    const damaged = { agencyId: AGENCY.id, unitId: bad }
    expect(await ledger.directory.read(damaged).catch((error: Error) => error.name)).toBe('CorruptLedgerError')
    expect(await ledger.directory.readUnlessDamaged(damaged)).toBeNull()
  })

  test('a unit that the statement leaves out is loaded alone', async () => {
    const { ledger, all, statements } = await coldLedger(5)
    const { loadUnits } = ledger.store
    ledger.store.loadUnits = async (...params) => {
      const loaded = new Map(await loadUnits.apply(ledger.store, params))
      loaded.delete(all[2]?.id ?? '')
      return loaded
    }
    await ledger.directory.activate(all.map(addressOf))
    expect(statements).toEqual({ alone: 1, together: 1 })
    expect(ledger.directory.stats.resident).toBe(5)
  })

  test('while the database is away fail, and are activated by the next call', async () => {
    const { ledger, all } = await coldLedger(5)
    const { loadUnits } = ledger.store
    ledger.store.loadUnits = async () => {
      throw new Error('database away')
    }
    const failed = await ledger.directory.activate(all.map(addressOf)).catch((error: Error) => error.message)
    expect(failed).toBe('database away')
    ledger.store.loadUnits = loadUnits
    await ledger.directory.activate(all.map(addressOf))
    expect(ledger.directory.stats.resident).toBe(5)
  })

  test('are decoded in slices: none has more entries than its steps and one unit', async () => {
    const { ledger, all } = await coldLedger(60)
    const stored = await ledger.store.loadUnits(
      AGENCY.id,
      all.map(({ id }) => id),
    )
    const ofUnit = all.map(({ id }) => 4 + (stored.get(id)?.tail.length ?? 0))
    const stepsMax = 20
    const endsOfSlices: number[] = []
    let recovered = 0
    const slices = new Slices(stepsMax, async () => void endsOfSlices.push(recovered))
    const promises = recoverTogether(ledger.store, all.map(addressOf), () => {}, slices)
    for (const promise of promises) void promise.then(() => (recovered += 1))
    await Promise.all(promises)
    const steps = (from: number, to: number) => ofUnit.slice(from, to).reduce((sum, each) => sum + each, 0)
    for (const [i, end] of endsOfSlices.entries())
      expect(steps(endsOfSlices[i - 1] ?? 0, end)).toBeLessThan(stepsMax + Math.max(...ofUnit))
    expect(endsOfSlices.length).toBeGreaterThan(steps(0, 60) / (stepsMax + Math.max(...ofUnit)) - 1)
  })
})
