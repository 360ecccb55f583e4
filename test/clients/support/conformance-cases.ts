import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** What a step of a case calls, and what the caller sees (clients/conformance/README.md). */
export interface Step {
  readonly call: string
  readonly args?: readonly unknown[]
  readonly options?: Readonly<Record<string, unknown>>
  /** Of a sequence without end: how many items are taken. */
  readonly take?: number
  readonly result?: unknown
  readonly error?: { readonly class: string; readonly members?: Readonly<Record<string, unknown>> }
}

export interface WireExchange {
  readonly expect: {
    readonly method?: string
    readonly path: string
    /** Some of the headers. null: absent. `$name`: the same value wherever this name is. */
    readonly headers?: Readonly<Record<string, string | null>>
    readonly body?: unknown
  }
  readonly answer: {
    readonly status?: number
    readonly headers?: Readonly<Record<string, string>>
    readonly json?: unknown
    readonly text?: string
    readonly stream?: string
    readonly fault?: 'disconnect' | 'half' | 'silence'
  }
}

export interface Case {
  readonly name: string
  readonly options?: Readonly<Record<string, unknown>>
  readonly steps: readonly Step[]
  readonly wire: readonly WireExchange[]
  /** Milliseconds. */
  readonly pauses?: readonly number[]
  readonly resets?: readonly unknown[]
  /** Compared only where it is given. */
  readonly checkpoints?: readonly (string | null)[]
}

/** What a client did with a case. */
export interface Played {
  readonly outcomes: readonly Outcome[]
  readonly pauses: readonly number[]
  readonly resets: readonly unknown[]
  readonly checkpoints: readonly unknown[]
}

export type Outcome =
  | { readonly result: unknown }
  | {
      readonly error: {
        readonly class: string
        readonly members: Readonly<Record<string, unknown>>
        readonly text: string
      }
    }

const CONFORMANCE = join(import.meta.dir, '../../../clients/conformance')
export const KEY = 'hr_test_TheKeyThatNobodyMaySee'

/** By method and path below `/partner/v1`, the method of the clients, in the spelling of JavaScript. */
export const OPERATIONS: Readonly<Record<string, string>> = read('operations.json')

export const CASES: readonly Case[] = readdirSync(CONFORMANCE)
  .filter((name) => name.endsWith('.json') && name !== 'operations.json')
  .sort()
  .flatMap((name) => read<Case[]>(name).map((each) => ({ ...each, name: `${name.slice(0, -5)}: ${each.name}` })))

function read<T>(name: string): T {
  return JSON.parse(readFileSync(join(CONFORMANCE, name), 'utf8'))
}
