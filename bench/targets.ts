/** What the figures should be, and whether a run met it. */
import type { Compared } from './compare.ts'

interface Target {
  readonly scenario: string
  readonly connections: number | 'all'
  readonly to: string
  readonly figure: 'throughput' | 'p50' | 'p99'
  readonly bound: { readonly atLeast: number } | { readonly atMost: number }
}

export const TARGETS: readonly Target[] = [
  { scenario: 'availability-31', connections: 32, to: 'floor', figure: 'throughput', bound: { atLeast: 0.6 } },
  { scenario: 'availability-31', connections: 32, to: 'floor', figure: 'p99', bound: { atMost: 2 } },
  { scenario: 'availability-366', connections: 32, to: 'floor', figure: 'throughput', bound: { atLeast: 0.6 } },
  { scenario: 'quote', connections: 32, to: 'floor', figure: 'throughput', bound: { atLeast: 0.6 } },
  { scenario: 'quote', connections: 32, to: 'floor', figure: 'p99', bound: { atMost: 2 } },
  { scenario: 'create', connections: 64, to: 'peer', figure: 'throughput', bound: { atLeast: 5 } },
  { scenario: 'create', connections: 'all', to: 'peer', figure: 'p50', bound: { atMost: 1 } },
  { scenario: 'mix', connections: 32, to: 'peer', figure: 'throughput', bound: { atLeast: 6 } },
  { scenario: 'mcp', connections: 32, to: 'REST', figure: 'throughput', bound: { atLeast: 1 / 3 } },
  { scenario: 'beside-writers', connections: 32, to: 'alone', figure: 'p99', bound: { atMost: 3 } },
  { scenario: 'resident-units', connections: 32, to: '20 units', figure: 'throughput', bound: { atLeast: 0.9 } },
]

export interface Judged {
  readonly target: string
  readonly measured: number
  readonly isMet: boolean
}

/** Those that were measured. */
export function judge(compared: readonly Compared[]): Judged[] {
  return TARGETS.flatMap(({ scenario, connections, to, figure, bound }) =>
    compared
      .filter((one) => one.scenario === scenario && (connections === 'all' || one.connections === connections))
      .flatMap((one) => {
        const measured = one.ratioTo[to]?.[figure]
        if (measured === undefined) return []
        const wanted = 'atLeast' in bound ? `at least ${Number(bound.atLeast.toFixed(2))}` : `at most ${bound.atMost}`
        const isMet = 'atLeast' in bound ? measured >= bound.atLeast : measured <= bound.atMost
        return [{ target: `${scenario} (${one.connections}): ${figure} ${wanted} x ${to}`, measured, isMet }]
      }),
  )
}
