/**
 * Several connections behind one `Sql`. Each is a postgres.js client of one connection, and is discarded at the first sign
 * of trouble; statements that find no room wait here, not in postgres.js.
 *
 * A postgres.js 3.4.9 pool keeps using a connection that was cut, and may never flush again what its socket left behind:
 * whatever is sent on it later waits forever. A statement sent between the socket's error and its close is forgotten as well.
 * A client that was never cut has neither fault. porsager/postgres issues #1154, #1208 and #1193 describe it; pull requests #1209,
 * #1214 and #1215 would fix it (docs/decisions.md#postgresql-and-its-driver).
 */
import type postgres from 'postgres'
import { type Clock, systemClock } from '../../lib/clock.ts'
import { BoundedQueue } from '../../lib/queues.ts'
import type { PoolStats } from '../../observability/service-stats.ts'
import { classifyDatabaseError } from './database-error.ts'
import { DiscardedClients } from './discarded-clients.ts'
import { isStatement, limitWait, refusal, type Statement, watchSilence } from './statement.ts'

type Sql = postgres.Sql

interface PoolOptions {
  /** Maximum number of connections. They are opened when needed. */
  readonly size: number
  /** Maximum number of statements in progress on one connection when all are busy. If it is lost, all of them fail. */
  readonly pipelined: number
  /**
   * How long a connection may settle nothing, connecting included, before it counts as dead, ms: above the server's own
   * statement timeout. Null when statements may take their time.
   */
  readonly runMsMax: number | null
  /**
   * How long a caller waits for its answer, the wait for a connection included, ms. After that the statement rejects with
   * DeadlineError and its outcome is unknown; if it still waits for a connection then, it is never sent. Null: no limit.
   */
  readonly deadlineMs: number | null
  /** Called whenever a connection is lost; those that `end` closes are not. */
  readonly onLost?: (connection: { readonly isReplaced: boolean }) => void
  /** Called every half second while a connection settles nothing: its server may be mute. */
  readonly onSlow?: () => void
  readonly clock?: Clock
}

interface Waiting {
  readonly statement: Statement
  readonly since: number
}

/** More than any load that is still answered in time. */
export const WAITING_MAX = 20_000

interface Connection {
  readonly client: Sql
  readonly send: Statement['handler']
  /** Statements in progress. */
  running: number
  /** Has answered a statement, so it counts as lost when it closes. */
  hasAnswered: boolean
  /**
   * `unconfirmed`: the server has reported a commit without the standby's confirmation. `replaced`: another server is used from now on.
   * No answer on either counts any more.
   */
  trust: 'good' | 'unconfirmed' | 'replaced'
  stopWatching: () => void
}

/** What a client reports. */
export interface ConnectionEvents {
  onClose(): void
  onUnconfirmed(): void
  /** Another server is used from now on. The outcomes of statements in progress are unknown. */
  onReplaced(): void
}

/** Makes a postgres.js client of one connection. */
type Open = (events: ConnectionEvents) => Sql

/**
 * @returns a `Sql` for statements, fragments and `end`; without `begin` and `reserve`
 */
export function pooled(open: Open, options: PoolOptions): Sql {
  const pool = new ClientPool(open, options)
  // Only builds statements, never connects.
  const builder = open({ onClose: () => {}, onUnconfirmed: () => {}, onReplaced: () => {} })
  const sql = new Proxy(builder, {
    apply: (target, self, args) =>
      pool.taking(Reflect.apply(target as unknown as (...args: unknown[]) => unknown, self, args)),
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (name === 'end') return (how?: { timeout?: number | undefined }) => pool.end(how)
      if (name === 'unsafe' && typeof member === 'function') {
        return (...args: unknown[]) => pool.taking(member.apply(target, args))
      }
      return name === 'begin' || name === 'reserve' ? undefined : member
    },
  })
  POOLS.set(sql, pool)
  return sql
}

const POOLS = new WeakMap<Sql, { readonly stats: PoolStats }>()

/** @throws TypeError when `sql` is not what `pooled` has made */
export function poolStats(sql: Sql): PoolStats {
  const pool = POOLS.get(sql)
  if (pool === undefined) throw new TypeError('Cannot report on a pool: this is not one')
  return pool.stats
}

class ClientPool {
  readonly #open: Open
  readonly #options: PoolOptions
  readonly #clock: Clock
  readonly #connections: Connection[] = []
  readonly #waiting = new BoundedQueue<Waiting>(WAITING_MAX)
  readonly #drained: (() => void)[] = []
  readonly #discarded: DiscardedClients
  #lostCount = 0
  #refusedCount = 0
  #isEnding = false

  constructor(open: Open, options: PoolOptions) {
    this.#open = open
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#discarded = new DiscardedClients(this.#clock)
  }

  get stats(): PoolStats {
    return {
      running: this.#connections.reduce((sum, { running }) => sum + running, 0),
      waiting: this.#waiting.size,
      lost: this.#lostCount,
      refused: this.#refusedCount,
    }
  }

  /** Fragments, arrays and other helpers are made by the same call as statements: they pass unchanged, as never awaited. */
  taking<T>(made: T): T {
    if (isStatement(made)) made.handler = (statement) => this.#run(statement)
    return made
  }

