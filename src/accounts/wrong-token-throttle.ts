import type { Clock } from '../lib/clock.ts'
import { clientNetworkOf } from './client-address.ts'
import { RollingMinute, WINDOW_MS } from './rate-limit.ts'

/** Wrong tokens from one client and rolling minute that are answered with 401. Beyond them: 429. */
export const WRONG_TOKENS_PER_MINUTE = 20
/** Wrong tokens, passkeys and links in bodies, from one client and rolling minute. Beyond them, a passkey is refused without a look. */
export const FLOOD_PER_MINUTE = 100

/**
 * Clients in memory, about 1 KB each. Beyond that, the one whose last wrong token is the longest ago starts again from 0. Whoever has
 * this many addresses gains attempts, but no number of attempts finds a token of 256 random bits.
 */
export const CLIENTS_MAX = 4_096

/** Requests that did not carry a valid token, since the start. */
export interface TokenRefusalStats {
  /** No `Authorization` header. */
  readonly missing: number
  /** A token that is unknown, revoked or expired: answered with 401. */
  readonly wrong: number
  /** The same, answered with 429. */
  readonly throttled: number
}

interface Client {
  readonly minute: RollingMinute
  /** When `onThrottled` was last called; monotonic milliseconds. */
  reportedAtMs: number
}

/**
 * Counts wrong tokens of the portal per client address, so that guessing is slow, visible, and cannot fill the log. Ask it only about a
 * token that was checked and is wrong: then nobody with a right token is ever throttled, whatever else comes from the same
 * address. A request without a token is no guess, and is only counted.
 */
export class WrongTokenThrottle {
  readonly #clock: Clock
  readonly #onThrottled: (address: string) => void
  readonly #onCounted: (network: string) => void
  readonly #clientsMax: number
  readonly #perMinute: number
  /** By network; the client whose last wrong token is the longest ago comes first. */
  readonly #clients = new Map<string, Client>()
  readonly #refused = { missing: 0, wrong: 0, throttled: 0 }

  constructor(options: {
    clock: Clock
    /** Called when a client is throttled, with its address; at most once a minute for each client. */
    onThrottled: (address: string) => void
    /**
     * Called for each wrong token that counts, with the network of its address, for the other workers of the service: so at most as often
     * as the limit allows for each client and minute.
     */
    onCounted?: (network: string) => void
    clientsMax?: number
    /** Left out: WRONG_TOKENS_PER_MINUTE. */
    perMinute?: number
  }) {
    this.#clock = options.clock
    this.#onThrottled = options.onThrottled
    this.#onCounted = options.onCounted ?? (() => {})
    this.#clientsMax = options.clientsMax ?? CLIENTS_MAX
    this.#perMinute = options.perMinute ?? WRONG_TOKENS_PER_MINUTE
  }

  get stats(): TokenRefusalStats {
    return { ...this.#refused }
  }

  /** Clients in memory. */
  get clientCount(): number {
    return this.#clients.size
  }

  countMissing(): void {
    this.#refused.missing += 1
  }

  /**
   * A wrong token has come from this address (client-address.ts).
   * @returns null: answer 401. Otherwise 429: whole seconds after which a wrong token from the address is answered with 401 again
   */
  take(address: string): number | null {
    const network = clientNetworkOf(address)
    const full = this.#count(network)
    if (full === null) {
      this.#refused.wrong += 1
      this.#onCounted(network)
      return null
    }
    this.#refused.throttled += 1
    const nowMs = Math.floor(this.#clock.monotonicMs())
    if (nowMs - full.reportedAtMs >= WINDOW_MS) {
      full.reportedAtMs = nowMs
      this.#onThrottled(address)
    }
    return Math.ceil((full.minute.leavesAt(1) - nowMs) / 1_000)
  }

  /** Another worker of the service has counted one from this network. It is in that worker's stats. */
  countElsewhere(network: string): void {
    this.#count(network)
  }

  /** @returns the client, when it has as many as may be counted; null: one more was counted */
  #count(network: string): Client | null {
    const precise = this.#clock.monotonicMs()
    const nowMs = Math.floor(precise)
    this.#forgetIdle(nowMs)
    const client = this.#clients.get(network) ?? { minute: new RollingMinute(), reportedAtMs: Number.NEGATIVE_INFINITY }
    const { minute } = client
    minute.forget(nowMs)
    if (minute.counted >= this.#perMinute) return client
    minute.count(Math.ceil(precise))
    // To the end of the order.
    this.#clients.delete(network)
    if (this.#clients.size >= this.#clientsMax) this.#forgetFirst()
    this.#clients.set(network, client)
    return null
  }

  /** Whether a wrong token from this address would be answered with 429 now. It is not counted. */
  isOver(address: string): boolean {
    const minute = this.#clients.get(clientNetworkOf(address))?.minute
    minute?.forget(Math.floor(this.#clock.monotonicMs()))
    return minute !== undefined && minute.counted >= this.#perMinute
  }

  #forgetIdle(nowMs: number): void {
    for (const [network, { minute }] of this.#clients) {
      minute.forget(nowMs)
      if (minute.counted > 0) return
      this.#clients.delete(network)
    }
  }

  #forgetFirst(): void {
    const { value: first } = this.#clients.keys().next()
    if (first !== undefined) this.#clients.delete(first)
  }
}
