/**
 * A statement as postgres.js makes it. `handler`, `resolve` and `reject` are internals of postgres.js: package.json pins its version
 * exactly.
 */

import type postgres from 'postgres'
import type { Clock } from '../../lib/clock.ts'
import { DeadlineError } from '../../lib/deadline.ts'

/** What postgres.js makes of a tagged template: `handler` is called once, when it is first awaited. */
export interface Statement {
  handler: (statement: Statement) => void
  resolve: (result: unknown) => void
  reject: (error: unknown) => void
}

/** Whether it is one: fragments, arrays and other helpers are made by the same call. */
export function isStatement(made: unknown): made is Statement {
  return made instanceof Promise && 'handler' in made && 'resolve' in made && 'reject' in made
}

/**
 * Rejects with DeadlineError after this long, ms. Settling a statement twice has no effect, so the later one of deadline and answer is
 * ignored.
 */
export function limitWait(statement: Statement, { deadlineMs, clock }: { deadlineMs: number; clock: Clock }): void {
  const { resolve, reject } = statement
  const cancel = clock.after(deadlineMs, () => reject(new DeadlineError(deadlineMs)))
  statement.resolve = (result) => {
    cancel()
    resolve(result)
  }
  statement.reject = (error) => {
    cancel()
    reject(error)
  }
}

/** The error of a statement that was not sent, or whose answer does not count. */
export function refusal(code: string, why: string): Error {
  return Object.assign(new Error(`Cannot query the database: ${why}`), { code })
}

type Sql = postgres.Sql

/**
 * A statement that fails after it has sent rows (a timeout, a cancel) leaves the row counter of postgres.js 3.4.9 set: the
 * next result on that connection starts with as many holes, and `rows[0]` of an existing row is undefined
 * (porsager/postgres issues #1119 and #1181). Here the holes are removed from every result before the caller sees it. Pull request
 * #1120 or #1190 would make this unnecessary; a test fails once a release has either.
 */
export function withRepairedResults(sql: Sql): Sql {
  return new Proxy(sql, {
    apply(target, self, args) {
      return mending(Reflect.apply(target as unknown as (...args: unknown[]) => unknown, self, args))
    },
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (name !== 'unsafe' || typeof member !== 'function') return member
      return (...args: unknown[]) => mending(member.apply(target, args))
    },
  })
}

interface PendingQuery {
  resolve: (result: unknown) => void
}

/** Fragments, arrays and other helpers are made by the same call; only what can be resolved is a statement. */
function mending<T>(made: T): T {
  const query = made as T & Partial<PendingQuery>
  const { resolve } = query
  if (typeof resolve === 'function') query.resolve = (result) => resolve(closedUp(result))
  return made
}

function closedUp(result: unknown): unknown {
  if (!Array.isArray(result)) return result
  const { count } = result as unknown as { count: unknown }
  // Only a select has as many rows as its count; for others the count is of rows touched, which are not sent.
  if (typeof count === 'number' && result.length > count && !(0 in result)) result.splice(0, result.length - count)
  return result
}

/** A statement seldom takes longer. */
const SLOW_MS = 500

/** Watches a connection that has to settle a statement. */
interface SilenceOptions {
  readonly clock: Clock
  /** How long it may settle nothing, ms; null: for ever. */
  readonly silentMsMax: number | null
  onSilent(): void
  /** Called every SLOW_MS. */
  readonly onSlow?: (() => void) | undefined
}

/** @returns what ends the watch */
export function watchSilence({ clock, silentMsMax, onSilent, onSlow }: SilenceOptions): () => void {
  const stopDeadline = silentMsMax === null ? null : clock.after(silentMsMax, onSilent)
  const stopSlow = onSlow === undefined ? null : every(SLOW_MS, onSlow, clock)
  return () => {
    stopDeadline?.()
    stopSlow?.()
  }
}

/** @returns what stops it */
function every(ms: number, task: () => void, clock: Clock): () => void {
  let stop = (): void => {}
  const next = (): void => {
    stop = clock.after(ms, () => {
      next()
      task()
    })
  }
  next()
  return () => stop()
}
