import type postgres from 'postgres'
import type { Clock } from '../../lib/clock.ts'

type Sql = postgres.Sql

/**
 * A client that is ended while it has statements of its own queue opens one more connection, which is never used
 * (postgres.js 3.4.9). It is closed when it should be open, and again when it must be: after every connect_timeout, ms.
 */
const REAP_AFTER_MS = [200, 6_000] as const

/** Clients of a pool that were lost, until nothing of them is open any more. */
export class DiscardedClients {
  readonly #clock: Clock
  /** With what cancels the next attempt to close each. */
  readonly #closing = new Map<Sql, () => void>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add(client: Sql): void {
    this.#closeLater(client, REAP_AFTER_MS)
  }

  /** Closes all of them now. */
  end(): void {
    for (const [client, cancel] of this.#closing) {
      cancel()
      void Promise.allSettled([close(client)])
    }
  }

  #closeLater(client: Sql, [wait, ...later]: readonly number[]): void {
    this.#closing.delete(client)
    if (wait === undefined) return
    const again = (): void => {
      void Promise.allSettled([close(client)])
      this.#closeLater(client, later)
    }
    this.#closing.set(client, this.#clock.after(wait, again))
  }
}

/** `close` exists, but not in the types of postgres.js. Unlike `end` it can be called twice. */
function close(client: Sql): Promise<void> {
  return (client as unknown as { close(): Promise<void> }).close()
}
