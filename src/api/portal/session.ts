/**
 * Signing in to the page, and out. These two routes need no token in a header, but must come from the page, as every write with a
 * session does: otherwise another site could sign somebody in as somebody else.
 */
import { Type } from '@sinclair/typebox'
import type { CountedOutcome } from '../../accounts/refusal-counter.ts'
import { RevocationNotStoredError } from '../../accounts/store-retries.ts'
import type { TokenHolder } from '../../core/catalogue/catalogue.ts'
import { plainHeaders } from '../../http/answer.ts'
import { type BodyOf, type Operation, routeNameOf } from '../../http/operation.ts'
import { type Problem, problem } from '../../http/problems.ts'
import type { Open, RouteAdmission } from '../../http/route.ts'
import { type Route, served } from '../../http/route.ts'
import { ActorJson, actorJson } from './me.ts'
import { PASSKEY_NAME } from './own-passkeys.ts'
import { NewPasskeyJson, PasskeyAnswerJson } from './passkey-json.ts'
import { tooManyRequests, tooManyWrongTokens } from './portal-admission.ts'
import type { PortalDependencies, PortalLedger } from './portal-dependencies.ts'
import { crossOriginProblem, noSessionCookie, sessionCookie, sessionSecretIn } from './session-cookie.ts'
import { LINK_SECRET, SHOW_LINK, SIGN_IN_OPTIONS } from './sign-in.ts'

const TOKEN_CHARS_MAX = 1_024

const SIGN_IN = {
  id: 'signIn',
  method: 'POST',
  path: '/portal/session',
  tag: 'Access',
  summary: 'Sign in to the page',
  description:
    'Sets the session cookie, which stands for the token until it is unused for 12 hours or the token is no longer valid. A session ' +
    'of the same browser ends. Takes the header `X-Nightledger-Page: 1`, from the same origin only.',
  isOpen: true,
  isWrite: false,
  body: Type.Union(
    [
      Type.Object({
        token: Type.String({
          minLength: 1,
          maxLength: TOKEN_CHARS_MAX,
          description: 'An access token of the agency, or the PORTAL_TOKEN.',
        }),
      }),
      Type.Object({ passkey: PasskeyAnswerJson }),
      Type.Object({ link: LINK_SECRET, name: PASSKEY_NAME, passkey: NewPasskeyJson }),
      Type.Object({ link: LINK_SECRET }),
    ],
    {
      description:
        'A passkey; or an invitation, with the passkey that was made with it and a name for that; or a link that signs in; or a token.',
    },
  ),
  bodyExample: { token: `hp_live_${'x'.repeat(43)}` },
  answer: { status: 200, description: 'Who you are.', schema: Type.Object({ actor: ActorJson }) },
  problems: ['VALIDATION', 'UNAUTHORIZED', 'LINK_NOT_VALID', 'OIDC_ONLY', 'CROSS_ORIGIN', 'RATE_LIMITED', 'INTERNAL'],
} as const satisfies Operation

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
      served(servingOf(dependencies, SIGN_IN), FROM_THE_PAGE, async (open, _path, _query, body) => {
        const { ledger, access, throttledSignIn } = dependencies
        const { request, requestId } = open
        // Copied tokens often come with a blank or a line break.
        const way = body as BodyOf<typeof SIGN_IN>
        if (!('token' in way)) return WRONG_TOKEN
        const token = way.token.trim()
        const holder = access.admitToken(token)
        const over = holder === null ? null : access.take(holder)
        if (over !== null) {
          count(ledger, access.holderOfToken(token), 'RATE_LIMITED', requestId)
          return tooManyRequests(over)
        }
        const signedIn = await access.signIn(token)
        if (signedIn === null) {
          count(ledger, access.holderOfToken(token), 'UNAUTHORIZED', requestId)
          return refusal(throttledSignIn(request))
        }
        const { identity, secret } = signedIn
        if (identity.kind === 'access_token')
          await ledger.commands
            .auditSuccess(identity.agency, lineOf(identity.token.id, SIGN_IN, requestId))
            .catch((error: unknown) => {
              // Nobody is signed in without a line.
              access.sessions?.endBySecret(secret)
              throw error
            })
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
          await signOut(dependencies, secret, open.requestId).catch((cause: unknown) => {
            // The cookie stays, so that signing out can be repeated.
            throw new RevocationNotStoredError('session', { cause })
          })
        return answer(open, { actor: null }, noSessionCookie(request))
      }),
  },
]

/**
 * Ends the session at once, then stores that and leaves its line in the audit trail of the agency.
 * @throws what the database rejects with. The line is then missing if the session had to be ended again.
 */
async function signOut({ access, ledger }: PortalDependencies, secret: string, requestId: string): Promise<void> {
  const { sessions } = access
  if (sessions === null) return
  const holder = sessions.find(secret)?.holder
  const ended = sessions.endStored(secret)
  const agency = holder?.kind === 'access_token' ? ledger.catalogue.agencyById(holder.agencyId) : null
  const isLined = holder?.kind === 'access_token' && agency !== null
  await Promise.all([
    ended,
    isLined && ledger.commands.auditSuccess(agency, lineOf(holder.tokenId, SIGN_OUT, requestId)),
  ])
}

/** Counts a refused sign-in in the audit trail of the agency, if it is known whose token it is. */
function count(ledger: PortalLedger, holder: TokenHolder | null, code: CountedOutcome, requestId: string): void {
  if (holder !== null)
    ledger.refusals.count({ agencyId: holder.agency.id, code, ...lineOf(holder.token.id, SIGN_IN, requestId) })
}

/** Who signed in or out, as the audit trail names it. */
function lineOf(tokenId: string, operation: Operation, requestId: string) {
  return { actor: { kind: 'access_token', id: tokenId }, route: routeNameOf(operation), requestId } as const
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
  return retryAfterS === null ? WRONG_TOKEN : tooManyWrongTokens(retryAfterS)
}
