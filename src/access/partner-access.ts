/**
 * Who may come in: the checks that REST and MCP share, in the design's order: key, plan, requests per minute, requests
 * per month. Scopes are the route's. Synchronous, so that nothing changes between the look-up and the answer to it: a revocation
 * holds from the next request on (contract, Authentication rule 8), and for one whose body comes after it.
 */

import { type Problem, problem } from '../api/problems/problems.ts'
import type { Scope } from '../core/catalogue/agency.ts'
import type { Catalogue, KeyHolder } from '../core/catalogue/catalogue.ts'
import type { Clock } from '../lib/clock.ts'
import { authenticate, keyHolder, validHolder } from './key-secret.ts'
import type { RateDecision, RateLimiter } from './rate-limit.ts'
import type { UsageMeter } from './usage-meter.ts'

/** A request made with a valid key. `refusal`: why it is not served all the same. */
export interface Admission {
  readonly holder: KeyHolder
  readonly rate: RateDecision
  readonly refusal: Problem | null
}

export const UNAUTHORIZED = problem(
  'UNAUTHORIZED',
  'Missing or invalid API key: send the header Authorization: Bearer <API_KEY>',
  {},
)
const FEATURE_DISABLED = problem('FEATURE_DISABLED', "The agency's plan does not include API access", {})

/** Requests that were refused at the door since the start. */
export interface AccessStats {
  readonly unauthorized: number
  readonly featureDisabled: number
  readonly rateLimited: number
  readonly quotaExceeded: number
}

export class PartnerAccess {
  readonly #catalogue: Pick<Catalogue, 'holderByHash'>
  readonly #clock: Clock
  readonly #limiter: RateLimiter
  readonly #meter: UsageMeter
  readonly #refused = { unauthorized: 0, featureDisabled: 0, rateLimited: 0, quotaExceeded: 0 }

  constructor(options: {
    catalogue: Pick<Catalogue, 'holderByHash'>
    clock: Clock
    limiter: RateLimiter
    meter: UsageMeter
  }) {
    this.#catalogue = options.catalogue
    this.#clock = options.clock
    this.#limiter = options.limiter
    this.#meter = options.meter
  }

  get stats(): AccessStats {
    return { ...this.#refused }
  }

  /** Null: 401 (contract, Authentication rule 9). `authorization`: the header, null when absent. */
  admit(authorization: string | null): Admission | null {
    const holder = authenticate(authorization, this.#catalogue, this.#clock.now())
    if (holder === null) {
      this.#refused.unauthorized += 1
      return null
    }
    const { agency, key } = holder
    const { plan } = agency
    const rate = this.#limiter.take(key.id, plan.requestsPerMinute)
    if (!rate.allowed)
      return { holder, rate, refusal: plan.apiAccess ? this.#rateLimited(rate) : this.#featureDisabled() }
    const usage = this.#meter.take(agency.id, plan.requestsPerMonth)
    if (!plan.apiAccess) return { holder, rate, refusal: this.#featureDisabled() }
    if (usage.allowed) return { holder, rate, refusal: null }
    this.#refused.quotaExceeded += 1
    const { quota, used, resetsAt, retryAfterS } = usage
    const title = `Monthly quota of ${quota} requests exhausted: it resets at ${resetsAt}`
    return { holder, rate, refusal: problem('QUOTA_EXCEEDED', title, { quota, used, resetsAt }, { retryAfterS }) }
  }

  /** The holder of the key of a request that was answered with 401; null when the key is unknown. */
  holderOf(authorization: string | null): KeyHolder | null {
    return keyHolder(authorization, this.#catalogue)
  }

  /**
   * Checks key, agency and plan again when the body of a request has arrived, which may be long after its headers. Does not count
   * against any limit. Null and `refusal` as from `enter`.
   */
  readmit({ holder, rate }: Admission): Admission | null {
    const current = validHolder(holder.key.secretSha256, this.#catalogue, this.#clock.now())
    if (current === null) {
      this.#refused.unauthorized += 1
      return null
    }
    return { holder: current, rate, refusal: current.agency.plan.apiAccess ? null : this.#featureDisabled() }
  }

  #rateLimited({ limit, retryAfterS }: RateDecision): Problem {
    this.#refused.rateLimited += 1
    const title = `Rate limit of ${limit} requests per minute exceeded: retry in ${retryAfterS} s`
    return problem('RATE_LIMITED', title, {}, { retryAfterS })
  }

  #featureDisabled(): Problem {
    this.#refused.featureDisabled += 1
    return FEATURE_DISABLED
  }
}

/** Null when the key has the scope (contract, Authentication rule 6). */
export function missingScope(holder: KeyHolder, scope: Scope): Problem | null {
  if (holder.key.scopes.includes(scope)) return null
  return problem('SCOPE_MISSING', `The API key does not have the scope ${scope}`, { scope })
}
