/**
 * Signing in to the page, and out, and what somebody asks before. These routes need no token in a header, but must come from the page, as
 * every write with a session does: otherwise another site could sign somebody in as somebody else.
 */
import { Type } from '@sinclair/typebox'
import { idsInHandle, type PasskeyAnswer } from '../../accounts/passkeys.ts'
import { type FoundLink, NOT_VERIFIED, type PasskeyDraft } from '../../accounts/person-sign-in.ts'
import type { PortalIdentity, SignedIn } from '../../accounts/portal-access.ts'
import type { Session, SessionOrigin } from '../../accounts/portal-sessions.ts'
import type { CountedOutcome } from '../../accounts/refusal-counter.ts'
import { RevocationNotStoredError } from '../../accounts/store-retries.ts'
import type { Member } from '../../core/catalogue/catalogue.ts'
import { plainHeaders } from '../../http/answer.ts'
import { timestampOf } from '../../http/json/booking-json.ts'
import { type BodyOf, type Operation, routeNameOf } from '../../http/operation.ts'
import { PROBLEMS } from '../../http/problem-table.ts'
import { invalid, invalidField, type Problem, problem } from '../../http/problems.ts'
import type { Open, RouteAdmission } from '../../http/route.ts'
import { type Route, served } from '../../http/route.ts'
import { EXPECTED, validator } from '../../http/validator.ts'
import { traceparentIn } from '../../lib/traceparent.ts'
import { ActorJson, actorJson } from './me.ts'
import { PASSKEY_NAME } from './own-passkeys.ts'
import { NewPasskeyJson, PasskeyAnswerJson } from './passkey-json.ts'
import { tooManyRequests, tooManyWrong } from './portal-admission.ts'
import type { PortalDependencies } from './portal-dependencies.ts'
import { crossOriginProblem, linkBrowserIn, noSessionCookie, sessionCookie, sessionSecretIn } from './session-cookie.ts'
import { LINK_SECRET, SHOW_LINK, SIGN_IN_OPTIONS } from './sign-in.ts'

const TOKEN_CHARS_MAX = 1_024

/** What somebody shows. */
const SHOWN = {
  token: Type.Object({
    token: Type.String({
      minLength: 1,
      maxLength: TOKEN_CHARS_MAX,
      description: 'An access token of the agency, or the PORTAL_TOKEN.',
    }),
  }),
  passkey: Type.Object({ passkey: PasskeyAnswerJson }),
  invitation: Type.Object({ link: LINK_SECRET, name: PASSKEY_NAME, passkey: NewPasskeyJson }),
  link: Type.Object({ link: LINK_SECRET }),
}
const IS = {
  token: validator(SHOWN.token, 'body'),
  passkey: validator(SHOWN.passkey, 'body'),
  invitation: validator(SHOWN.invitation, 'body'),
  link: validator(SHOWN.link, 'body'),
}
const ANYTHING = 'an object with a token, a passkey or a link'

const SIGN_IN = {
  id: 'signIn',
  method: 'POST',
  path: '/portal/session',
  tag: 'Access',
  summary: 'Sign in to the page',
  description:
    'Sets the session cookie, which stands for the person or the token until it is unused for 12 hours, or they are no longer valid. A ' +
    'session of the same browser ends. Takes the header `X-Nightledger-Page: 1`, from the same origin only.',
  isOpen: true,
  isWrite: false,
  body: Type.Union([SHOWN.token, SHOWN.passkey, SHOWN.invitation, SHOWN.link], {
    description:
      'A passkey; or an invitation, with the passkey that was made with it and a name for that; or a link that signs in; or a token.',
  }),
  bodyExample: { token: `hp_live_${'x'.repeat(43)}` },
  answer: { status: 200, description: 'Who you are.', schema: Type.Object({ actor: ActorJson }) },
  problems: ['VALIDATION', 'UNAUTHORIZED', 'LINK_NOT_VALID', 'OIDC_ONLY', 'CROSS_ORIGIN', 'RATE_LIMITED', 'INTERNAL'],
} as const satisfies Operation

/** What is shown is checked when it is known what it is: several may be in one body. */
const SIGN_IN_BY_ANYTHING: Operation = { ...SIGN_IN, body: Type.Object({}, { [EXPECTED]: ANYTHING }) }

