/** The sessions of the person, or of the token, that asks. */
import { Type } from '@sinclair/typebox'
import { notFound } from '../../http/problems.ts'
import type { PortalOperation } from './portal-operation.ts'
import { portalRoute } from './portal-route.ts'

const SessionJson = Type.Object(
  {
    id: Type.String(),
    device: Type.String({ description: 'The `User-Agent` that signed in, cut to 200 characters.' }),
    place: Type.String({ description: 'Where from: `this machine`, `the local network`, or the address.' }),
    createdAt: Type.String({ format: 'date-time' }),
    lastSeenAt: Type.String({ format: 'date-time', description: 'To some minutes.' }),
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
  description: 'Those of the same person or, for a token, of the same token.',
  answer: { ...LEFT, description: 'Your sessions.' },
} as const satisfies PortalOperation

const END_OTHER_SESSIONS = {
  id: 'endOtherSessions',
  role: 'viewer',
  method: 'DELETE',
  path: '/portal/v1/me/sessions',
  tag: 'Access',
  summary: 'End all your sessions but this one',
  answer: LEFT,
} as const satisfies PortalOperation

const END_SESSION = {
  id: 'endSession',
  role: 'viewer',
  method: 'DELETE',
  path: '/portal/v1/me/sessions/{sessionId}',
  tag: 'Access',
  summary: 'End one of your sessions',
  answer: LEFT,
} as const satisfies PortalOperation

export const OWN_SESSIONS = [
  portalRoute(LIST_SESSIONS, () => JSON.stringify({ sessions: [] })),
  portalRoute(END_OTHER_SESSIONS, () => JSON.stringify({ sessions: [] })),
  portalRoute(END_SESSION, () => notFound('session')),
]
