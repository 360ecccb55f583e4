/** Routes of the portal, and what their handlers receive. */
import type { PortalAccess, PortalIdentity } from '../../accounts/portal-access.ts'
import type { AgencyOutcome } from '../../accounts/store-retries.ts'
import type { Agency } from '../../core/catalogue/agency.ts'
import type { Caller } from '../../core/journal/record.ts'
import type { Outcome } from '../../http/answer.ts'
import { type BodyOf, isWrite, type PathOf, type QueryOf } from '../../http/operation.ts'
import { PROBLEMS } from '../../http/problem-table.ts'
import { invalid, notFound, problem } from '../../http/problems.ts'
import { asksForDryRun } from '../../http/request.ts'
import { type Route, type Serve, type StreamCall, served, streamCall } from '../../http/route.ts'
import { unreachable } from '../../lib/assert.ts'
import { agencyIn, PortalAdmission } from './portal-admission.ts'
import type { PortalDependencies, PortalLedger } from './portal-dependencies.ts'
import type { PortalOperation } from './portal-operation.ts'
import { type AnswerKeeper, NOTHING_KEPT, type Once, writeOnce } from './portal-write-once.ts'

/** The path prefix of everything that belongs to one agency. */
export const AGENCY_PATH = '/portal/v1/agencies/{agencySlug}'

/** A request that has passed every check. */
interface CheckedRequest<O> {
  readonly ledger: PortalLedger
  readonly access: PortalAccess
  readonly request: Request
  /** Who sends the request. */
  readonly identity: PortalIdentity
  readonly caller: Caller
  readonly path: PathOf<O>
  readonly query: QueryOf<O>
  readonly body: BodyOf<O>
  stream(): StreamCall
}

export interface PortalCall<O> extends CheckedRequest<O> {
  /** Of a write: what is kept of its answer for an `Idempotency-Key`. */
  readonly keep: AnswerKeeper
}

export interface AgencyCall<O> extends PortalCall<O> {
  readonly agency: Agency
}

/** A route of the portal, with the role that it asks for. */
export interface PortalRoute<O extends PortalOperation = PortalOperation> extends Route<PortalDependencies> {
  readonly operation: O
}

type Handle<C> = (call: C) => Outcome | Promise<Outcome>

/** What is particular about a write with an `Idempotency-Key`. */
interface Repeated<C> {
  /** The answer from what was kept of it. Left out: that is the answer. */
  shown?(call: C, kept: string): string | Promise<string>
  /** The agency that the key is used for, if not that of the path. */
  scope?(call: C): Agency
  /** Of a route that belongs to no agency: whose audit trail shows the repetition. */
  agency?(call: C): Agency | null
  /** Whether it closes an access, which must not wait for the database. */
  isRevocation?(call: C): boolean
}

/** A route without an agency in its path: the operator's, such as creating agencies, or about the one who asks. */
export function portalRoute<const O extends PortalOperation>(
  operation: O,
  handle: Handle<PortalCall<O>>,
  repeated: Repeated<PortalCall<O>> = {},
): PortalRoute<O> {
  return {
    operation,
    serve: (dependencies) =>
      servedPortal(dependencies, operation, (request) => {
        const withKeeper = (keep: AnswerKeeper) => ({ ...request, keep })
        const agency = request.identity.kind === 'operator' ? null : request.identity.agency
        return answered(operation, agency, withKeeper, handle, repeated)
      }),
  }
}

/** A route of the agency in its path; without it, 404. */
export function agencyRoute<const O extends PortalOperation & { readonly path: `${typeof AGENCY_PATH}${string}` }>(
  operation: O,
  handle: Handle<AgencyCall<O>>,
  repeated: Repeated<AgencyCall<O>> = {},
): PortalRoute<O> {
  return {
    operation,
    serve: (dependencies) =>
      servedPortal(dependencies, operation, (request) => {
        const agency = agencyIn(request.ledger, request.path)
        if (agency === null) return notFound('agency')
        const withKeeper = (keep: AnswerKeeper) => ({ ...request, agency, keep })
        return answered(operation, agency, withKeeper, handle, repeated)
      }),
  }
}

function servedPortal<O extends PortalOperation>(
  dependencies: PortalDependencies,
  operation: O,
  handle: Handle<CheckedRequest<O>>,
): Serve {
  const { ledger, access, requestStats, onFailure } = dependencies
  const serving = { operation, surface: 'portal', requestStats, newId: ledger.newId, onFailure } as const
  const admission = new PortalAdmission(dependencies, operation)
  return served(serving, admission, (open, path, query, body) => {
    const { request } = open
    const { identity } = open.admission
    const caller = admission.callerOf(open)
    const stream = () => streamCall(serving, admission, open)
    const checked = { path, query, body } as Pick<CheckedRequest<O>, 'path' | 'query' | 'body'>
    return handle({ ledger, access, request, identity, caller, ...checked, stream })
  })
}

/** Reads and dry runs are answered at once; writes once per `Idempotency-Key`. */
function answered<C extends Omit<PortalCall<PortalOperation>, 'path' | 'query' | 'body'> & { readonly body: unknown }>(
  operation: PortalOperation,
  agency: Agency | null,
  withKeeper: (keep: AnswerKeeper) => C,
  handle: Handle<C>,
  repeated: Repeated<C>,
): Outcome | Promise<Outcome> {
  const call = withKeeper(NOTHING_KEPT)
  const isDryRun = operation.takesDryRun === true && asksForDryRun(call.request)
  if (!isWrite(operation) || isDryRun) return handle(call)
  const { shown, agency: replayedIn } = repeated
  const once: Once = {
    agency: repeated.scope?.(call) ?? agency,
    status: operation.answer.status,
    replay: shown === undefined ? undefined : (kept) => shown(call, kept),
    replayedIn: replayedIn === undefined ? undefined : () => replayedIn(call),
    isRevocation: repeated.isRevocation?.(call) ?? false,
  }
  const { agency: of, isRevocation } = once
  // A revocation is made wherever a reset puts what it revokes. Inside: a repeated request is first told what became of it.
  return writeOnce(call, once, (keep) =>
    of === null || isRevocation
      ? handle(withKeeper(keep))
      : call.ledger.commands.sandboxWrites.run(of, async () => handle(withKeeper(keep))),
  )
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
      return problem('EMAIL_TAKEN', `Another ${what} already has the e-mail address ${refusal.email}`, {
        email: refusal.email,
      })
    case 'LAST_OWNER':
      return problem('LAST_OWNER', PROBLEMS.LAST_OWNER.example.title, {})
    case 'LAST_PASSKEY':
      return problem('LAST_PASSKEY', PROBLEMS.LAST_PASSKEY.example.title, {})
    case 'SANDBOX_EXISTS':
      return problem('SANDBOX_EXISTS', `The agency already has a sandbox: ${refusal.slug}`, { slug: refusal.slug })
    case 'RATES_CHANGED':
      return problem('RATES_CHANGED', "The unit's rates have changed since you read them", {})
    case 'RESTRICTIONS_CHANGED':
      return problem('RESTRICTIONS_CHANGED', "The unit's restrictions have changed since you read them", {})
    case 'NOTES_CHANGED':
      return problem('NOTES_CHANGED', 'The notes have changed since you read them', { notes: refusal.notes })
    case 'VALIDATION':
      return invalid([{ field: refusal.field, message: refusal.message }])
    default:
      return unreachable(refusal)
  }
}
