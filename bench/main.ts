/*
 * `bun run bench [--quick] [--only <scenario>]`: how fast the service is, beside a server that does nothing and one that a
 * team would write instead. Starts all it needs, shows progress, ends with a table. bench/README.md says how to read it.
 */
import { loadavg } from 'node:os'
import { type Compared, compare, type Pace } from './compare.ts'
import { measureGroupCommit } from './group-commit.ts'
import { measureGrowth } from './growth.ts'
import { tableOf, writePicture, writeResult } from './report.ts'
import { SCENARIOS, type Scenario } from './scenarios.ts'
import { Stage } from './stage.ts'
import { judge } from './targets.ts'
import { FULL_WORLD, QUICK_WORLD } from './world/world.ts'

const FULL: Pace = { rounds: 5, warmMs: 120, runMs: 600 }
const QUICK: Pace = { rounds: 5, warmMs: 100, runMs: 450 }
const ALONE = ['growth', 'group-commit', 'micro'] as const

const args = process.argv.slice(2)
const isQuick = args.includes('--quick')
const only = args.includes('--only') ? (args[args.indexOf('--only') + 1] ?? '') : null
const began = performance.now()
const say = (text: string) => console.log(`${((performance.now() - began) / 1_000).toFixed(0).padStart(4)} s  ${text}`)

const names = [...SCENARIOS.map(({ name }) => name), ...ALONE]
if (only !== null && !names.includes(only)) {
  console.error(`Cannot measure ${only}: it is none of ${names.join(', ')}`)
  process.exit(1)
}

const busy = loadavg()[0] ?? 0
if (busy > 0.5) say(`the machine is not idle (load ${busy.toFixed(1)}): ratios hold better than figures`)
if (only === null || !ALONE.some((name) => name === only)) await compareAll()
if (only === 'growth' || (only === null && !isQuick)) await measureGrowth(say)
if (only === 'group-commit' || (only === null && !isQuick)) await measureGroupCommit(say)
if (only === 'micro') await import('./micro.ts')
process.exit()

async function compareAll(): Promise<void> {
  const size = isQuick ? QUICK_WORLD : FULL_WORLD
  const pace = isQuick ? QUICK : FULL
  const stage = await Stage.open(size, say)
  const compared: Compared[] = []
  try {
    for (const scenario of SCENARIOS.filter(({ name }) => only === null || name === only))
      for (const connections of connectionsOf(scenario)) {
        try {
          const one = await compare(stage, scenario, connections, pace)
          compared.push(one)
          say(`${one.title}, ${connections} connections: ${toldOf(one)}`)
        } catch (error) {
          // The others are worth measuring all the same; this one has no figure, and the exit code says so.
          process.exitCode = 1
          say(`${scenario.title}, ${connections} connections: ${error instanceof Error ? error.message : error}`)
        }
      }
  } finally {
    await stage.stop()
  }
  console.log(`\n${tableOf(compared)}\n`)
  const judged = judge(compared)
  for (const { target, measured, isMet } of judged)
    console.log(`${isMet ? 'met    ' : 'NOT MET'}  ${target}: ${measured.toFixed(2)}`)
  if (only !== null) return
  const result = { world: size, pace, loadBefore: busy, loadAfter: loadavg()[0], targets: judged, compared }
  await writeResult(isQuick ? 'quick' : 'full', result)
  // The README's picture is of full runs.
  if (!isQuick)
    await writePicture(
      compared.filter(({ connections, scenario }) => [32, 64].includes(connections) && scenario !== 'create-cancel'),
    )
}

function toldOf({ arms, ratioTo }: Compared): string {
  const sides = arms.map(({ name, perSecond }) => `${name} ${perSecond.toFixed(0)}/s`).join(', ')
  const ratios = Object.entries(ratioTo).map(([name, ratio]) => `${ratio.throughput.toFixed(2)} x ${name}`)
  return `${sides} (${ratios.join(', ')})`
}

function connectionsOf({ connections, quick }: Scenario): readonly number[] {
  return isQuick && only === null ? (quick ?? []) : connections
}
