/** Admission of the operator, by the portal's token. A refused write leaves its line in the audit trail of the agency in its path. */
import { portalAccess } from '../../access/portal-access.ts'
import type { AgencyOutcome } from '../../admin/outcome.ts'
import type { Agency } from '../../core/catalogue/agency.ts'
import type { Caller } from '../../core/journal/record.ts'
import { unreachable } from '../../lib/assert.ts'
import { plainHeaders } from '../http/answer.ts'
import { type BodyOf, type Operation, type PathOf, type QueryOf, routeNameOf } from '../operation.ts'
import { invalid, notFound, type Problem, problem } from '../problems/problems.ts'
import type { Open, RouteAdmission } from '../route/admission.ts'
import { isIdShaped } from '../route/id-shape.ts'
import type { Outcome } from '../route/outcome.ts'
import type { PathValues } from '../route/read-target.ts'
import { type DescribedRoute, served } from '../route/route.ts'
import type { PortalDependencies, PortalLedger } from './portal-dependencies.ts'

/** The path prefix of everything that belongs to one agency. */
export const AGENCY_PATH = '/portal/v1/agencies/{agencySlug}'

/** A request that has passed every check. */
export interface PortalCall<O> {
  readonly ledger: PortalLedger
  readonly request: Request
  readonly caller: Caller
  readonly path: PathOf<O>
  readonly query: QueryOf<O>
  readonly body: BodyOf<O>
}

export interface AgencyCall<O> extends PortalCall<O> {
  readonly agency: Agency
}

/** A route that belongs to no agency, such as creating and listing agencies. */
export function portalRoute<const O extends Operation>(
  operation: O,
  handle: (call: PortalCall<O>) => Outcome | Promise<Outcome>,
): DescribedRoute<PortalDependencies> {
  return {
    operation,
    serve: ({ ledger, operatorTokens, requestStats, onFailure }) => {
      const serving = { operation, surface: 'portal', requestStats, newId: ledger.newId, onFailure } as const
      const route = routeNameOf(operation)
      const admission = new PortalAdmission(ledger, operatorTokens, route)
      return served(serving, admission, ({ request, requestId }, path, query, body) =>
        handle({ ledger, request, caller: portalCaller(route, requestId), path, query, body } as PortalCall<O>),
      )
    },
  }
}

/** A route of the agency in its path; without it, 404. */
export function agencyRoute<const O extends Operation & { readonly path: `${typeof AGENCY_PATH}${string}` }>(
  operation: O,
  handle: (call: AgencyCall<O>) => Outcome | Promise<Outcome>,
): DescribedRoute<PortalDependencies> {
  return portalRoute(operation, (call) => {
    const agency = agencyIn(call.ledger, call.path)
    return agency === null ? notFound('agency') : handle({ ...call, agency } as unknown as AgencyCall<O>)
  })
}

/** The outcome of a command, as an answer. */
export function settled<T>(
  outcome: AgencyOutcome<T>,
  what: Parameters<typeof notFound>[0],
  show: (value: T) => object,
): Outcome {
  if (outcome.kind === 'done') return JSON.stringify(show(outcome.value))
  if (outcome.kind === 'not_found') return notFound(what)
  const { refusal } = outcome
  switch (refusal.code) {
    case 'SLUG_TAKEN':
      return problem('SLUG_TAKEN', `The slug ${refusal.slug} is already in use`, { slug: refusal.slug })
    case 'EMAIL_TAKEN':
      return problem('EMAIL_TAKEN', `Another guest already has the e-mail address ${refusal.email}`, {
        email: refusal.email,
      })
    case 'VALIDATION':
      return invalid([{ field: refusal.field, message: refusal.message }])
    default:
      return unreachable(refusal)
  }
}

const UNAUTHORIZED = problem(
  'UNAUTHORIZED',
  'Missing or invalid portal token: send the header Authorization: Bearer <PORTAL_TOKEN>',
  {},
)

/** The token permits everything, and says nothing about who sends the request. */
const ADMITTED = {}

class PortalAdmission implements RouteAdmission<typeof ADMITTED> {
  readonly unauthorized = UNAUTHORIZED
  readonly #ledger: PortalLedger
  readonly #isAllowed: (authorization: string | null) => boolean
  readonly #route: string

  constructor(ledger: PortalLedger, operatorTokens: readonly string[], route: string) {
    this.#ledger = ledger
    this.#isAllowed = portalAccess(operatorTokens)
    this.#route = route
  }

  admit(request: Request) {
    return this.#isAllowed(request.headers.get('authorization')) ? ADMITTED : null
  }

  /** The token is the same for as long as the process runs. */
  readmit() {
    return ADMITTED
  }

  refusalOf() {
    return null
  }

  answer({ requestId }: Open<object>, body: string, status: number): Response {
    return new Response(body, { status, headers: plainHeaders(requestId) })
  }

  headersOf({ requestId }: Open<object>): Headers {
    return plainHeaders(requestId)
  }

  recordRefusal({ requestId }: Open<object>, { code }: Problem, path: PathValues): Promise<void> | null {
    const agency = agencyIn(this.#ledger, path)
    if (agency === null) return null
    const { bookingId } = path
    const knownId = bookingId !== undefined && isIdShaped(bookingId) ? bookingId : null
    return this.#ledger.commands.auditRefusal(agency, portalCaller(this.#route, requestId), code, knownId)
  }

  /** Failures are counted per API key, and there is none. */
  recordFailure(): void {}
}

function portalCaller(route: string, requestId: string): Caller {
  return { actor: { kind: 'portal', id: null }, route, requestId }
}

function agencyIn({ catalogue }: PortalLedger, { agencySlug }: PathValues): Agency | null {
  return agencySlug === undefined ? null : catalogue.agencyBySlug(agencySlug)
}
