import type { Admission, PartnerAccess } from '../../access/partner-access.ts'
import type { Scope } from '../../core/catalogue/agency.ts'
import type { Clock } from '../../lib/clock.ts'
import { rateAnswer, rateHeaders, taggedAnswer } from '../http/answer.ts'
import { targetOf } from '../http/request-target.ts'
import type { QueryScope } from '../operation.ts'
import { missingScope, problemOfAccess, UNAUTHORIZED } from '../problems/problem-of-access.ts'
import type { Failure } from '../problems/problem-of-failure.ts'
import type { Problem } from '../problems/problems.ts'
import type { Open, RouteAdmission } from './admission.ts'
import type { Tagged } from './outcome.ts'
import type { PathValues } from './read-target.ts'

/**
 * Admits requests by API key: key, plan, requests per minute, requests per month, then the scope (docs/contract.md#limits). REST and the
 * tool endpoint share it, because they share the budgets. It records nothing: reads leave no line in the audit trail.
 */
export class KeyAdmission implements RouteAdmission<Admission> {
  readonly unauthorized = UNAUTHORIZED
  readonly #access: PartnerAccess
  readonly #clock: Clock
  readonly #scope: Scope | null
  readonly #scopeWith: QueryScope | null

  /**
   * @param scope the scope that the key must have; null for none
   * @param scopeWith another one, which only some queries need; null for none
   */
  constructor(
    { access, clock }: { access: PartnerAccess; clock: Clock },
    scope: Scope | null,
    scopeWith: QueryScope | null = null,
  ) {
    this.#access = access
    this.#clock = clock
    this.#scope = scope
    this.#scopeWith = scopeWith
  }

  admit(request: Request, _requestId: string): Admission | null {
    return this.#access.admit(request.headers.get('authorization'))
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
    if (missing !== null || this.#scopeWith === null) return missing
    // The query is not checked yet: whatever else is wrong with it comes after a missing scope (docs/design.md#order-of-checks).
    const { parameter, value, scope } = this.#scopeWith
    const asked = new URLSearchParams(targetOf(request.url).query).getAll(parameter)
    return asked.includes(value) ? missingScope(holder, scope) : null
  }

  takeAnswer({ admission: { holder } }: Open<Admission>, chars: number): Promise<void> | null {
    return this.#access.takeAnswer(holder.agency.id, chars)
  }

  answer({ requestId, admission: { rate } }: Open<Admission>, body: string, status: number): Response {
    return rateAnswer(body, { status, requestId, rate, now: this.#clock.now() })
  }

  taggedAnswer(
    { requestId, admission: { rate } }: Open<Admission>,
    { tag, body }: Tagged,
    { status, isConditional }: { status: number; isConditional: boolean },
  ): Response {
    const about = { requestId, rate, now: this.#clock.now() }
    if (body === null) return taggedAnswer({ tag, body, kind: 'unchanged' }, { status: 304, ...about })
    return taggedAnswer({ tag, body, kind: isConditional ? 'conditional' : 'tagged' }, { status, ...about })
  }

  headersOf({ requestId, admission: { rate } }: Pick<Open<Admission>, 'requestId' | 'admission'>): Headers {
    return rateHeaders(requestId, rate, this.#clock.now())
  }

  recordRefusal(_open: Open<Admission>, _refusal: Problem, _path: PathValues): Promise<void> | null {
    return null
  }

  recordFailure(_open: Open<Admission>, _outcome: Failure['outcome']): void {}
}