  #run(statement: Statement): void {
    const { deadlineMs } = this.#options
    if (deadlineMs !== null) limitWait(statement, { deadlineMs, clock: this.#clock })
    if (this.#isEnding) statement.reject(ended())
    else if (this.#waiting.push({ statement, since: this.#clock.monotonicMs() })) this.#sendNext()
    else this.#refuse(statement, 'CONNECTION_QUEUE_FULL', `${WAITING_MAX} statements already wait for a connection`)
  }

  #sendNext(): void {
    while (this.#waiting.size > 0) {
      const connection = this.#withRoom()
      if (connection === null) return
      const next = this.#waiting.shift()
      if (next === undefined) break
      if (this.#hasWaitedTooLong(next)) {
        this.#refuse(next.statement, 'CONNECTION_WAIT_TIMEOUT', 'no connection was free in time')
      } else {
        this.#sendOn(connection, next.statement)
      }
    }
    if (this.#connections.every(({ running }) => running === 0))
      for (const resolve of this.#drained.splice(0)) resolve()
  }

  #refuse(statement: Statement, code: string, why: string): void {
    this.#refusedCount += 1
    statement.reject(refusal(code, why))
  }

  #hasWaitedTooLong({ since }: Waiting): boolean {
    const { deadlineMs } = this.#options
    return deadlineMs !== null && this.#clock.monotonicMs() - since > deadlineMs
  }

  /** An idle one, else a new one, else the one with the least to do; null if all are full. */
  #withRoom(): Connection | null {
    let least: Connection | null = null
    for (const connection of this.#connections) {
      if (connection.trust !== 'good') continue
      if (connection.running === 0) return connection
      if (least === null || connection.running < least.running) least = connection
    }
    if (this.#connections.length < this.#options.size) return this.#add()
    return least !== null && least.running < this.#options.pipelined ? least : null
  }

  #add(): Connection {
    const client = this.#open({
      onClose: () => this.#lose(connection),
      onUnconfirmed: () => {
        connection.trust = 'unconfirmed'
      },
      onReplaced: () => {
        connection.trust = 'replaced'
        // A turn later, when none of the replaced connections is given another statement.
        queueMicrotask(() => this.#lose(connection))
      },
    })
    const probe: unknown = client``
    if (!isStatement(probe)) throw new TypeError('Cannot pool: postgres.js makes statements differently')
    const connection: Connection = {
      client,
      send: probe.handler,
      running: 0,
      hasAnswered: false,
      trust: 'good',
      stopWatching: () => {},
    }
    this.#connections.push(connection)
    return connection
  }

  #sendOn(connection: Connection, statement: Statement): void {
    const { resolve, reject } = statement
    let isSettled = false
    const settle = (): void => {
      if (isSettled) return
      isSettled = true
      connection.running -= 1
      this.#watch(connection)
      // A turn later: postgres.js settles a statement before it is ready for the next one.
      queueMicrotask(() => this.#sendNext())
    }
    statement.resolve = (result) => {
      if (connection.trust !== 'good') {
        statement.reject(refusal('CONNECTION_UNCONFIRMED', `its connection is ${connection.trust}`))
        return
      }
      connection.hasAnswered = true
      settle()
      resolve(result)
    }
    statement.reject = (error) => {
      if (!isSettled && mustBeThrownAway(error)) this.#lose(connection)
      settle()
      reject(error)
    }
    connection.running += 1
    if (connection.running === 1) this.#watch(connection)
    connection.send(statement)
  }

  /** Statements of a connection settle one after the other: each is given its time from when the last one has. */
  #watch(connection: Connection): void {
    connection.stopWatching()
    if (connection.running === 0 || !this.#connections.includes(connection)) return
    const { runMsMax, onSlow } = this.#options
    connection.stopWatching = watchSilence({
      clock: this.#clock,
      silentMsMax: runMsMax,
      onSlow,
      onSilent: () => this.#lose(connection),
    })
  }

  /** Rejects every statement still on the connection; their outcomes are unknown. */
  #lose(connection: Connection): void {
    const at = this.#connections.indexOf(connection)
    if (at === -1) return
    this.#connections.splice(at, 1)
    connection.stopWatching()
    const { client } = connection
    void Promise.allSettled([client.end({ timeout: 0 })])
    if (!this.#isEnding) {
      if (connection.hasAnswered) this.#lostCount += 1
      this.#discarded.add(client)
      this.#options.onLost?.({ isReplaced: connection.trust === 'replaced' })
    }
    this.#sendNext()
  }

  /** @param timeout how long statements in progress may take to finish, seconds; without it, as long as it takes */
  async end({ timeout }: { timeout?: number | undefined } = {}): Promise<void> {
    this.#isEnding = true
    if (this.#waiting.size > 0 || this.#connections.some(({ running }) => running > 0)) {
      await new Promise<void>((resolve) => {
        const stopWaiting = timeout === undefined ? () => {} : this.#clock.after(timeout * 1000, resolve)
        this.#drained.push(() => {
          stopWaiting()
          resolve()
        })
      })
    }
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      next.statement.reject(ended())
    }
    this.#discarded.end()
    const open = this.#connections.splice(0)
    for (const { stopWatching } of open) stopWatching()
    await Promise.all(open.map(({ client, running }) => client.end({ timeout: running > 0 ? 0 : 1 })))
  }
}

/** A server that was demoted or is out of space keeps its sessions. A new connection may reach a server that works. */
function mustBeThrownAway(error: unknown): boolean {
  const of = classifyDatabaseError(error)
  return of === 'connection' || of === 'unfit'
}

/** The error that postgres.js gives. */
function ended(): Error {
  return refusal('CONNECTION_ENDED', 'the client has ended')
}
