/** The passkeys of the person who asks. */
import { type Static, Type } from '@sinclair/typebox'
import { PASSKEYS_PER_PERSON_MAX, type Passkey } from '../../accounts/passkeys.ts'
import { timestampOf, timestampOrNull } from '../../http/json/booking-json.ts'
import { PROBLEMS } from '../../http/problem-table.ts'
import { problem } from '../../http/problems.ts'
import { nullable } from '../../http/text-schema.ts'
import { CreationOptionsJson, NEW_PASSKEY_EXAMPLE, NewPasskeyJson } from './passkey-json.ts'
import type { PortalOperation } from './portal-operation.ts'
import { portalRoute, settled } from './portal-route.ts'
import { label } from './portal-schema.ts'

const PasskeyJson = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    createdAt: Type.String({ format: 'date-time' }),
    lastUsedAt: nullable(Type.String({ format: 'date-time' })),
  },
  { $id: 'Passkey' },
)
export const PASSKEY_NAME = label(60, 'By which the person recognizes the device, such as phone.')
const ONE = { status: 200, description: 'The passkey.', schema: Type.Object({ passkey: PasskeyJson }) } as const

const LIST_PASSKEYS = {
  id: 'listPasskeys',
  role: 'viewer',
  method: 'GET',
  path: '/portal/v1/me/passkeys',
  tag: 'Access',
  summary: 'List your passkeys, oldest first',
  answer: {
    status: 200,
    description: 'Your passkeys.',
    schema: Type.Object({ passkeys: Type.Array(PasskeyJson, { maxItems: PASSKEYS_PER_PERSON_MAX }) }),
  },
  problems: ['PEOPLE_ONLY'],
} as const satisfies PortalOperation

const PASSKEY_OPTIONS = {
  id: 'passkeyOptions',
  role: 'viewer',
  method: 'POST',
  path: '/portal/v1/me/passkeys/options',
  tag: 'Access',
  summary: 'Get the options to make another passkey with',
  isWrite: false,
  answer: {
    status: 200,
    description: 'For the browser.',
    schema: Type.Object({ options: CreationOptionsJson }),
  },
  problems: ['PEOPLE_ONLY', 'OIDC_ONLY', 'CROSS_ORIGIN'],
} as const satisfies PortalOperation

const CREATE_PASSKEY = {
  id: 'createPasskey',
  role: 'viewer',
  method: 'POST',
  path: '/portal/v1/me/passkeys',
  tag: 'Access',
  summary: 'Add a passkey',
  description: `A person has at most ${PASSKEYS_PER_PERSON_MAX}.`,
  body: Type.Object({ name: PASSKEY_NAME, passkey: NewPasskeyJson }),
  bodyExample: { name: 'phone', passkey: NEW_PASSKEY_EXAMPLE },
  answer: { ...ONE, status: 201 },
  problems: ['PEOPLE_ONLY', 'OIDC_ONLY'],
} as const satisfies PortalOperation

const UPDATE_PASSKEY = {
  id: 'updatePasskey',
  role: 'viewer',
  method: 'PATCH',
  path: '/portal/v1/me/passkeys/{passkeyId}',
  tag: 'Access',
  summary: 'Rename a passkey',
  body: Type.Object({ name: PASSKEY_NAME }),
  bodyExample: { name: 'phone' },
  answer: ONE,
  problems: ['PEOPLE_ONLY'],
} as const satisfies PortalOperation

const DELETE_PASSKEY = {
  id: 'deletePasskey',
  role: 'viewer',
  method: 'DELETE',
  path: '/portal/v1/me/passkeys/{passkeyId}',
  tag: 'Access',
  summary: 'Remove a passkey',
  description: 'Permanent. It can no longer be used to sign in; sessions that were opened with it continue.',
  answer: { ...ONE, description: 'The removed passkey.' },
  problems: ['PEOPLE_ONLY', 'LAST_PASSKEY'],
} as const satisfies PortalOperation

const PEOPLE_ONLY = problem('PEOPLE_ONLY', 'Only people have passkeys: sign in as a person of the agency', {})

const OIDC_ONLY = problem('OIDC_ONLY', PROBLEMS.OIDC_ONLY.example.title, {})
const shown = (passkey: Passkey) => ({ passkey: passkeyJson(passkey) })

export const OWN_PASSKEYS = [
  portalRoute(LIST_PASSKEYS, async ({ ledger, identity }) => {
    if (identity.kind !== 'person') return PEOPLE_ONLY
    return JSON.stringify({ passkeys: (await ledger.personSignIn.passkeysOf(identity)).map(passkeyJson) })
  }),
  portalRoute(PASSKEY_OPTIONS, async ({ ledger, identity }) => {
    if (identity.kind !== 'person') return PEOPLE_ONLY
    if (ledger.provider?.isOnly === true) return OIDC_ONLY
    const existing = await ledger.personSignIn.passkeysOf(identity)
    return JSON.stringify({ options: ledger.passkeys.creationOptions(identity, existing) })
  }),
  portalRoute(CREATE_PASSKEY, async ({ ledger, identity, caller, keep, body }) => {
    if (identity.kind !== 'person') return PEOPLE_ONLY
    if (ledger.provider?.isOnly === true) return OIDC_ONLY
    return settled(await ledger.personSignIn.add(identity, body, caller, keep.of(shown)), 'passkey', shown)
  }),
  portalRoute(UPDATE_PASSKEY, async ({ ledger, identity, caller, keep, path, body }) => {
    if (identity.kind !== 'person') return PEOPLE_ONLY
    const renamed = { id: path.passkeyId, name: body.name }
    return settled(await ledger.personSignIn.rename(identity, renamed, caller, keep.of(shown)), 'passkey', shown)
  }),
  portalRoute(DELETE_PASSKEY, async ({ ledger, identity, caller, keep, path }) => {
    if (identity.kind !== 'person') return PEOPLE_ONLY
    const outcome = await ledger.personSignIn.remove(identity, path.passkeyId, caller, keep.of(shown))
    return settled(outcome, 'passkey', shown)
  }),
]

function passkeyJson({ id, name, createdAt, lastUsedAt }: Passkey): Static<typeof PasskeyJson> {
  return { id, name, createdAt: timestampOf(createdAt), lastUsedAt: timestampOrNull(lastUsedAt) }
}
