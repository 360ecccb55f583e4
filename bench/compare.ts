/** Runs the sides of a scenario in turn, A B A B, and summarizes the samples. */
import type { Harness, Sample } from './harness.ts'
import type { Arm, Scenario } from './scenarios.ts'
import { medianOf } from './support/statistics.ts'

export interface Pace {
  readonly rounds: number
  /** Unmeasured load before a side's first round of a scenario: Bun compiles for the first 15,000 bookings or so. */
  readonly compileMs: number
  readonly warmMs: number
  readonly runMs: number
}

export interface ArmFigures {
  readonly name: string
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly p999Ms: number
  /** Of the serving process, and of Postgres with all its backends. */
  readonly serverCpuMsPerRequest: number
  readonly postgresCpuMsPerRequest: number
  readonly residentMb: number
  readonly samples: readonly Sample[]
}

/** Of the last arm to each other one: medians of the rounds' own ratios, never ratios of figures from different rounds. */
export interface Ratios {
  readonly throughput: number
  readonly p50: number
  readonly p99: number
}

export interface Compared {
  readonly scenario: string
  readonly title: string
  readonly connections: number
  readonly arms: readonly ArmFigures[]
  readonly ratioTo: Readonly<Record<string, Ratios>>
}

export async function compare(
  harness: Harness,
  scenario: Scenario,
  connections: number,
  { rounds, compileMs, warmMs, runMs }: Pace,
): Promise<Compared> {
  const { arms } = scenario
  for (const arm of arms) if (arm.server === 'floor' || arm.server === 'floor-body') await harness.prepareFloor(arm)
  if (scenario.hasEndpoints === true) await harness.registerEndpoints()
  await harness.settle()
  const samples = new Map<Arm, Sample[]>(arms.map((arm) => [arm, []]))
  for (const arm of arms) await harness.run(arm, connections, { warmMs: 0, runMs: compileMs })
  for (let round = 0; round < rounds; round++)
    for (const arm of arms) samples.get(arm)?.push(await harness.run(arm, connections, { warmMs, runMs }))

  const figures = arms.map((arm) => figuresOf(arm, samples.get(arm) ?? []))
  const own = figures.at(-1)
  const ratioTo: Record<string, Ratios> = {}
  for (const other of figures.slice(0, -1)) if (own !== undefined) ratioTo[other.name] = ratios(own, other)
  return { scenario: scenario.name, title: scenario.title, connections, arms: figures, ratioTo }
}

function figuresOf(arm: Arm, samples: readonly Sample[]): ArmFigures {
  const of = (figure: (sample: Sample) => number) => medianOf(samples.map(figure))
  return {
    name: arm.name,
    perSecond: of((s) => s.perSecond),
    p50Ms: of((s) => s.p50Ms),
    p99Ms: of((s) => s.p99Ms),
    p999Ms: of((s) => s.p999Ms),
    serverCpuMsPerRequest: of((s) => s.serverCpuMs),
    postgresCpuMsPerRequest: of((s) => s.postgresCpuMs),
    residentMb: of((s) => s.residentMb),
    samples,
  }
}

function ratios(own: ArmFigures, other: ArmFigures): Ratios {
  const of = (figure: (sample: Sample) => number) =>
    medianOf(own.samples.map((sample, i) => figure(sample) / figure(other.samples[i] ?? sample)))
  return { throughput: of((s) => s.perSecond), p50: of((s) => s.p50Ms), p99: of((s) => s.p99Ms) }
}
