import { expect, test } from 'bun:test'
import { HOUR_MS } from '../../src/lib/clock.ts'
import { brokenPromises } from './oracle.ts'
import { seedsOf } from './seeds.ts'
import { SimWorld } from './sim-world.ts'

/** Seeds that broke a promise once: they always run. Add what a run prints. */
const ONCE_BROKEN: readonly number[] = [9_994, 301_668]

/* `SIM_FIRST=1234 SIM_SEEDS=1 bun test test/sim/sim.test.ts` runs one seed again, exactly. */
const { first, count } = seedsOf({ quick: 10, push: 100, long: 5_000 })
const STEPS = 300

async function brokenBy(seeds: readonly number[]): Promise<string[]> {
  const broken: string[] = []
  for (const seed of seeds)
    for (const promise of await brokenPromises(await SimWorld.run(seed, STEPS))) broken.push(`seed ${seed}: ${promise}`)
  return broken
}

const seedsFrom = (from: number, of: number) => Array.from({ length: of }, (_, i) => from + i)

test(
  `whatever the network, the disk, the clock and a fail-over do, every promise holds: ${count} seeds from SIM_FIRST=${first}`,
  async () => expect(await brokenBy([...ONCE_BROKEN, ...seedsFrom(first, count)])).toEqual([]),
  HOUR_MS,
)
