import { type Static, Type } from '@sinclair/typebox'
import { type AccessToken, isSandbox, LIVE_CREDENTIALS_MAX, ROLES } from '../../core/catalogue/agency.ts'
import { timestampOf, timestampOrNull } from '../../http/json/booking-json.ts'
import { PAGE_QUERY, pageMembers, pageOf, pageSchema, sliceOf } from '../../http/json/page.ts'
import { invalidField, problem } from '../../http/problems.ts'
import { choice, nullable } from '../../http/text-schema.ts'
import { ENDED_ARE_LISTED } from './keys.ts'
import type { PortalOperation } from './portal-operation.ts'
import { AGENCY_PATH, agencyRoute, settled } from './portal-route.ts'
import { agencyInstant, instantOrDate, label, newSecret } from './portal-schema.ts'

const AccessTokenJson = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    role: choice(ROLES),
    prefix: Type.String({ description: 'Leading part of the token, to identify it.' }),
    createdAt: Type.String({ format: 'date-time' }),
    expiresAt: nullable(Type.String({ format: 'date-time' })),
    revokedAt: nullable(Type.String({ format: 'date-time' })),
  },
  { $id: 'AccessToken' },
)

function accessTokenJson(token: AccessToken): Static<typeof AccessTokenJson> {
  const { id, name, role, prefix, createdAt, expiresAt, revokedAt } = token
  return {
    id,
    name,
    role,
    prefix,
    createdAt: timestampOf(createdAt),
    expiresAt: timestampOrNull(expiresAt),
    revokedAt: timestampOrNull(revokedAt),
  }
}

const CREATE_ACCESS_TOKEN = {
  id: 'createAccessToken',
  role: 'owner',
  method: 'POST',
  path: `${AGENCY_PATH}/access-tokens`,
  tag: 'Access',
  summary: 'Create an access token for a program of the agency',
  description: `The secret is shown only in this response. An agency has at most ${LIVE_CREDENTIALS_MAX} that are neither revoked nor expired.`,
  body: Type.Object({
    name: label(120, 'The program, as shown in the audit trail.'),
    role: choice(ROLES, {
      description:
        '`viewer` reads everything but secrets; `desk` also writes bookings and guests; `manager` also units, rates, fee types and ' +
        'calendar feeds, and sends webhooks again; `owner` also API keys, webhook endpoints and access tokens.',
    }),
    expiresAt: Type.Optional(
      nullable(instantOrDate('After this time the token gets 401. A date means the start of that day.')),
    ),
  }),
  bodyExample: { name: 'Maria', role: 'desk' },
  answer: {
    status: 201,
    description: 'The access token and its secret. The secret is not shown again.',
    schema: Type.Object({ accessToken: AccessTokenJson, secret: newSecret() }),
  },
  problems: ['FEATURE_DISABLED'],
} as const satisfies PortalOperation

const LIST_ACCESS_TOKENS = {
  id: 'listAccessTokens',
  role: 'viewer',
  method: 'GET',
  path: `${AGENCY_PATH}/access-tokens`,
  tag: 'Access',
  summary: 'List access tokens, oldest first',
  description: ENDED_ARE_LISTED,
  query: Type.Object(PAGE_QUERY),
  answer: { status: 200, description: 'A page of results.', schema: pageSchema('accessTokens', AccessTokenJson) },
} as const satisfies PortalOperation

const REVOKE_ACCESS_TOKEN = {
  id: 'revokeAccessToken',
  role: 'owner',
  method: 'DELETE',
  path: `${AGENCY_PATH}/access-tokens/{tokenId}`,
  tag: 'Access',
  summary: 'Revoke an access token',
  description: 'Permanent. Takes effect with the next request.',
  answer: { status: 200, description: 'The revoked token.', schema: Type.Object({ accessToken: AccessTokenJson }) },
} as const satisfies PortalOperation

const shown = (token: AccessToken) => ({ accessToken: accessTokenJson(token) })

export const NO_PEOPLE = problem(
  'FEATURE_DISABLED',
  'A sandbox has no people of its own: owners of its agency open it with their own access',
  {},
)

export const ACCESS_TOKENS = [
  agencyRoute(CREATE_ACCESS_TOKEN, async ({ ledger, caller, keep, agency, body }) => {
    if (isSandbox(agency)) return NO_PEOPLE
    const { name, role, expiresAt: expiry = null } = body
    const expiresAt = expiry === null ? null : agencyInstant(agency, expiry)
    if (expiresAt !== null && expiresAt <= ledger.clock.now()) return invalidField('expiresAt', 'must be in the future')
    const kept = keep.of((token: AccessToken) => ({ ...shown(token), secret: null }))
    const outcome = await ledger.accessTokens.create(agency, { name, role, expiresAt }, caller, kept)
    return settled(outcome, 'agency', ({ token, secret }) => ({ ...shown(token), secret }))
  }),
  agencyRoute(LIST_ACCESS_TOKENS, ({ ledger, agency, query }) => {
    const page = pageOf(query)
    const all = ledger.catalogue.accessTokens.of(agency.id)
    const accessTokens = sliceOf(all, page).map(accessTokenJson)
    return JSON.stringify({ accessTokens, ...pageMembers(page, all.length) })
  }),
  agencyRoute(
    REVOKE_ACCESS_TOKEN,
    async ({ ledger, caller, keep, agency, path }) =>
      settled(await ledger.accessTokens.revoke(agency, path.tokenId, caller, keep.of(shown)), 'access token', shown),
    { isRevocation: () => true },
  ),
]
