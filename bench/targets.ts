/** What the figures should be, and whether a run met it. */
import type { Compared } from './compare.ts'

type Bound = { readonly atLeast: number } | { readonly atMost: number }

/** Of a comparison. */
interface RatioTarget {
  readonly scenario: string
  readonly connections: number
  readonly to: string
  readonly figure: 'throughput' | 'p50' | 'p99'
  readonly bound: Bound
}

export const RATIO_TARGETS: readonly RatioTarget[] = [
  { scenario: 'availability-31', connections: 32, to: 'floor', figure: 'throughput', bound: { atLeast: 0.55 } },
  { scenario: 'availability-31', connections: 32, to: 'floor', figure: 'p99', bound: { atMost: 2 } },
  { scenario: 'availability-366', connections: 32, to: 'floor', figure: 'throughput', bound: { atLeast: 0.55 } },
  { scenario: 'quote', connections: 32, to: 'floor-body', figure: 'throughput', bound: { atLeast: 0.6 } },
  { scenario: 'quote', connections: 32, to: 'floor-body', figure: 'p99', bound: { atMost: 2 } },
  { scenario: 'create', connections: 64, to: 'peer', figure: 'throughput', bound: { atLeast: 5 } },
  { scenario: 'create', connections: 256, to: 'peer', figure: 'throughput', bound: { atLeast: 5 } },
  { scenario: 'create', connections: 1, to: 'peer', figure: 'p50', bound: { atMost: 1 } },
  { scenario: 'mix', connections: 32, to: 'peer', figure: 'throughput', bound: { atLeast: 5 } },
  { scenario: 'mcp', connections: 32, to: 'REST', figure: 'throughput', bound: { atLeast: 1 / 3 } },
  { scenario: 'beside-writers', connections: 32, to: 'alone', figure: 'p99', bound: { atMost: 3 } },
  { scenario: 'resident-units', connections: 32, to: '20 units', figure: 'throughput', bound: { atLeast: 0.95 } },
  { scenario: 'large-world', connections: 32, to: '20 units', figure: 'throughput', bound: { atLeast: 0.7 } },
]

/** Of what is measured alone. */
const FIGURE_TARGETS = {
  'bytes of heap per resident unit with 20 bookings': { atMost: 1_024 },
  'ms until ready with 1,000,000 units stored': { atMost: 1_000 },
  'ms to make 50,000 deliveries from the log': { atMost: 10_000 },
} as const satisfies Record<string, Bound>

export type Figures = { readonly [name in keyof typeof FIGURE_TARGETS]?: number }

export interface Judged {
  readonly target: string
  readonly measured: number
  readonly isMet: boolean
}

/** The ratios that were measured. */
export function judge(compared: readonly Compared[]): Judged[] {
  return RATIO_TARGETS.flatMap(({ scenario, connections, to, figure, bound }) =>
    compared
      .filter((one) => one.scenario === scenario && one.connections === connections)
      .flatMap((one) => {
        const measured = one.ratioTo[to]?.[figure]
        if (measured === undefined) return []
        return [
          { target: `${scenario} (${connections}): ${figure} ${reported(bound)} x ${to}`, ...held(measured, bound) },
        ]
      }),
  )
}

/** The figures that were measured. */
export function judgeFigures(figures: Figures): Judged[] {
  return Object.entries(figures).map(([name, measured]) => {
    const bound: Bound = FIGURE_TARGETS[name as keyof Figures]
    return { target: `${name}: ${reported(bound)}`, ...held(measured, bound) }
  })
}

function held(measured: number, bound: Bound): { measured: number; isMet: boolean } {
  return { measured, isMet: 'atLeast' in bound ? measured >= bound.atLeast : measured <= bound.atMost }
}

function reported(bound: Bound): string {
  return 'atLeast' in bound ? `at least ${Number(bound.atLeast.toFixed(2))}` : `at most ${bound.atMost}`
}
