import type { Member } from '../core/catalogue/catalogue.ts'
import type { Clock } from '../lib/clock.ts'
import { type RateDecision, RateLimiter } from './rate-limit.ts'

/** Refused writes of one person or access token and rolling minute that have a line of their own in the audit trail; further ones are counted. */
export const REFUSAL_LINES_PER_MEMBER_MAX = 60
/** The same of one agency. */
export const REFUSAL_LINES_PER_AGENCY_MAX = 600

/** The budget of an agency, in budgets of one person or access token: so two that loop leave the others room. */
export const AGENCY_BUDGET_FACTOR = 3
/** Of a request's body, which is read, checked and perhaps calculated with. */
export const BODY_BYTES_PER_REQUEST = 16_384

/** Whose budget it is. */
interface Budgeted extends Pick<Member, 'kind'> {
  readonly member: { readonly id: string }
  readonly agency: { readonly id: string }
}

/** How a request over a budget is refused. */
export interface OverBudget {
  readonly limit: number
  /** Whose budget is used up. */
  readonly of: 'person' | 'access token' | 'agency' | 'link'
  readonly retryAfterS: number
}

/**
 * The budget of requests per person or access token and rolling minute, with their sessions, and that of their agency. It is no plan: it is
 * far above what people and imports need, and bounds what a token can cost that is lost or loops. What is large counts as several requests.
 * It is not kept over a restart.
 */
export class TokenRateLimit {
  readonly #limiter: RateLimiter
  readonly #lines: RateLimiter
  readonly #requestsPerMinute: number

  constructor({ clock, requestsPerMinute }: { clock: Clock; requestsPerMinute: number }) {
    this.#limiter = new RateLimiter(clock)
    this.#lines = new RateLimiter(clock)
    this.#requestsPerMinute = requestsPerMinute
  }

  /** Counts a request if it is within both budgets. @returns null if it is; else how to refuse it */
  take({ kind, member, agency }: Budgeted): OverBudget | null {
    // The member's own comes first: one who is over it takes nothing from their colleagues.
    const own = this.#limiter.take(member.id, this.#requestsPerMinute)
    if (!own.allowed) return { ...over(own), of: kind === 'person' ? 'person' : 'access token' }
    const ofAgency = this.#limiter.take(agency.id, this.#requestsPerMinute * AGENCY_BUDGET_FACTOR)
    return ofAgency.allowed ? null : { ...over(ofAgency), of: 'agency' }
  }

  /** Counts what a request costs beyond the one that was taken. @param requests 0 for none */
  charge({ member, agency }: Budgeted, requests: number): void {
    if (requests === 0) return
    this.#limiter.charge(member.id, requests)
    this.#limiter.charge(agency.id, requests)
  }

  /** Counts a refused write if its member and agency have room for a line. @returns whether it gets a line of its own */
  takeLine({ member, agency }: Budgeted): boolean {
    return (
      this.#lines.take(member.id, REFUSAL_LINES_PER_MEMBER_MAX).allowed &&
      this.#lines.take(agency.id, REFUSAL_LINES_PER_AGENCY_MAX).allowed
    )
  }
}

function over({ limit, retryAfterS }: RateDecision) {
  return { limit, retryAfterS }
}
