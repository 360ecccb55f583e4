import type { Admission, PartnerAccess } from '../../access/partner-access.ts'
import type { Scope } from '../../core/catalogue/agency.ts'
import type { Clock } from '../../lib/clock.ts'
import { rateAnswer, rateHeaders } from '../http/answer.ts'
import { missingScope, problemOfAccess, UNAUTHORIZED } from '../problems/problem-of-access.ts'
import type { Failure } from '../problems/problem-of-failure.ts'
import type { Problem } from '../problems/problems.ts'
import type { Open, RouteAdmission } from './admission.ts'
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

  /** @param scope the scope that the key must have; null for none */
  constructor({ access, clock }: { access: PartnerAccess; clock: Clock }, scope: Scope | null) {
    this.#access = access
    this.#clock = clock
    this.#scope = scope
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

  refusalOf({ refusal, holder }: Admission): Problem | null {
    if (refusal !== null) return problemOfAccess(refusal)
    return this.#scope === null ? null : missingScope(holder, this.#scope)
  }

  answer({ requestId, admission: { rate } }: Open<Admission>, body: string, status: number): Response {
    return rateAnswer(body, { status, requestId, rate, now: this.#clock.now() })
  }

  headersOf({ requestId, admission: { rate } }: Pick<Open<Admission>, 'requestId' | 'admission'>): Headers {
    return rateHeaders(requestId, rate, this.#clock.now())
  }

  recordRefusal(_open: Open<Admission>, _refusal: Problem, _path: PathValues): Promise<void> | null {
    return null
  }

  recordFailure(_open: Open<Admission>, _outcome: Failure['outcome']): void {}
}
