import { describe, expect, test } from 'bun:test'
import { HOUR_MS } from '../../src/lib/duration.ts'
import { brokenPromises } from './oracle.ts'
import { SimWorld } from './sim-world.ts'

/* SIM_SEEDS=1 SIM_FIRST=1234 bun test test/sim runs one seed again, exactly. All of them run in CI, a tenth while developing. */
const FIRST = Number(process.env['SIM_FIRST'] ?? 1)
const SEEDS = Number(process.env['SIM_SEEDS'] ?? (process.env['CI'] === undefined ? 200 : 2_000))
const STEPS = 300

/** Generous: 10,000 seeds on a machine that has much else to do. */
const ALL_MS_MAX = HOUR_MS

describe('whatever the network, the disk, the clock and a fail-over do, every promise holds', () => {
  test(
    `${SEEDS} seeds from ${FIRST}`,
    async () => {
      const broken: string[] = []
      for (let seed = FIRST; seed < FIRST + SEEDS; seed++) {
        for (const promise of await brokenPromises(await SimWorld.run(seed, STEPS)))
          broken.push(`seed ${seed}: ${promise}`)
      }
      expect(broken).toEqual([])
    },
    ALL_MS_MAX,
  )
})
