/**
 * Admission to the portal: the operator, or a person or token of the agency in the path whose role suffices. A refused write leaves its line
 * in the audit trail of their agency, and for the operator in that of the path.
 */
import { type PortalAccess, type PortalIdentity, roleOf } from '../../accounts/portal-access.ts'
import type { RefusedWrite } from '../../accounts/refusal-counter.ts'
import type { OverBudget } from '../../accounts/token-rate-limit.ts'
import { WRONG_TOKENS_PER_MINUTE } from '../../accounts/wrong-token-throttle.ts'
import type { Agency } from '../../core/catalogue/agency.ts'
import { type RequiredRole, suffices } from '../../core/catalogue/agency.ts'
import type { Member } from '../../core/catalogue/catalogue.ts'
import type { Actor, Caller } from '../../core/journal/record.ts'
import type { Tagged } from '../../http/answer.ts'
import { plainHeaders, plainTaggedAnswer } from '../../http/answer.ts'
import { isWrite, pathParameters, routeNameOf } from '../../http/operation.ts'
import type { Failure } from '../../http/problem-of.ts'
import { notFound, type Problem, problem } from '../../http/problems.ts'
import type { PathValues } from '../../http/read-request.ts'
import { BODY_BYTES_MAX, isIdShaped } from '../../http/read-request.ts'
import { decodeStrictly, targetOf } from '../../http/request.ts'
import type { Open, RouteAdmission } from '../../http/route.ts'
import { traceparentIn } from '../../lib/traceparent.ts'
import type { PortalDependencies, PortalLedger } from './portal-dependencies.ts'
import type { PortalOperation } from './portal-operation.ts'
import { crossOriginProblem, isAutomatic, isSafe, sessionSecretIn } from './session-cookie.ts'

const UNAUTHORIZED = problem(
  'UNAUTHORIZED',
  'Missing or invalid portal token: send the header Authorization: Bearer <TOKEN>, with an access token of the agency or the PORTAL_TOKEN',
  {},
)

/** A request with a valid token, or with the session of one. `refusal`: why it is nevertheless not served. */
interface PortalAdmitted {
  readonly identity: PortalIdentity
  readonly refusal: Problem | null
}

/** The request fields of an audit line that counts attempts. */
type Identified = Pick<Open<PortalAdmitted>, 'request' | 'requestId'>

export class PortalAdmission implements RouteAdmission<PortalAdmitted> {
  readonly unauthorized = UNAUTHORIZED
  readonly #ledger: PortalLedger
  readonly #access: PortalAccess
  readonly #throttled: PortalDependencies['throttled']
  readonly #route: string
  readonly #role: RequiredRole
  readonly #isWrite: boolean
  readonly #isAutomatic: boolean
  /** Where the agency's slug is among the segments of the path; null when the route belongs to no agency. */
  readonly #agencySegment: number | null

  constructor({ ledger, access, throttled }: PortalDependencies, operation: PortalOperation) {
    this.#ledger = ledger
    this.#access = access
    this.#throttled = throttled
    this.#route = routeNameOf(operation)
    this.#role = operation.role
    this.#isWrite = isWrite(operation)
    this.#isAutomatic = operation.isAutomatic ?? false
    this.#agencySegment = pathParameters(operation.path).find(({ name }) => name === 'agencySlug')?.segment ?? null
  }

