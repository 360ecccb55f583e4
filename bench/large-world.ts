/**
 * What it costs that many units are in memory: availability over 20 units and over 200,000 in 10,000 agencies, alternately. Its own
 * world, so it is not one of the scenarios.
 */
import { type Compared, compare, type Pace } from './compare.ts'
import { Harness } from './harness.ts'
import { tableOf, writeResult } from './report.ts'
import type { Scenario } from './scenarios.ts'
import { judge } from './targets.ts'
import { LARGE_WORLD } from './world/world.ts'

const SCENARIO: Scenario = {
  name: 'large-world',
  title: 'Availability over 20 units and over 200,000 in 10,000 agencies',
  connections: [32],
  arms: [
    { name: '20 units', server: 'nightledger', kind: 'availability-31', units: 20 },
    { name: 'all units', server: 'nightledger', kind: 'availability-31' },
  ],
}

export async function measureLargeWorld(say: (text: string) => void, pace: Pace): Promise<Compared> {
  const harness = await Harness.open(LARGE_WORLD, say, { hasPeer: false })
  try {
    const compared = await compare(harness, SCENARIO, 32, pace)
    console.log(`\n${tableOf([compared])}\n`)
    await writeResult('large-world', { world: LARGE_WORLD, pace, targets: judge([compared]), compared })
    return compared
  } finally {
    await harness.stop()
  }
}
