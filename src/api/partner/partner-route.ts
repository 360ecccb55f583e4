/** How partners get in: by API key, plan, budgets and scope, checked in this order. Their refused writes are audited or counted. */
import type { Admission, PartnerAccess } from '../../access/partner-access.ts'
import type { CountedOutcome } from '../../access/refusal-counter.ts'
import type { Caller } from '../../core/bookings/caller.ts'
import type { Agency, ApiKey, Scope } from '../../core/catalogue/agency.ts'
import type { KeyHolder } from '../../core/catalogue/catalogue.ts'
import { rateAnswer, rateHeaders } from '../http/answer.ts'
import { type BodyOf, isWrite, type Operation, type PathOf, type QueryOf, routeNameOf } from '../operation.ts'
import { missingScope, problemOfAccess, UNAUTHORIZED } from '../problems/problem-of-access.ts'
import type { Failure } from '../problems/problem-of-failure.ts'
import type { Problem } from '../problems/problems.ts'
import type { Open, RouteAdmission } from '../route/admission.ts'
import { isIdShaped } from '../route/id-shape.ts'
import type { Outcome } from '../route/outcome.ts'
import type { PathValues } from '../route/read-target.ts'
import { type DescribedRoute, served } from '../route/route.ts'
import type { PartnerLedger, PartnerSurface } from './partner-dependencies.ts'

/** A request that has passed every check. */
export interface PartnerCall<O> {
  readonly ledger: PartnerLedger
  readonly request: Request
  readonly agency: Agency
  readonly key: ApiKey
  readonly caller: Caller
  readonly path: PathOf<O>
  readonly query: QueryOf<O>
  readonly body: BodyOf<O>
}

/** A route for partners. The handler answers at once if it can: reads from memory make no promise. */
export function partnerRoute<const O extends Operation & { readonly scope: Scope | null }>(
  operation: O,
  handle: (call: PartnerCall<O>) => Outcome | Promise<Outcome>,
): DescribedRoute<PartnerSurface> {
  return {
    operation,
    serve: ({ ledger, requestStats, onFailure }) => {
      const serving = { operation, surface: 'partner', requestStats, newId: ledger.newId, onFailure } as const
      const route = routeNameOf(operation)
      return served(serving, new PartnerAdmission(ledger, operation), (open, path, query, body) => {
        const { agency, key } = open.admission.holder
        const caller: Caller = { actor: { kind: 'key', id: key.id }, route, requestId: open.requestId }
        return handle({ ledger, request: open.request, agency, key, caller, path, query, body } as PartnerCall<O>)
      })
    },
  }
}

class PartnerAdmission implements RouteAdmission<Admission> {
  readonly unauthorized = UNAUTHORIZED
  readonly #ledger: PartnerLedger
  readonly #access: PartnerAccess
  readonly #scope: Scope | null
  readonly #route: string
  readonly #isWrite: boolean

  constructor(ledger: PartnerLedger, operation: Operation) {
    this.#ledger = ledger
    this.#access = ledger.access
    this.#scope = operation.scope ?? null
    this.#route = routeNameOf(operation)
    this.#isWrite = isWrite(operation)
  }

  admit(request: Request, requestId: string): Admission | null {
    const authorization = request.headers.get('authorization')
    const admission = this.#access.admit(authorization)
    if (admission === null && this.#isWrite) this.#countUnauthorized(authorization, requestId)
    return admission
  }

  readmit({ admission, requestId }: Open<Admission>): Admission | null {
    const current = this.#access.readmit(admission)
    if (current === null && this.#isWrite) this.#count(admission.holder, 'UNAUTHORIZED', requestId)
    return current
  }

  refusalOf({ refusal, holder }: Admission): Problem | null {
    if (refusal !== null) return problemOfAccess(refusal)
    return this.#scope === null ? null : missingScope(holder, this.#scope)
  }

  answer({ requestId, admission: { rate } }: Open<Admission>, body: string, status: number): Response {
    return rateAnswer(body, { status, requestId, rate, now: this.#ledger.clock.now() })
  }

  headersOf({ requestId, admission: { rate } }: Open<Admission>): Headers {
    return rateHeaders(requestId, rate, this.#ledger.clock.now())
  }

  /** Refusals beyond the key's budget or the agency's quota are counted instead (design, Audit). */
  recordRefusal({ requestId, admission }: Open<Admission>, { code }: Problem, path: PathValues): Promise<void> | null {
    const { holder, rate } = admission
    if (code === 'QUOTA_EXCEEDED' || code === 'RATE_LIMITED' || (code === 'FEATURE_DISABLED' && !rate.allowed)) {
      this.#count(holder, code, requestId)
      return null
    }
    const { agency, key } = holder
    const caller: Caller = { actor: { kind: 'key', id: key.id }, route: this.#route, requestId }
    // The writes of partners are all about bookings.
    const { id } = path
    return this.#ledger.commands.auditRefusal(agency, caller, code, id !== undefined && isIdShaped(id) ? id : null)
  }

  recordFailure({ admission: { holder }, requestId }: Open<Admission>, outcome: Failure['outcome']): void {
    this.#count(holder, outcome, requestId)
  }

  #count({ agency, key }: KeyHolder, code: CountedOutcome, requestId: string): void {
    this.#ledger.refusals.count({ agencyId: agency.id, keyId: key.id, code, route: this.#route, requestId })
  }

  /** A revoked or expired key, or one of an inactive agency, still belongs to the agency: its audit trail shows that someone used it. */
  #countUnauthorized(authorization: string | null, requestId: string): void {
    const holder = this.#access.holderOf(authorization)
    if (holder !== null) this.#count(holder, 'UNAUTHORIZED', requestId)
  }
}
