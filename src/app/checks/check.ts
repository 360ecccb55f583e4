/** The parts of `doctor`. A check inspects one thing, changes nothing, and says how to fix what it finds. */
import type { Sql } from '../../postgres/client/connect.ts'
import type { Config } from '../config.ts'
import type { Machine } from './machine.ts'

/** `warning`: it works, but not as it should, or not for long. `error`: it does not work, or data is at risk. */
export type Severity = 'ok' | 'warning' | 'error' | 'skipped'

export interface Finding {
  readonly severity: Severity
  /** One sentence. */
  readonly found: string
  /** How to fix it: a command in backticks, or a setting. Null: there is nothing to fix. */
  readonly fix: string | null
}

export interface World {
  readonly config: Config
  readonly machine: Machine
}

export interface Check<W extends World = World> {
  readonly name: string
  /** An exception becomes an error finding of this check. */
  run(world: W): Promise<readonly Finding[]>
}

/** `sql` is read-only, and its statements are short. */
export interface DatabaseWorld extends World {
  readonly sql: Sql
}

export function ok(found: string): Finding {
  return { severity: 'ok', found, fix: null }
}

export function warning(found: string, fix: string): Finding {
  return { severity: 'warning', found, fix }
}

export function failure(found: string, fix: string): Finding {
  return { severity: 'error', found, fix }
}

export function skipped(found: string): Finding {
  return { severity: 'skipped', found, fix: null }
}

/** The findings, or `found` as ok if there are none. */
export function orOk(findings: readonly Finding[], found: string): readonly Finding[] {
  return findings.length > 0 ? findings : [ok(found)]
}
