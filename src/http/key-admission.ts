import type { AccessRefusal, Admission, PartnerAccess } from '../accounts/partner-access.ts'
import { isSandbox, type Scope } from '../core/catalogue/agency.ts'
import type { KeyHolder } from '../core/catalogue/catalogue.ts'
import { unreachable } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import type { Tagged } from './answer.ts'
import { rateAnswer, rateHeaders, taggedAnswer } from './answer.ts'
import type { Operation, QueryScopes } from './operation.ts'
import type { Failure } from './problem-of.ts'
import { type Problem, problem } from './problems.ts'
import type { PathValues } from './read-request.ts'
import { targetOf } from './request.ts'
import type { Open, RouteAdmission } from './route.ts'

/** The answer to a request without a valid API key (docs/contract.md#authentication, rule 9). */
export const UNAUTHORIZED = problem(
  'UNAUTHORIZED',
  'Missing or invalid API key: send the header Authorization: Bearer <API_KEY>',
  {},
)

const FEATURE_DISABLED = problem('FEATURE_DISABLED', "The agency's plan does not include API access", {})

/** The answer to a request with a valid key that is nevertheless not served. */
export function problemOfAccess(refusal: AccessRefusal): Problem {
  switch (refusal.code) {
    case 'FEATURE_DISABLED':
      return FEATURE_DISABLED
    case 'RATE_LIMITED': {
      const { limit, retryAfterS } = refusal
      const title = `Rate limit of ${limit} requests per minute exceeded: retry in ${retryAfterS} s`
      return problem('RATE_LIMITED', title, {}, { retryAfterS })
    }
    case 'LARGE_ANSWERS': {
      const { retryAfterS } = refusal
      const title = `Too many large answers to the agency are already queued: retry in ${retryAfterS} s, and request fewer at once`
      return problem('RATE_LIMITED', title, {}, { retryAfterS })
    }
    case 'QUOTA_EXCEEDED': {
      const { quota, used, resetsAt, retryAfterS } = refusal
      const title = `Monthly quota of ${quota} requests exhausted: it resets at ${resetsAt}`
      return problem('QUOTA_EXCEEDED', title, { quota, used, resetsAt }, { retryAfterS })
    }
    default:
      return unreachable(refusal)
  }
}

/**
 * Counts further requests against the budgets of the key, for an answer that costs more than one (`PartnerAccess.charge`).
 * @returns null if the budgets suffice: the rate headers of the answer then show what is left; otherwise the refusal
 */
export function chargeMore(
  access: Pick<PartnerAccess, 'charge'>,
  open: Pick<Open<Admission>, 'admission'>,
  requests: number,
): Problem | null {
  open.admission = access.charge(open.admission, requests)
  const { refusal } = open.admission
  return refusal === null ? null : problemOfAccess(refusal)
}

/** Null when the key has the scope (docs/contract.md#authentication, rule 6). */
export function missingScope(holder: KeyHolder, scope: Scope): Problem | null {
  if (holder.key.scopes.includes(scope)) return null
  return problem('SCOPE_MISSING', `The API key does not have the scope ${scope}`, { scope })
}

/**
 * Admits requests by API key: key, plan, requests per minute, requests per month, then the scope (docs/contract.md#limits). REST and the
 * tool endpoint share it, because they share the budgets. It records nothing: reads leave no line in the audit trail.
 */
export class KeyAdmission implements RouteAdmission<Admission> {
  readonly unauthorized = UNAUTHORIZED
  readonly #access: PartnerAccess
  readonly #clock: Clock
  readonly #scope: Scope | null
  readonly #scopesWith: QueryScopes | null
  readonly #isLarge: boolean

  /** @param operation what is asked for */
  constructor(
    { access, clock }: { access: PartnerAccess; clock: Clock },
    { scope = null, scopesWith, isLarge = false }: Pick<Operation, 'scope' | 'scopesWith' | 'isLarge'>,
  ) {
    this.#access = access
    this.#clock = clock
    this.#scope = scope
    this.#scopesWith = scopesWith ?? null
    this.#isLarge = isLarge
  }

  admit(request: Request, _requestId: string): Admission | null {
    return this.#access.admit(request.headers.get('authorization'), this.#isLarge)
  }

  refused(_request: Request): Problem {
    return UNAUTHORIZED
  }

  readmit({ admission }: Open<Admission>): Admission | null {
    return this.#access.readmit(admission)
  }

  refusalOf({ refusal, holder }: Admission, request: Pick<Request, 'url'>): Problem | null {
    if (refusal !== null) return problemOfAccess(refusal)
    const missing = this.#scope === null ? null : missingScope(holder, this.#scope)
    if (missing !== null || this.#scopesWith === null) return missing
    // The query is not checked yet: whatever else is wrong with it comes after a missing scope (docs/design.md#order-of-checks).
    const { parameter, scopes } = this.#scopesWith
    const { query } = targetOf(request.url)
    // Most queries lack the parameter, and only an escape could hide its name.
    if (!query.includes(parameter) && !query.includes('%')) return null
    const values = new URLSearchParams(query).getAll(parameter).flatMap((list) => list.split(','))
    if (typeof scopes === 'string') return values.length > 0 ? missingScope(holder, scopes) : null
    for (const [value, scope] of Object.entries(scopes)) {
      const refusal = values.includes(value) ? missingScope(holder, scope) : null
      if (refusal !== null) return refusal
    }
    return null
  }

  takeAnswer({ admission: { holder } }: Open<Admission>, chars: number): Promise<void> | null {
    return this.#access.takeAnswer(holder.agency.id, chars)
  }

  answer({ requestId, admission: { holder, rate } }: Open<Admission>, body: string, status: number): Response {
    return inMode(holder, rateAnswer(body, { status, requestId, rate, now: this.#clock.now() }))
  }

  taggedAnswer(
    { requestId, admission: { holder, rate } }: Open<Admission>,
    { tag, body }: Tagged,
    { status, isConditional }: { status: number; isConditional: boolean },
  ): Response {
    const kind = body === null ? 'unchanged' : isConditional ? 'conditional' : 'tagged'
    const about = { status: body === null ? 304 : status, requestId, rate, now: this.#clock.now() }
    return inMode(holder, taggedAnswer({ tag, body, kind }, about))
  }

  headersOf({ requestId, admission }: Pick<Open<Admission>, 'requestId' | 'admission'>): Headers {
    return keyHeaders(requestId, admission, this.#clock.now())
  }

  recordRefusal(_open: Open<Admission>, _refusal: Problem, _path: PathValues): Promise<void> | null {
    return null
  }

  recordFailure(_open: Open<Admission>, _outcome: Failure['outcome']): void {}
}

/** The headers of an answer to a key that refuses its request. The caller may change them. */
export function keyHeaders(requestId: string, { holder, rate }: Admission, now: number): Headers {
  return inMode(holder, { headers: rateHeaders(requestId, rate, now) }).headers
}

/** Marks what a sandbox answers (docs/partner-additions.md#12-sandbox). */
function inMode<A extends { readonly headers: Headers }>({ agency }: KeyHolder, answer: A): A {
  if (isSandbox(agency)) answer.headers.set('X-Mode', 'test')
  return answer
}