const SIGN_OUT = {
  id: 'signOut',
  method: 'DELETE',
  path: '/portal/session',
  tag: 'Access',
  summary: 'Sign out of the page',
  description:
    'Ends the session of the cookie immediately and permanently. Without one, nothing happens. Takes the headers of signing in.',
  isOpen: true,
  isWrite: false,
  answer: { status: 200, description: 'Nobody.', schema: Type.Object({ actor: Type.Null() }) },
  problems: ['CROSS_ORIGIN', 'INTERNAL'],
} as const satisfies Operation

export const SESSION_OPERATIONS = [SIGN_IN, SIGN_OUT, SHOW_LINK, SIGN_IN_OPTIONS] as const

const WRONG_TOKEN = problem('UNAUTHORIZED', 'This token is not valid: it may be mistyped, revoked or expired', {})
const WRONG_PASSKEY = problem(
  'UNAUTHORIZED',
  'This passkey was not accepted: it may have been removed. Try again, or ask an owner of your agency for a link',
  {},
)
const LINK_NOT_VALID = problem('LINK_NOT_VALID', PROBLEMS.LINK_NOT_VALID.example.title, {})
const OIDC_ONLY = problem('OIDC_ONLY', PROBLEMS.OIDC_ONLY.example.title, {})
const PASSKEY_MISSING = invalidField('passkey', 'is required with an invitation')

/** Lets in whatever comes from the page. */
const FROM_THE_PAGE: RouteAdmission<object> = {
  unauthorized: WRONG_TOKEN,
  admit: () => ({}),
  refused: () => WRONG_TOKEN,
  readmit: ({ admission }) => admission,
  refusalOf: (_, request) => crossOriginProblem(request),
  answer: ({ requestId }, body, status) => new Response(body, { status, headers: plainHeaders(requestId) }),
  headersOf: ({ requestId }) => plainHeaders(requestId),
  recordRefusal: () => null,
  recordFailure: () => {},
}

export const SESSION: readonly Route<PortalDependencies>[] = [
  {
    operation: SIGN_IN,
    serve: (dependencies) =>
      served(servingOf(dependencies, SIGN_IN_BY_ANYTHING), FROM_THE_PAGE, async (open, _path, _query, body) => {
        const { access } = dependencies
        const { request } = open
        const signedIn = await signInBy(body as object, new SignIn(dependencies, open))
        if (!('identity' in signedIn)) return signedIn
        const { identity, secret } = signedIn
        const before = sessionSecretIn(request)
        if (before !== null) access.sessions?.endBySecret(before)
        return answer(open, { actor: actorJson(identity) }, sessionCookie(request, secret))
      }),
  },
  {
    operation: SIGN_OUT,
    serve: (dependencies) =>
      served(servingOf(dependencies, SIGN_OUT), FROM_THE_PAGE, async (open) => {
        const { request } = open
        const secret = sessionSecretIn(request)
        if (secret !== null)
          await signOut(dependencies, secret, open).catch((cause: unknown) => {
            // The cookie stays, so that signing out can be repeated.
            throw new RevocationNotStoredError('session', { cause })
          })
        return answer(open, { actor: null }, noSessionCookie(request))
      }),
  },
  {
    operation: SHOW_LINK,
    serve: (dependencies) =>
      served(servingOf(dependencies, SHOW_LINK), FROM_THE_PAGE, async ({ request }, _path, _query, body) => {
        const { ledger } = dependencies
        const found = await foundLink((body as BodyOf<typeof SHOW_LINK>).link, { dependencies, request })
        if (!('link' in found)) return found
        const { link, member } = found
        const { kind, expiresAt } = link
        if (kind === 'invitation' && ledger.provider?.isOnly === true) return OIDC_ONLY
        return JSON.stringify({
          kind,
          agency: { name: member.agency.name, slug: member.agency.slug },
          person: { name: member.member.name, role: member.member.role },
          expiresAt: timestampOf(expiresAt),
          // Those that the person has end with the invitation.
          options: kind === 'invitation' ? ledger.passkeys.creationOptions(member, []) : null,
        })
      }),
  },
  {
    operation: SIGN_IN_OPTIONS,
    serve: (dependencies) =>
      served(servingOf(dependencies, SIGN_IN_OPTIONS), FROM_THE_PAGE, () => {
        const { ledger, access } = dependencies
        const { passkeys, provider } = ledger
        const oidc = provider === null ? null : { name: provider.name }
        const [only, operator] = [provider?.isOnly ?? false, access.admitsOperator]
        return JSON.stringify({ options: passkeys.requestOptions(), oidc, only, operator })
      }),
  },
]

