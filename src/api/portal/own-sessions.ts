/** The sessions of the person, or of the token, that asks. */
import { type Static, Type } from '@sinclair/typebox'
import { placeOf } from '../../accounts/client-address.ts'
import type { PortalIdentity } from '../../accounts/portal-access.ts'
import type { PortalSessions, Session } from '../../accounts/portal-sessions.ts'
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
type Ended = ReturnType<PortalSessions['unstoredEndsOf']>

export const OWN_SESSIONS = [
  portalRoute(LIST_SESSIONS, async (call) => sessionsText(call, await sessionsOf(call))),
  portalRoute(END_OTHER_SESSIONS, async (call) => {
    const own = call.identity.session
    return store(call, await end(call, ({ sha256 }) => sha256 !== own?.sha256))
  }),
  portalRoute(END_SESSION, async (call) => {
    const ended = await end(call, ({ id }) => id === call.path.sessionId)
    return ended.length === 0 ? notFound('session') : store(call, ended)
  }),
]

/** The last used first. Of the operator, any node may have opened or ended one. */
async function sessionsOf(call: Call): Promise<readonly Session[]> {
  const { ledger, access, identity } = call
  const { sessions } = access
  if (sessions === null) return []
  if (identity.kind === 'operator') await sessions.adoptFrom(() => ledger.operatorSessions())
  return sessions.like(ownerOf(identity))
}

/**
 * Ends sessions: at once those that are known here, which must not wait for the database, then those that only it knows of.
 * @returns what is to be stored of that, with what ended before and is not stored yet
 */
async function end(call: Call, isToEnd: (session: Ended[number]) => boolean): Promise<Ended> {
  const known = endKnown(call, isToEnd)
  await sessionsOf(call).catch((cause: unknown) => {
    throw known.length === 0 ? cause : new RevocationNotStoredError('other_session', { cause })
  })
  return [...known, ...endKnown(call, isToEnd)]
}

function endKnown({ access: { sessions }, identity }: Call, isToEnd: (session: Ended[number]) => boolean): Ended {
  if (sessions === null) return []
  const owner = ownerOf(identity)
  for (const session of sessions.like(owner)) if (isToEnd(session)) sessions.end(session)
  return sessions.unstoredEndsOf(owner).filter(isToEnd)
}

/** Stores that sessions have ended, and leaves the line of the request in the audit trail. */
async function store(call: Call, ended: Ended): Promise<string> {
  const { ledger, access, identity, caller } = call
  const stored = access.sessions?.storeEndsOf(ended)
  const lined = identity.kind === 'operator' ? null : ledger.commands.auditSuccess(identity.agency, caller)
  await Promise.all([stored, lined]).catch((cause: unknown) => {
    throw new RevocationNotStoredError('other_session', { cause })
  })
  return sessionsText(call, await sessionsOf(call))
}

function ownerOf(identity: PortalIdentity) {
  return identity.kind === 'operator' ? identity : { kind: identity.kind, id: identity.member.id }
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
