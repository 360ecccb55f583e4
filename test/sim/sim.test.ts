import { describe, expect, test } from 'bun:test'
import { HOUR_MS } from '../../src/lib/duration.ts'
import { brokenPromises } from './oracle.ts'
import { seedsOf } from './seeds.ts'
import { SimWorld } from './sim-world.ts'

/** Seeds that broke a promise once: they always run. Add what a run prints. */
const ONCE_BROKEN: readonly number[] = [9_994]

/* `SIM_FIRST=1234 SIM_SEEDS=1 bun test test/sim/sim.test.ts` runs one seed again, exactly. */
const { first, count } = seedsOf({ push: 100, long: 5_000 })
const STEPS = 300

describe('whatever the network, the disk, the clock and a fail-over do, every promise holds', () => {
  test(
    `${count} seeds from SIM_FIRST=${first}`,
    async () => {
      const broken: string[] = []
      for (const seed of [...ONCE_BROKEN, ...Array.from({ length: count }, (_, i) => first + i)]) {
        for (const promise of await brokenPromises(await SimWorld.run(seed, STEPS)))
          broken.push(`seed ${seed}: ${promise}`)
      }
      expect(broken).toEqual([])
    },
    HOUR_MS,
  )
})