/** One request to sign in. */
class SignIn {
  readonly dependencies: PortalDependencies
  readonly request: Request
  readonly requestId: string

  constructor(dependencies: PortalDependencies, { request, requestId }: Open<object>) {
    this.dependencies = dependencies
    this.request = request
    this.requestId = requestId
  }

  from(way: SessionOrigin['way']): SessionOrigin {
    const { request } = this
    return { device: request.headers.get('user-agent') ?? '', address: this.dependencies.addressOf(request), way }
  }

  /** Takes the request from the budgets of the member. Null: it is within them. */
  over(member: PortalIdentity | Member): Problem | null {
    const { access } = this.dependencies
    const over = access.take('session' in member ? member : { ...member, session: null })
    if (over === null) return null
    if (member.kind !== 'operator') this.count(member, 'RATE_LIMITED')
    return tooManyRequests(over)
  }

  callerFor({ kind, member }: Member) {
    const { requestId, request } = this
    const traceparent = traceparentIn(request)
    return { actor: { kind, id: member.id }, route: routeNameOf(SIGN_IN), requestId, traceparent }
  }

  /** Counts a refused sign-in in the audit trail of the agency. */
  count(member: Member, code: CountedOutcome | 'PASSKEY_CLONED'): void {
    const { refusals } = this.dependencies.ledger
    refusals.count({ agencyId: member.agency.id, code, ...this.callerFor(member) })
  }
}

/** Of several, in the same order as in src/cluster/forward/request-home.ts. */
function signInBy(body: object, signIn: SignIn): Promise<SignedIn | Problem> | Problem {
  const isOnly = signIn.dependencies.ledger.provider?.isOnly === true
  if ('token' in body) return IS.token.passes(body) ? byToken(body.token, signIn) : invalid(IS.token.faultsOf(body))
  if ('link' in body && !('passkey' in body || 'name' in body))
    return IS.link.passes(body) ? byLink(body.link, signIn) : invalid(IS.link.faultsOf(body))
  if ('link' in body) {
    if (!IS.invitation.passes(body)) return invalid(IS.invitation.faultsOf(body))
    return isOnly ? OIDC_ONLY : byInvitation(body, signIn)
  }
  if (!('passkey' in body)) return invalidField('body', `must be ${ANYTHING}`)
  if (!IS.passkey.passes(body)) return invalid(IS.passkey.faultsOf(body))
  return isOnly ? OIDC_ONLY : byPasskey(body.passkey, signIn)
}

async function byToken(given: string, signIn: SignIn): Promise<SignedIn | Problem> {
  const { ledger, access, throttledSignIn } = signIn.dependencies
  // Copied tokens often come with a blank or a line break.
  const token = given.trim()
  const found = access.admitToken(token)
  if (found !== null && found.kind !== 'operator' && ledger.provider?.isOnly === true) return OIDC_ONLY
  const over = found === null ? null : signIn.over(found)
  if (over !== null) return over
  const signedIn = await access.signIn(token, signIn.from('token'))
  if (signedIn === null) {
    const holder = access.holderOfToken(token)
    if (holder !== null) signIn.count(holder, 'UNAUTHORIZED')
    return refusal(throttledSignIn(signIn.request, null))
  }
  const { identity, secret } = signedIn
  if (identity.kind !== 'operator')
    await ledger.commands.auditSuccess(identity.agency, signIn.callerFor(identity)).catch((error: unknown) => {
      // Nobody is signed in without a line.
      access.sessions?.endBySecret(secret)
      throw error
    })
  return signedIn
}

