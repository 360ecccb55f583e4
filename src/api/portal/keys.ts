import { type Static, Type } from '@sinclair/typebox'
import {
  type ApiKey,
  DEFAULT_SCOPES,
  ENDED_CREDENTIALS_KEPT_MAX,
  LIVE_CREDENTIALS_MAX,
  SCOPES,
} from '../../core/catalogue/agency.ts'
import { timestampOf, timestampOrNull } from '../../http/json/booking-json.ts'
import { PAGE_QUERY, pageMembers, pageOf, pageSchema, sliceOf } from '../../http/json/page.ts'
import { invalidField } from '../../http/problems.ts'
import { choice, nullable } from '../../http/text-schema.ts'
import type { PortalOperation } from './portal-operation.ts'
import { AGENCY_PATH, agencyRoute, settled } from './portal-route.ts'
import { agencyInstant, instantOrDate, label, newSecret } from './portal-schema.ts'

const KeyJson = Type.Object(
  {
    id: Type.String(),
    name: nullable(Type.String()),
    prefix: Type.String({ description: 'Leading part of the key, to identify it.' }),
    scopes: Type.Array(choice(SCOPES)),
    createdAt: Type.String({ format: 'date-time' }),
    expiresAt: nullable(Type.String({ format: 'date-time' })),
    revokedAt: nullable(Type.String({ format: 'date-time' })),
    lastUsedAt: nullable(
      Type.String({
        format: 'date-time',
        description: 'The minute of the last request that was within the limits. Null: there was none.',
      }),
    ),
  },
  { $id: 'Key' },
)

function keyJson(key: ApiKey): Static<typeof KeyJson> {
  const { id, name, prefix, scopes, createdAt, expiresAt, revokedAt, lastUsedAt } = key
  return {
    id,
    name,
    prefix,
    scopes: [...scopes],
    createdAt: timestampOf(createdAt),
    expiresAt: timestampOrNull(expiresAt),
    revokedAt: timestampOrNull(revokedAt),
    lastUsedAt: timestampOrNull(lastUsedAt),
  }
}

const CREATE_KEY = {
  id: 'createKey',
  role: 'owner',
  method: 'POST',
  path: `${AGENCY_PATH}/keys`,
  tag: 'Keys',
  summary: 'Create an API key',
  description:
    'The secret is shown only in this response. Without `scopes`, the key gets the four read scopes other than `read:guests`. ' +
    `An agency has at most ${LIVE_CREDENTIALS_MAX} that are neither revoked nor expired.`,
  body: Type.Object({
    name: Type.Optional(nullable(label(120, 'For people.'))),
    scopes: Type.Optional(Type.Array(choice(SCOPES), { maxItems: 50 })),
    expiresAt: Type.Optional(
      nullable(instantOrDate('After this time the key gets 401. A date means the start of that day.')),
    ),
  }),
  isBodyOptional: true,
  bodyExample: { name: 'Website', scopes: ['read:units', 'read:availability', 'read:rates', 'write:bookings'] },
  answer: {
    status: 201,
    description: 'The key and its secret. The secret is not shown again.',
    schema: Type.Object({ key: KeyJson, secret: newSecret() }),
  },
} as const satisfies PortalOperation

/** Which of those that have ended a list shows. */
export const ENDED_ARE_LISTED = `Of those that are revoked or have expired, the newest ${ENDED_CREDENTIALS_KEPT_MAX} are listed.`

const LIST_KEYS = {
  id: 'listKeys',
  role: 'viewer',
  method: 'GET',
  path: `${AGENCY_PATH}/keys`,
  tag: 'Keys',
  summary: 'List API keys, oldest first',
  description: ENDED_ARE_LISTED,
  query: Type.Object(PAGE_QUERY),
  answer: { status: 200, description: 'A page of results.', schema: pageSchema('keys', KeyJson) },
} as const satisfies PortalOperation

const REVOKE_KEY = {
  id: 'revokeKey',
  role: 'owner',
  method: 'DELETE',
  path: `${AGENCY_PATH}/keys/{keyId}`,
  tag: 'Keys',
  summary: 'Revoke an API key',
  description: 'Permanent. Takes effect with the next request.',
  answer: { status: 200, description: 'The revoked key.', schema: Type.Object({ key: KeyJson }) },
} as const satisfies PortalOperation

const shown = (key: ApiKey) => ({ key: keyJson(key) })

export const KEYS = [
  agencyRoute(CREATE_KEY, async ({ ledger, caller, keep, agency, body }) => {
    const { name = null, scopes = DEFAULT_SCOPES, expiresAt: expiry = null } = body
    const expiresAt = expiry === null ? null : agencyInstant(agency, expiry)
    if (expiresAt !== null && expiresAt <= ledger.clock.now()) return invalidField('expiresAt', 'must be in the future')
    // In the contract's order, each once.
    const given = SCOPES.filter((scope) => scopes.includes(scope))
    const draft = { name, scopes: given, expiresAt }
    const kept = keep.of((key: ApiKey) => ({ ...shown(key), secret: null }))
    const outcome = await ledger.keys.create(agency, draft, caller, kept)
    return settled(outcome, 'agency', ({ key, secret }) => ({ ...shown(key), secret }))
  }),
  agencyRoute(LIST_KEYS, ({ ledger, agency, query }) => {
    const page = pageOf(query)
    const all = ledger.catalogue.keys.of(agency.id)
    const keys = sliceOf(all, page).map(keyJson)
    return JSON.stringify({ keys, ...pageMembers(page, all.length) })
  }),
  agencyRoute(
    REVOKE_KEY,
    async ({ ledger, caller, keep, agency, path }) => {
      // A sandbox may have been reset since the path was read, and the key is in the new one then.
      const current = ledger.catalogue.agencyBySlug(agency.slug) ?? agency
      return settled(await ledger.keys.revoke(current, path.keyId, caller, keep.of(shown)), 'key', shown)
    },
    { isRevocation: () => true },
  ),
]
