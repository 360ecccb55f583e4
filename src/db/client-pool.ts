/**
 * Several connections behind one `Sql`. Each is a postgres.js client of one connection that runs one statement at a time,
 * and is thrown away at the first sign of trouble; statements that find none free wait here, not in postgres.js.
 *
 * A pool of postgres.js 3.4.9 goes on with a connection that was cut, and what its socket left behind may never be
 * flushed again: whatever is sent on it later waits for ever (upstream #1176, #1208, LanternOps/breeze#3225). A statement
 * sent between the socket's error and its close is forgotten as well. A client that was never cut has neither.
 */
import type postgres from 'postgres'
import { type Clock, systemClock } from '../lib/clock.ts'
import { classifyDatabaseError } from './database-error.ts'

type Sql = postgres.Sql

export interface PoolOptions {
  /** Connections at most. They are opened as they are needed. */
  readonly size: number
  /**
   * How long one statement may run, connecting included, before its connection counts as dead, ms: above the server's own
   * statement timeout. Null when statements may take their time.
   */
  readonly runMsMax: number | null
  /** Called whenever a connection is lost; those that `end` closes are not. */
  readonly onLost?: () => void
  readonly clock?: Clock
}

/** What postgres.js makes of a tagged template: `handler` is called once, when it is first awaited. */
interface Statement {
  handler: (statement: Statement) => void
  resolve: (result: unknown) => void
  reject: (error: unknown) => void
}

interface Connection {
  readonly client: Sql
  readonly send: Statement['handler']
  isBusy: boolean
}

/**
 * @param open makes a postgres.js client of one connection, which calls `onClose` when that is closed
 * @returns a `Sql` for statements, fragments and `end`; without `begin` and `reserve`
 */
export function pooled(open: (onClose: () => void) => Sql, options: PoolOptions): Sql {
  const pool = new ClientPool(open, options)
  // Only builds statements, never connects.
  const builder = open(() => {})
  return new Proxy(builder, {
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
}

class ClientPool {
  readonly #open: (onClose: () => void) => Sql
  readonly #options: PoolOptions
  readonly #clock: Clock
  readonly #connections: Connection[] = []
  readonly #waiting: Statement[] = []
  readonly #drained: (() => void)[] = []
  #isEnding = false

  constructor(open: (onClose: () => void) => Sql, options: PoolOptions) {
    this.#open = open
    this.#options = options
    this.#clock = options.clock ?? systemClock
  }

  /** Fragments, arrays and other helpers are made by the same call as statements: they pass unchanged, as never awaited. */
  taking<T>(made: T): T {
    if (isStatement(made)) made.handler = (statement) => this.#run(statement)
    return made
  }

  #run(statement: Statement): void {
    if (this.#isEnding) {
      statement.reject(ended())
      return
    }
    this.#waiting.push(statement)
    this.#sendNext()
  }

  #sendNext(): void {
    while (this.#waiting.length > 0) {
      const connection = this.#free()
      if (connection === null) return
      const statement = this.#waiting.shift()
      if (statement !== undefined) this.#sendOn(connection, statement)
    }
    if (this.#connections.every(({ isBusy }) => !isBusy)) for (const resolve of this.#drained.splice(0)) resolve()
  }

  #free(): Connection | null {
    const free = this.#connections.find(({ isBusy }) => !isBusy)
    if (free !== undefined) return free
    return this.#connections.length < this.#options.size ? this.#add() : null
  }

  #add(): Connection {
    const client = this.#open(() => this.#lose(connection))
    const probe: unknown = client``
    if (!isStatement(probe)) throw new TypeError('Cannot pool: this postgres.js makes statements otherwise')
    const connection: Connection = { client, send: probe.handler, isBusy: false }
    this.#connections.push(connection)
    return connection
  }

  #sendOn(connection: Connection, statement: Statement): void {
    const { resolve, reject } = statement
    const { runMsMax } = this.#options
    const stopWaiting = runMsMax === null ? () => {} : this.#clock.after(runMsMax, () => this.#lose(connection))
    let isSettled = false
    const settle = (): void => {
      if (isSettled) return
      isSettled = true
      stopWaiting()
      connection.isBusy = false
      // A turn later: postgres.js settles a statement before it is ready for the next one.
      queueMicrotask(() => this.#sendNext())
    }
    statement.resolve = (result) => {
      settle()
      resolve(result)
    }
    statement.reject = (error) => {
      if (!isSettled && classifyDatabaseError(error) === 'connection') this.#lose(connection)
      settle()
      reject(error)
    }
    connection.isBusy = true
    connection.send(statement)
  }

  /** Whatever still is on the connection is rejected by this, as what has an unknown outcome. */
  #lose(connection: Connection): void {
    const at = this.#connections.indexOf(connection)
    if (at === -1) return
    this.#connections.splice(at, 1)
    void Promise.allSettled([connection.client.end({ timeout: 0 })])
    if (!this.#isEnding) this.#options.onLost?.()
    this.#sendNext()
  }

  /** @param timeout how long what is under way may take to finish, seconds; without it, as long as it takes */
  async end({ timeout }: { timeout?: number | undefined } = {}): Promise<void> {
    this.#isEnding = true
    if (this.#waiting.length > 0 || this.#connections.some(({ isBusy }) => isBusy)) {
      await new Promise<void>((resolve) => {
        const stopWaiting = timeout === undefined ? () => {} : this.#clock.after(timeout * 1000, resolve)
        this.#drained.push(() => {
          stopWaiting()
          resolve()
        })
      })
    }
    for (const statement of this.#waiting.splice(0)) statement.reject(ended())
    await Promise.all(this.#connections.splice(0).map(({ client, isBusy }) => client.end({ timeout: isBusy ? 0 : 1 })))
  }
}

function isStatement(made: unknown): made is Statement {
  return made instanceof Promise && 'handler' in made && 'resolve' in made && 'reject' in made
}

/** As postgres.js says it. */
function ended(): Error {
  return Object.assign(new Error('Cannot ask the database: the client has ended'), { code: 'CONNECTION_ENDED' })
}