  admit(request: Request, requestId: string): PortalAdmitted | null {
    const authorization = request.headers.get('authorization')
    const identity = authorization === null ? this.#ofSession(request) : this.#access.admit(authorization)
    if (identity !== null) {
      const over = this.#access.take(identity, bodyBytesOf(request))
      return { identity, refusal: over === null ? this.#refusalOf(identity, request) : tooManyRequests(over) }
    }
    // A token that is revoked or expired still belongs to its agency: the audit trail shows that someone used it.
    const holder = this.#isWrite ? this.#access.holderOf(authorization) : null
    if (holder !== null) this.#count(holder, 'UNAUTHORIZED', { request, requestId })
    return null
  }

  refused(request: Request): Problem {
    const retryAfterS = this.#throttled(request)
    return retryAfterS === null ? UNAUTHORIZED : tooManyWrong('token', retryAfterS)
  }

  readmit(open: Open<PortalAdmitted>): PortalAdmitted | null {
    const { identity, refusal } = open.admission
    const current = this.#access.readmit(identity)
    if (current !== null) return { identity: current, refusal }
    if (this.#isWrite && identity.kind !== 'operator') this.#count(identity, 'UNAUTHORIZED', open)
    return null
  }

  refusalOf({ refusal }: PortalAdmitted): Problem | null {
    return refusal
  }

  takeAnswer({ admission: { identity } }: Open<PortalAdmitted>, chars: number): Promise<void> | null {
    return this.#access.takeAnswer(identity, chars)
  }

  answer({ requestId }: Open<PortalAdmitted>, body: string, status: number): Response {
    return new Response(body, { status, headers: plainHeaders(requestId) })
  }

  taggedAnswer(
    { requestId }: Open<PortalAdmitted>,
    { tag, body }: Tagged,
    { status, isConditional }: { status: number; isConditional: boolean },
  ): Response {
    if (body === null) return plainTaggedAnswer({ tag, body, kind: 'unchanged' }, { status: 304, requestId })
    return plainTaggedAnswer({ tag, body, kind: isConditional ? 'conditional' : 'tagged' }, { status, requestId })
  }

  headersOf({ requestId }: Open<PortalAdmitted>): Headers {
    return plainHeaders(requestId)
  }

  recordRefusal(open: Open<PortalAdmitted>, { code }: Problem, path: PathValues): Promise<void> | null {
    const { identity } = open.admission
    // What is over a limit has no line of its own, and other refusals have so many: lines are kept for good.
    if (identity.kind !== 'operator' && (code === 'RATE_LIMITED' || !this.#access.takeLine(identity))) {
      this.#count(identity, code, open)
      return null
    }
    if (code === 'RATE_LIMITED') return null
    const agency = identity.kind === 'operator' ? agencyIn(this.#ledger, path) : identity.agency
    if (agency === null) return null
    const { bookingId } = path
    const knownId = bookingId !== undefined && isIdShaped(bookingId) ? bookingId : null
    return this.#ledger.commands.auditRefusal(agency, this.callerOf(open), code, knownId)
  }

  /** Failures are counted per person or token. For the operator, whose requests belong to no agency, they are not counted. */
  recordFailure(open: Open<PortalAdmitted>, outcome: Failure['outcome']): void {
    const { identity } = open.admission
    if (identity.kind !== 'operator') this.#count(identity, outcome, open)
  }

  callerOf({ admission: { identity }, requestId, request }: Open<PortalAdmitted>): Caller {
    return { actor: actorOf(identity), route: this.#route, requestId, traceparent: traceparentIn(request) }
  }

  /**
   * For people and tokens, a path of another agency is refused first, exactly as one of an agency that does not exist: which of the two it is
   * is not even looked up.
   */
  #refusalOf(identity: PortalIdentity, request: Request): Problem | null {
    if (identity.session !== null && !isSafe(request)) {
      const crossOrigin = crossOriginProblem(request)
      if (crossOrigin !== null) return crossOrigin
    }
    if (identity.kind !== 'operator' && this.#agencySegment !== null) {
      const segment = targetOf(request.url).path.split('/')[this.#agencySegment] ?? ''
      const slug = decodeStrictly(segment)
      if (slug !== identity.agency.slug && !this.#isOwnSandbox(identity, slug)) return NO_SUCH_AGENCY
    }
    const role = roleOf(identity)
    return suffices(role, this.#role) ? null : roleMissing(this.#role, role)
  }

  /** Owners of a live agency open its sandbox too. */
  #isOwnSandbox({ member, agency }: Member, slug: string | null): boolean {
    if (slug === null || !suffices(member.role, 'owner')) return false
    return this.#ledger.catalogue.agencyBySlug(slug)?.sandboxOf === agency.id
  }

  #ofSession(request: Request): PortalIdentity | null {
    const secret = cookieOf(request)
    if (secret === null) return null
    return this.#access.admitSession(secret, { isUse: !this.#isAutomatic && !isAutomatic(request) })
  }

  #count({ kind, member, agency }: Member, code: RefusedWrite['code'], { request, requestId }: Identified): void {
    const actor: Actor = { kind, id: member.id }
    const traceparent = traceparentIn(request)
    this.#ledger.refusals.count({ agencyId: agency.id, actor, code, route: this.#route, requestId, traceparent })
  }
}

/** The secret that a request comes with; null when it has none, or a token, which takes precedence. */
function cookieOf(request: Request): string | null {
  return request.headers.has('authorization') ? null : sessionSecretIn(request)
}

/** The answer to a wrong token, passkey or link from an address that has sent many, or for a person for whom many were sent. */
export function tooManyWrong(what: 'token' | 'passkey' | 'link', retryAfterS: number): Problem {
  const name = what === 'token' ? 'portal token' : what
  const whose = what === 'passkey' ? 'from your address or for the same person' : 'from your address'
  // From an address that is throttled, a valid passkey is refused too.
  const next = what === 'passkey' ? 'wait' : 'send a valid one, or wait'
  const title = `Invalid ${name}, after ${WRONG_TOKENS_PER_MINUTE} others ${whose} within a minute: ${next} ${retryAfterS} s`
  return problem('RATE_LIMITED', title, {}, { retryAfterS })
}

/** The answer to a valid token that has used up its minute, or its agency's, and to a link that is shown over and over. */
export function tooManyRequests({ limit, of, retryAfterS }: OverBudget): Problem {
  const title = `Rate limit of ${limit} requests per minute of ${of === 'person' || of === 'link' ? 'a' : 'an'} ${of} exceeded: retry in ${retryAfterS} s`
  return problem('RATE_LIMITED', title, {}, { retryAfterS })
}

/** Of a body that comes in pieces nobody knows the length: the longest is assumed. */
function bodyBytesOf({ headers }: Request): number {
  if (headers.has('transfer-encoding')) return BODY_BYTES_MAX
  const declared = Number(headers.get('content-length') ?? 0)
  return declared >= 0 ? Math.min(declared, BODY_BYTES_MAX) : 0
}

const NO_SUCH_AGENCY = notFound('agency')

function roleMissing(needed: RequiredRole, own: RequiredRole): Problem {
  const title =
    needed === 'operator'
      ? 'Only the operator can do this'
      : `This needs the role ${nameOf(needed)}${needed === 'owner' ? '' : ' or a higher one'}; yours is ${nameOf(own)}`
  return problem('ROLE_MISSING', title, { role: needed })
}

function nameOf(role: RequiredRole): string {
  return role.charAt(0).toUpperCase() + role.slice(1)
}

function actorOf(identity: PortalIdentity): Actor {
  return identity.kind === 'operator' ? { kind: 'portal', id: null } : { kind: identity.kind, id: identity.member.id }
}

export function agencyIn({ catalogue }: PortalLedger, { agencySlug }: PathValues): Agency | null {
  return agencySlug === undefined ? null : catalogue.agencyBySlug(agencySlug)
}
