/** To ask which connection a request came by takes 2 microseconds: this part of them is looked at. */
const LOOKED_AT = 1 / 4
/** So many of them in a row before a connection is closed: to open another one, perhaps with TLS, costs as much as a few hops. */
const IN_A_ROW = 16
/** Connections that are remembered. With more, all are forgotten and counted again: they may have been closed since. */
const CONNECTIONS_MAX = 10_000

/**
 * Finds the connections of clients that should be at another worker. The kernel gives a new connection to any worker, and clients keep it:
 * a partner, whose requests are all of one agency, would pay a hop for each. When it is told to close such a connection, its next one goes
 * to any worker again, after a few to the one that owns the agency. A connection with requests of several agencies, as a proxy has them,
 * stays.
 */
export class MisplacedConnections {
  readonly #last = new Map<string, { shard: number; inARow: number }>()
  readonly #random: () => number

  /** @param random 0 up to, but not including, 1 */
  constructor(random: () => number = Math.random) {
    this.#random = random
  }

  /**
   * Counts a request that another worker has answered.
   * @param connectionOf tells what connection it came by; null: not by one of a client
   * @param shard of its agency
   * @returns whether the connection should be closed after the answer
   */
  forwarded(connectionOf: () => string | null, shard: number): boolean {
    const connection = this.#random() < LOOKED_AT ? connectionOf() : null
    if (connection === null) return false
    const last = this.#last.get(connection)
    if (last === undefined) {
      if (this.#last.size >= CONNECTIONS_MAX) this.#last.clear()
      this.#last.set(connection, { shard, inARow: 1 })
      return false
    }
    last.inARow = last.shard === shard ? last.inARow + 1 : 1
    last.shard = shard
    if (last.inARow < IN_A_ROW) return false
    this.#last.delete(connection)
    return true
  }
}
