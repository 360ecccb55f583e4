import { describe, expect, test } from 'bun:test'
import { HOUR_MS } from '../../../src/lib/duration.ts'
import { NodesWorld } from './nodes-world.ts'
import type { NodeFaults } from './sim-node.ts'

/* SIM_SEEDS=1 SIM_FIRST=1234 bun test test/sim/nodes runs one seed again, exactly. */
const FIRST = Number(process.env['SIM_FIRST'] ?? 1)
const SEEDS = Number(process.env['SIM_SEEDS'] ?? (process.env['CI'] === undefined ? 20 : 200))
const STEPS = 300
/** Generous: 10,000 seeds on a machine that has much else to do. */
const ALL_MS_MAX = 12 * HOUR_MS

describe('whatever becomes of nodes, their leases, their networks and their clocks, every promise holds', () => {
  test(
    `${SEEDS} seeds from ${FIRST}`,
    async () => {
      const broken: string[] = []
      let [reads, acknowledged] = [0, 0]
      for (let seed = FIRST; seed < FIRST + SEEDS; seed++) {
        const world = await NodesWorld.run(seed, STEPS)
        reads += world.reads
        acknowledged += world.acknowledged.length
        for (const promise of await world.broken()) broken.push(`seed ${seed}: ${promise}`)
      }
      expect(broken).toEqual([])
      // It did something.
      expect(reads).toBeGreaterThan(SEEDS)
      expect(acknowledged).toBeGreaterThan(SEEDS)
    },
    ALL_MS_MAX,
  )
})

const SEEDS_MAX = 60

/** By what is wrong: the build, and what is noticed of it, at least. */
const BROKEN: Record<string, [NodeFaults, noticed: RegExp]> = {
  'writes without looking at the fences': [
    {
      changeStore: (store) => {
        store.unchecked = 'fences'
      },
    },
    /^J5/,
  ],
  'serves whatever becomes of its lease': [{ ignoresLease: true }, /^C6/],
  'claims shards without raising their epochs': [{ keepsEpochs: true }, /^(C6|U1|S1|\S+ is sold)/],
}

describe('the simulation of nodes catches a build that', () => {
  for (const [what, [faults, noticed]] of Object.entries(BROKEN)) {
    test(
      what,
      async () => {
        for (let seed = 1; seed <= SEEDS_MAX; seed++) {
          const world = await NodesWorld.run(seed, STEPS, faults)
          if ((await world.broken()).some((promise) => noticed.test(promise))) return
        }
        expect.unreachable(`No such promise broke in ${SEEDS_MAX} seeds`)
      },
      ALL_MS_MAX,
    )
  }
})
