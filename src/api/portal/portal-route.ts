/** Routes of the portal, and what their handlers receive. */
import type { PortalIdentity } from '../../access/portal-access.ts'
import type { AgencyOutcome } from '../../admin/outcome.ts'
import type { Agency } from '../../core/catalogue/agency.ts'
import type { Caller } from '../../core/journal/record.ts'
import { unreachable } from '../../lib/assert.ts'
import type { BodyOf, PathOf, QueryOf } from '../operation.ts'
import { invalid, notFound, problem } from '../problems/problems.ts'
import type { Outcome } from '../route/outcome.ts'
import { type Route, served } from '../route/route.ts'
import { agencyIn, PortalAdmission } from './portal-admission.ts'
import type { PortalDependencies, PortalLedger } from './portal-dependencies.ts'
import type { PortalOperation } from './portal-operation.ts'

/** The path prefix of everything that belongs to one agency. */
export const AGENCY_PATH = '/portal/v1/agencies/{agencySlug}'

/** A request that has passed every check. */
export interface PortalCall<O> {
  readonly ledger: PortalLedger
  readonly request: Request
  /** Who sends the request. */
  readonly identity: PortalIdentity
  readonly caller: Caller
  readonly path: PathOf<O>
  readonly query: QueryOf<O>
  readonly body: BodyOf<O>
}

export interface AgencyCall<O> extends PortalCall<O> {
  readonly agency: Agency
}

/** A route of the portal, with the role that it asks for. */
export interface PortalRoute extends Route<PortalDependencies> {
  readonly operation: PortalOperation
}

/** A route that belongs to no agency, such as creating and listing agencies. */
export function portalRoute<const O extends PortalOperation>(
  operation: O,
  handle: (call: PortalCall<O>) => Outcome | Promise<Outcome>,
): PortalRoute {
  return {
    operation,
    serve: (dependencies) => {
      const { ledger, requestStats, onFailure } = dependencies
      const serving = { operation, surface: 'portal', requestStats, newId: ledger.newId, onFailure } as const
      const admission = new PortalAdmission(dependencies, operation)
      return served(serving, admission, (open, path, query, body) => {
        const { request } = open
        const { identity } = open.admission
        return handle({
          ledger,
          request,
          identity,
          caller: admission.callerOf(open),
          path,
          query,
          body,
        } as PortalCall<O>)
      })
    },
  }
}

/** A route of the agency in its path; without it, 404. */
export function agencyRoute<const O extends PortalOperation & { readonly path: `${typeof AGENCY_PATH}${string}` }>(
  operation: O,
  handle: (call: AgencyCall<O>) => Outcome | Promise<Outcome>,
): PortalRoute {
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