async function byPasskey(passkey: PasskeyAnswer, signIn: SignIn): Promise<SignedIn | Problem> {
  const { ledger, access, isFlooding, throttledSignIn } = signIn.dependencies
  const claim = idsInHandle(passkey.response.userHandle)?.personId ?? null
  const wrong = () => wrongPasskey(throttledSignIn(signIn.request, claim))
  const member = ledger.personSignIn.claimedBy(passkey)
  // Anybody can claim to be anybody: an address that does so often takes no reads from the agency.
  if (member === null || isFlooding(signIn.request)) return wrong()
  const verified = await ledger.personSignIn.verify(member, passkey)
  if (verified === null || verified === 'cloned') {
    signIn.count(member, verified === null ? 'UNAUTHORIZED' : 'PASSKEY_CLONED')
    return wrong()
  }
  // Not before: otherwise somebody else could use up the budgets of the person and the agency.
  const over = signIn.over(member)
  if (over !== null) return over
  const use = () => ledger.personSignIn.usePasskey(verified, signIn.callerFor(member))
  return (await access.signInPerson(member, signIn.from('passkey'), use)) ?? wrong()
}

async function byLink(secret: string, signIn: SignIn): Promise<SignedIn | Problem> {
  const { ledger, access } = signIn.dependencies
  const found = await foundLink(secret, signIn)
  if (!('link' in found)) return found
  if (found.link.kind !== 'sign_in') return PASSKEY_MISSING
  const over = signIn.over(found.member)
  if (over !== null) return over
  const use = () => ledger.personSignIn.useLink(found, signIn.callerFor(found.member))
  return (await access.signInPerson(found.member, signIn.from('link'), use)) ?? LINK_NOT_VALID
}

async function byInvitation(draft: PasskeyDraft & { readonly link: string }, signIn: SignIn) {
  const { ledger, access, throttledSignIn } = signIn.dependencies
  const found = await foundLink(draft.link, signIn)
  if (!('link' in found)) return found
  if (found.link.kind !== 'invitation') return wrongLink(throttledSignIn(signIn.request, null))
  const over = signIn.over(found.member)
  if (over !== null) return over
  const passkey = await ledger.personSignIn.verifyNew(found, draft)
  if (passkey === null) return invalid([NOT_VERIFIED])
  const use = (session: Session) =>
    ledger.personSignIn.useInvitation(found, passkey, session, signIn.callerFor(found.member))
  return (await access.signInPerson(found.member, signIn.from('passkey'), use)) ?? LINK_NOT_VALID
}

/** Counts a link that is not valid as a wrong one of the address. */
async function foundLink(
  secret: string,
  { dependencies: { ledger, throttledSignIn }, request }: Pick<SignIn, 'dependencies' | 'request'>,
): Promise<FoundLink | Problem> {
  const found = await ledger.personSignIn.findLink(secret, linkBrowserIn(request))
  if (found === null) return wrongLink(throttledSignIn(request, null))
  return 'link' in found ? found : tooManyRequests(found)
}

/**
 * Ends the session at once, then stores that and leaves its line in the audit trail of the agency.
 * @throws what the database rejects with. The line is then missing if the session had to be ended again.
 */
async function signOut(
  { access, ledger }: PortalDependencies,
  secret: string,
  { request, requestId }: Open<object>,
): Promise<void> {
  const { sessions } = access
  if (sessions === null) return
  const holder = sessions.find(secret)?.holder
  const ended = sessions.endStored(secret)
  if (holder === undefined || holder.kind === 'operator') return ended
  const agency = ledger.catalogue.agencyById(holder.agencyId)
  const actor = { kind: holder.kind, id: holder.id }
  const caller = { actor, route: routeNameOf(SIGN_OUT), requestId, traceparent: traceparentIn(request) }
  await Promise.all([ended, agency !== null && ledger.commands.auditSuccess(agency, caller)])
}

function servingOf({ ledger, requestStats, onFailure }: PortalDependencies, operation: Operation) {
  return { operation, surface: 'portal', requestStats, newId: ledger.newId, onFailure } as const
}

function answer({ requestId }: Open<object>, body: object, setCookie: string): Response {
  const headers = plainHeaders(requestId)
  headers.set('Set-Cookie', setCookie)
  return new Response(JSON.stringify(body), { headers })
}

function refusal(retryAfterS: number | null): Problem {
  return retryAfterS === null ? WRONG_TOKEN : tooManyWrong('token', retryAfterS)
}

/** Does not tell a person who has no such passkey from one who does not exist. */
function wrongPasskey(retryAfterS: number | null): Problem {
  return retryAfterS === null ? WRONG_PASSKEY : tooManyWrong('passkey', retryAfterS)
}

function wrongLink(retryAfterS: number | null): Problem {
  return retryAfterS === null ? LINK_NOT_VALID : tooManyWrong('link', retryAfterS)
}
