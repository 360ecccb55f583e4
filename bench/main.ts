/*
 * `bun run bench [--quick | --medium] [--only <scenario>] [--open] [--workers] [--world]` compares the service with a server that does nothing and with one that a team
 * might write instead. It starts everything it needs, shows progress and ends with a table; bench/README.md explains it.
 */
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Compared, compare, type Pace } from './compare.ts'
import { measureDeliveries } from './deliveries.ts'
import { measureGrowth } from './growth.ts'
import { Harness } from './harness.ts'
import { measureLargeWorld } from './large-world.ts'
import { tableOf, writeResult } from './report.ts'
import { SCENARIOS, type Scenario } from './scenarios.ts'
import { measureStorage } from './storage.ts'
import { type Figures, type Judged, judge, judgeFigures, RATIO_TARGETS } from './targets.ts'
import { FULL_WORLD, QUICK_WORLD } from './world/world.ts'

const FULL: Pace = { rounds: 5, compileMs: 4_000, warmMs: 120, runMs: 600 }
const MEDIUM: Pace = { rounds: 5, compileMs: 3_000, warmMs: 100, runMs: 500 }
const QUICK: Pace = { rounds: 5, compileMs: 2_000, warmMs: 100, runMs: 450 }
/** Measured alone, not together with the peer. */
const ALONE = [
  'large-world',
  'growth',
  'deliveries',
  'storage',
  'calendar',
  'search',
  'changes',
  'shares',
  'answers',
  'webhook-fairness',
] as const

const began = performance.now()
const say = (text: string) => console.log(`${((performance.now() - began) / 1_000).toFixed(0).padStart(4)} s  ${text}`)

const names = [...SCENARIOS.map(({ name }) => name), ...ALONE]
const USAGE = `bun run bench [--quick | --medium] [--only <scenario> | --open | --workers | --world]

  --quick              the main targets in about two minutes, with a tenth of the data
  --medium             what has a target, with all of the data, except growth and deliveries
  --only <scenario>    one of ${names.join(', ')}
  --open               only latencies at fixed rates, in about three minutes
  --workers            only how reads and bookings grow with WORKERS, in about ten minutes; needs root
  --world              only a service with 1,000,000 units and 5,000,000 bookings; in about 20 minutes; needs pg_dump, Chromium, 30 GB of disk

bench/README.md says what is measured and how to read it.`

/** What the flags run instead of everything else. */
const PROGRAMS = { open: 'open-loop', workers: 'workers', world: 'scale' } as const

/** How much is measured. */
type Extent = 'quick' | 'medium' | 'full'

const { extent, only, alone } = readArguments()
const busy = loadavg()[0] ?? 0
if (busy > 0.5) say(`the machine is not idle (load ${busy.toFixed(1)}): trust the ratios rather than the figures`)
if (alone !== null) {
  await runAlone(alone)
  process.exit()
}
if (only === null || !ALONE.some((name) => name === only)) await compareAll()
const isWanted = (name: (typeof ALONE)[number]) => only === name || (only === null && extent === 'full')
if (isWanted('large-world') || (only === null && extent === 'medium'))
  tellJudged(judge([await measureLargeWorld(say, paceOf(extent))]))
if (isWanted('growth')) tellFigures(await measureGrowth(say))
if (isWanted('deliveries')) tellFigures(await measureDeliveries(say))
if (isWanted('storage')) await measureStorage(say)
if (isWanted('calendar')) await runAlone('calendar')
if (isWanted('search')) await runAlone('search')
if (isWanted('webhook-fairness')) await runAlone('webhook-fairness')
if (isWanted('changes')) await runAlone('changes')
if (isWanted('shares')) await runAlone('shares')
if (isWanted('answers')) await runAlone('answers')
if (only === null && extent === 'full') await runAlone('open-loop')
process.exit()

/** Prints the usage and exits if asked for, or if an argument is unknown. */
function readArguments(): { extent: Extent; only: string | null; alone: 'open-loop' | 'workers' | 'scale' | null } {
  try {
    const { values } = parseArgs({
      options: {
        quick: { type: 'boolean' },
        medium: { type: 'boolean' },
        only: { type: 'string' },
        open: { type: 'boolean' },
        workers: { type: 'boolean' },
        world: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    })
    if (values.help === true) {
      console.log(USAGE)
      process.exit(0)
    }
    if (values.only !== undefined && !names.includes(values.only))
      throw new Error(`Cannot measure ${values.only}: use one of ${names.join(', ')}`)
    const extent = values.quick === true ? 'quick' : values.medium === true ? 'medium' : 'full'
    const alone = (['open', 'workers', 'world'] as const).find((flag) => values[flag] === true)
    return { extent, only: values.only ?? null, alone: alone === undefined ? null : PROGRAMS[alone] }
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${USAGE}`)
    process.exit(2)
  }
}

/** A benchmark that is a separate program and writes its own result. */
async function runAlone(name: string): Promise<void> {
  say(`${name}:`)
  const child = Bun.spawn([process.execPath, join(import.meta.dir, `${name}.ts`)], {
    stdout: 'inherit',
    stderr: 'inherit',
  })
  if ((await child.exited) === 0) return
  process.exitCode = 1
  say(`${name} failed`)
}

async function compareAll(): Promise<void> {
  const size = extent === 'quick' ? QUICK_WORLD : FULL_WORLD
  const pace = paceOf(extent)
  const harness = await Harness.open(size, say)
  const compared: Compared[] = []
  try {
    for (const scenario of SCENARIOS.filter(({ name }) => only === null || name === only))
      for (const connections of connectionsOf(scenario)) {
        try {
          const one = await compare(harness, scenario, connections, pace)
          compared.push(one)
          say(`${one.title}, ${connections} connections: ${toldOf(one)}`)
        } catch (error) {
          // The others are still worth measuring; this one has no figure, and the exit code says so.
          process.exitCode = 1
          say(`${scenario.title}, ${connections} connections: ${error instanceof Error ? error.message : error}`)
        }
      }
  } finally {
    await harness.stop()
  }
  console.log(`\n${tableOf(compared)}\n`)
  const judged = judge(compared)
  tellJudged(judged)
  if (only !== null) return
  await writeResult(extent, { world: size, pace, loadBefore: busy, loadAfter: loadavg()[0], targets: judged, compared })
}

function tellFigures(figures: Figures): void {
  tellJudged(judgeFigures(figures))
}

function tellJudged(judged: readonly Judged[]): void {
  for (const { target, measured, isMet } of judged)
    console.log(`${isMet ? 'met    ' : 'NOT MET'}  ${target}: ${measured.toFixed(2)}`)
}

function toldOf({ arms, ratioTo }: Compared): string {
  const sides = arms.map(({ name, perSecond }) => `${name} ${perSecond.toFixed(0)}/s`).join(', ')
  const ratios = Object.entries(ratioTo).map(([name, ratio]) => `${ratio.throughput.toFixed(2)} x ${name}`)
  return `${sides} (${ratios.join(', ')})`
}

function paceOf(of: Extent): Pace {
  return { quick: QUICK, medium: MEDIUM, full: FULL }[of]
}

function connectionsOf({ name, connections, quick }: Scenario): readonly number[] {
  if (only !== null || extent === 'full') return connections
  if (extent === 'quick') return quick ?? []
  return connections.filter((count) => RATIO_TARGETS.some((of) => of.scenario === name && of.connections === count))
}
