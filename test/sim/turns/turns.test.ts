import { describe, expect, test } from 'bun:test'
import { HOUR_MS } from '../../../src/lib/clock.ts'
import { brokenLedger } from '../oracle.ts'
import { seedsOf } from '../seeds.ts'
import { type TurnFaults, TurnsWorld } from './turns-world.ts'

/* `SIM_FIRST=1234 SIM_SEEDS=1 bun test test/sim/turns` runs one seed again, exactly. */
const { first, count } = seedsOf({ push: 20, long: 2_000 })
const STEPS = 300
const SEEDS_MAX = 50

async function brokenPromises(seed: number, faults?: TurnFaults): Promise<{ world: TurnsWorld; broken: string[] }> {
  const world = await TurnsWorld.run(seed, STEPS, faults)
  return { world, broken: [...brokenLedger(world), ...world.broken] }
}

describe('a writer that is cut off from the database, with a standby that takes over', () => {
  test(
    `shows nothing that another process has sold, in ${count} seeds from SIM_FIRST=${first}`,
    async () => {
      const found: string[] = []
      const seen = { takeOvers: 0, reads: 0, refused: 0 }
      for (let seed = first; seed < first + count; seed++) {
        const { world, broken } = await brokenPromises(seed)
        for (const promise of new Set(broken)) found.push(`seed ${seed}: ${promise}`)
        for (const name of ['takeOvers', 'reads', 'refused'] as const) seen[name] += world[name]
      }
      expect(found).toEqual([])
      // It did something.
      for (const times of Object.values(seen)) expect(times).toBeGreaterThan(count)
    },
    HOUR_MS,
  )

  test('is caught if it answers after its heartbeats are confirmed no more', async () => {
    for (let seed = 1; seed <= SEEDS_MAX; seed++)
      if ((await brokenPromises(seed, { ignoresSilence: true })).broken.some((what) => what.startsWith('P3'))) return
    expect.unreachable(`No such promise broke in ${SEEDS_MAX} seeds`)
  })
})
