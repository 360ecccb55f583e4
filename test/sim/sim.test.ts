import { describe, expect, test } from 'bun:test'
import { brokenPromises } from './oracle.ts'
import { SimWorld } from './sim-world.ts'

/* SIM_SEEDS=1 SIM_FIRST=1234 bun test test/sim runs one seed again, exactly. All of them run in CI, a tenth while developing. */
const FIRST = Number(process.env['SIM_FIRST'] ?? 1)
const SEEDS = Number(process.env['SIM_SEEDS'] ?? (process.env['CI'] === undefined ? 200 : 2_000))
const STEPS = 300

describe('whatever the network, the disk and the clock do, every promise holds', () => {
  for (let seed = FIRST; seed < FIRST + SEEDS; seed++) {
    test(`seed ${seed}`, async () => {
      expect(await brokenPromises(await SimWorld.run(seed, STEPS))).toEqual([])
    })
  }
})
