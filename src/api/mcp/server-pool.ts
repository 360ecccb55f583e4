import { BoundedQueue } from '../../lib/queues.ts'

/** A request that found every server busy and the queue full. Nothing was done for it. */
export class ServersBusyError extends Error {
  override readonly name = 'ServersBusyError'

  constructor(waitingMax: number) {
    super(`Cannot answer the call: ${waitingMax} calls are already waiting for a tool server`)
  }
}

export interface PoolLimits {
  readonly serversMax: number
  readonly waitingMax: number
}

/**
 * For each of the two kinds of revisions. While the database is slow, each agency can have 34 lists of bookings in progress
 * (`ListReads`) for seconds, and each takes up a server: calls that are answered from memory must not wait for them. A server takes about
 * 10 KiB.
 */
export const POOL_LIMITS: PoolLimits = { serversMax: 1_024, waitingMax: 1_024 }

interface Closable {
  close(): Promise<void>
}

/**
 * Long-lived servers, each used by one call at a time: a server that two callers share can give one the other's answer
 * (GHSA-345p-7cg4-v4c7). Calls beyond `serversMax` wait in the order in which they came, up to `waitingMax`. A server whose call
 * failed may still be working on it, so it is closed and never used again.
 */
export class ServerPool<S extends Closable> {
  readonly #open: () => S
  readonly #limits: PoolLimits
  readonly #idle: S[] = []
  readonly #waiting: BoundedQueue<(server: S) => void>
  #busy = 0

  constructor(open: () => S, limits: PoolLimits) {
    this.#open = open
    this.#limits = limits
    this.#waiting = new BoundedQueue(limits.waitingMax)
  }

  /**
   * Runs `call` with a server that no other call uses until the promise settles, and settles as it does.
   * @throws ServersBusyError when too many calls are waiting
   */
  async use<R>(call: (server: S) => Promise<R>): Promise<R> {
    const server = this.#busy < this.#limits.serversMax ? this.#take() : await this.#turn()
    try {
      const result = await call(server)
      this.#release(server)
      return result
    } catch (error) {
      this.#release(this.#open())
      await server.close()
      throw error
    }
  }

  #take(): S {
    const server = this.#idle.pop() ?? this.#open()
    this.#busy += 1
    return server
  }

  #turn(): Promise<S> {
    return new Promise((resolve, reject) => {
      if (!this.#waiting.push(resolve)) reject(new ServersBusyError(this.#limits.waitingMax))
    })
  }

  /** To the call that has waited longest, else back into the pool. */
  #release(server: S): void {
    const next = this.#waiting.shift()
    if (next === undefined) {
      this.#busy -= 1
      this.#idle.push(server)
    } else next(server)
  }
}
