/** The sessions of the person, or of the token, that asks. */
import { type Static, Type } from '@sinclair/typebox'
import { placeOf } from '../../accounts/client-address.ts'
import type { Session } from '../../accounts/portal-sessions.ts'
import { RevocationNotStoredError } from '../../accounts/store-retries.ts'
import { timestampOf } from '../../http/json/booking-json.ts'
import { notFound } from '../../http/problems.ts'
import type { PortalOperation } from './portal-operation.ts'
import { type PortalCall, portalRoute } from './portal-route.ts'

const SessionJson = Type.Object(
  {
    id: Type.String(),
    device: Type.String({ description: 'The `User-Agent` that signed in, cut to 200 characters.' }),
    place: Type.String({
      description: 'Where the sign-in came from: `this machine`, `the local network`, or the address.',
    }),
    createdAt: Type.String({ format: 'date-time' }),
    lastSeenAt: Type.String({ format: 'date-time', description: 'Accurate to a few minutes.' }),
    isThis: Type.Boolean({ description: 'Whether it is the session of this request.' }),
  },
  { $id: 'Session' },
)
const LEFT = {
  status: 200,
  description: 'The sessions that are left.',
  schema: Type.Object({ sessions: Type.Array(SessionJson) }),
} as const

const LIST_SESSIONS = {
  id: 'listSessions',
  role: 'viewer',
  method: 'GET',
  path: '/portal/v1/me/sessions',
  tag: 'Access',
  summary: 'List your sessions, the last used first',
  description: 'Those of the person or the token that sends the request; for the operator, all of the operator’s.',
  answer: { ...LEFT, description: 'Your sessions.' },
} as const satisfies PortalOperation

const END_OTHER_SESSIONS = {
  id: 'endOtherSessions',
  role: 'viewer',
  method: 'DELETE',
  path: '/portal/v1/me/sessions',
  tag: 'Access',
  summary: 'End all your sessions but this one',
  isWrite: false,
  answer: LEFT,
  problems: ['CROSS_ORIGIN'],
} as const satisfies PortalOperation

const END_SESSION = {
  id: 'endSession',
  role: 'viewer',
  method: 'DELETE',
  path: '/portal/v1/me/sessions/{sessionId}',
  tag: 'Access',
  summary: 'End one of your sessions',
  isWrite: false,
  answer: LEFT,
  problems: ['CROSS_ORIGIN'],
} as const satisfies PortalOperation

type Call = Pick<PortalCall<PortalOperation>, 'ledger' | 'access' | 'identity' | 'caller'>

export const OWN_SESSIONS = [
  portalRoute(LIST_SESSIONS, async (call) => sessionsText(call, await sessionsOf(call))),
  portalRoute(END_OTHER_SESSIONS, async (call) => {
    const own = call.identity.session
    return end(
      call,
      (await sessionsOf(call)).filter(({ sha256 }) => sha256 !== own?.sha256),
    )
  }),
  portalRoute(END_SESSION, async (call) => {
    const found = (await sessionsOf(call)).filter(({ id }) => id === call.path.sessionId)
    return found.length === 0 ? notFound('session') : end(call, found)
  }),
]

/** The last used first. Of the operator, any node may have opened or ended one. */
async function sessionsOf({ ledger, access, identity }: Call): Promise<readonly Session[]> {
  const { sessions } = access
  if (sessions === null) return []
  if (identity.kind === 'operator') {
    sessions.adopt(await ledger.operatorSessions())
    return sessions.like({ kind: 'operator' })
  }
  return sessions.like({ kind: identity.kind, id: identity.member.id })
}

/** Ends sessions at once, then stores that, and leaves its line in the audit trail. */
async function end(call: Call, ended: readonly Session[]): Promise<string> {
  const { ledger, access, identity, caller } = call
  const stored = access.sessions?.endAllStored(ended)
  const lined = identity.kind === 'operator' ? null : ledger.commands.auditSuccess(identity.agency, caller)
  await Promise.all([stored, lined]).catch((cause: unknown) => {
    throw new RevocationNotStoredError('session', { cause })
  })
  return sessionsText(call, await sessionsOf(call))
}

function sessionsText({ identity }: Call, sessions: readonly Session[]): string {
  const own = identity.session?.sha256
  return JSON.stringify({ sessions: sessions.map((session) => sessionJson(session, session.sha256 === own)) })
}

function sessionJson(session: Session, isThis: boolean): Static<typeof SessionJson> {
  const { id, device, address, createdAt, seenAt } = session
  return {
    id,
    device,
    place: placeOf(address),
    createdAt: timestampOf(createdAt),
    lastSeenAt: timestampOf(seenAt),
    isThis,
  }
}
