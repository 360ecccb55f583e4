import type { Clock } from '../lib/clock.ts'
import { RateLimiter } from './rate-limit.ts'

/**
 * The budget of requests per access token and rolling minute, its sessions included. It is no plan: it is far above what people and
 * imports need, and bounds what a token can cost that is lost or loops, such as the line in the audit trail of every refused write.
 * It is not kept over a restart.
 */
export class TokenRateLimit {
  readonly #limiter: RateLimiter
  readonly #requestsPerMinute: number

  constructor({ clock, requestsPerMinute }: { clock: Clock; requestsPerMinute: number }) {
    this.#limiter = new RateLimiter(clock)
    this.#requestsPerMinute = requestsPerMinute
  }

  /** Counts a request if it is within the budget. @returns null if it is; else how to refuse it */
  take(tokenId: string): { readonly limit: number; readonly retryAfterS: number } | null {
    const { allowed, limit, retryAfterS } = this.#limiter.take(tokenId, this.#requestsPerMinute)
    return allowed ? null : { limit, retryAfterS }
  }
}
