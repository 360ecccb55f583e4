/*
 * `bun run bench [--quick] [--only <scenario>]`: how fast the service is, beside a server that does nothing and one that a
 * team would write instead. Starts all it needs, shows progress, ends with a table. bench/README.md says how to read it.
 */
import { type Compared, compare, type Pace } from './compare.ts'
import { SCENARIOS, type Scenario } from './scenarios.ts'
import { Stage } from './stage.ts'
import { FULL_WORLD, QUICK_WORLD } from './world/world.ts'

const FULL: Pace = { rounds: 5, warmMs: 150, runMs: 900 }
const QUICK: Pace = { rounds: 5, warmMs: 100, runMs: 500 }

const args = process.argv.slice(2)
const isQuick = args.includes('--quick')
const only = args[args.indexOf('--only') + 1]
const chosen = args.includes('--only') ? SCENARIOS.filter(({ name }) => name === only) : SCENARIOS
const began = performance.now()
const say = (text: string) => console.log(`${((performance.now() - began) / 1_000).toFixed(0).padStart(4)} s  ${text}`)

const stage = await Stage.open(isQuick ? QUICK_WORLD : FULL_WORLD, say)
const compared: Compared[] = []
try {
  for (const scenario of chosen)
    for (const connections of connectionsOf(scenario)) {
      const one = await compare(stage, scenario, connections, isQuick ? QUICK : FULL)
      compared.push(one)
      say(`${one.title}, ${connections} connections`)
      for (const arm of one.arms)
        console.log(
          `        ${arm.name.padEnd(12)} ${arm.perSecond.toFixed(0).padStart(7)}/s  p50 ${arm.p50Ms.toFixed(3)}  p99 ${arm.p99Ms.toFixed(3)}  p99.9 ${arm.p999Ms.toFixed(2)} ms  cpu ${(arm.serverCpuMsPerRequest * 1_000).toFixed(0)}+${(arm.postgresCpuMsPerRequest * 1_000).toFixed(0)} us  ${arm.residentMb.toFixed(0)} MB`,
        )
      for (const [name, ratio] of Object.entries(one.ratioTo))
        console.log(
          `        to ${name}: ${ratio.throughput.toFixed(2)} x throughput, p50 ${ratio.p50.toFixed(2)} x, p99 ${ratio.p99.toFixed(2)} x`,
        )
    }
} finally {
  await stage.stop()
}

function connectionsOf({ connections, quick }: Scenario): readonly number[] {
  return isQuick && !args.includes('--only') ? (quick ?? []) : connections
}
