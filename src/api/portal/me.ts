import { type Static, Type } from '@sinclair/typebox'
import { type PortalIdentity, roleOf } from '../../accounts/portal-access.ts'
import { ROLES } from '../../core/catalogue/agency.ts'
import { choice, nullable } from '../../http/text-schema.ts'
import type { PortalOperation } from './portal-operation.ts'
import { portalRoute } from './portal-route.ts'

export const ActorJson = Type.Object(
  {
    kind: choice(['operator', 'access_token', 'person']),
    id: nullable(Type.String({ description: 'Id of the person or the access token.' })),
    name: nullable(Type.String({ description: 'Name of the person or the access token.' })),
    role: choice([...ROLES, 'operator']),
    agency: nullable(
      Type.String({ description: 'Slug of the agency that the person belongs to, or the access token opens.' }),
    ),
  },
  { $id: 'Actor' },
)

export function actorJson(identity: PortalIdentity): Static<typeof ActorJson> {
  const { kind } = identity
  const role = roleOf(identity)
  if (kind === 'operator') return { kind, id: null, name: null, role, agency: null }
  const { member, agency } = identity
  return { kind, id: member.id, name: member.name, role, agency: agency.slug }
}

const GET_ME = {
  id: 'getMe',
  role: 'viewer',
  method: 'GET',
  path: '/portal/v1/me',
  tag: 'Access',
  summary: 'Get who you are',
  answer: { status: 200, description: 'Who you are.', schema: Type.Object({ actor: ActorJson }) },
} as const satisfies PortalOperation

export const ME = [portalRoute(GET_ME, ({ identity }) => JSON.stringify({ actor: actorJson(identity) }))]
