/** What the browser's API for passkeys takes and gives (WebAuthn Level 3, `parseCreationOptionsFromJSON` and `toJSON`). */
import { type Static, Type } from '@sinclair/typebox'
import { text } from '../../http/text-schema.ts'

const CHALLENGE = Type.String({ description: 'Valid for 5 minutes. A challenge signs in once.' })
const PublicKeyType = Type.Literal('public-key')

const CredentialJson = Type.Object({ id: Type.String(), type: PublicKeyType, transports: Type.Array(Type.String()) })

/** For `navigator.credentials.create`. */
export const CreationOptionsJson = Type.Object(
  {
    challenge: CHALLENGE,
    rp: Type.Object({ id: Type.String(), name: Type.String() }),
    user: Type.Object({ id: Type.String(), name: Type.String(), displayName: Type.String() }),
    pubKeyCredParams: Type.Array(Type.Object({ alg: Type.Integer(), type: PublicKeyType })),
    timeout: Type.Integer({ description: 'Milliseconds.' }),
    attestation: Type.Literal('none'),
    authenticatorSelection: Type.Object({
      residentKey: Type.Literal('required'),
      requireResidentKey: Type.Literal(true),
      userVerification: Type.Literal('required'),
    }),
    excludeCredentials: Type.Array(CredentialJson, { description: 'The passkeys that the person has.' }),
  },
  { $id: 'PasskeyCreationOptions' },
)
export type CreationOptions = Static<typeof CreationOptionsJson>

/** For `navigator.credentials.get`. Any passkey of the service may answer: the options do not say who has one. */
export const RequestOptionsJson = Type.Object(
  {
    challenge: CHALLENGE,
    rpId: Type.String(),
    timeout: Type.Integer({ description: 'Milliseconds.' }),
    userVerification: Type.Literal('required'),
  },
  { $id: 'PasskeyRequestOptions' },
)
export type RequestOptions = Static<typeof RequestOptionsJson>

/** Longer than any authenticator makes them. */
const CREDENTIAL_ID_LENGTH_MAX = 1_400
const BINARY_LENGTH_MAX = 16_384
const binary = (maxLength = BINARY_LENGTH_MAX) => text({ minLength: 1, maxLength, description: 'base64url' })

const COMMON = {
  id: binary(CREDENTIAL_ID_LENGTH_MAX),
  rawId: binary(CREDENTIAL_ID_LENGTH_MAX),
  type: PublicKeyType,
}

/** What `navigator.credentials.create` has made, as JSON. Further members are ignored. */
export const NewPasskeyJson = Type.Object(
  {
    ...COMMON,
    response: Type.Object({
      clientDataJSON: binary(),
      attestationObject: binary(),
      transports: Type.Optional(Type.Array(text({ maxLength: 32 }), { maxItems: 10 })),
    }),
  },
  { $id: 'NewPasskey' },
)
export type NewPasskey = Static<typeof NewPasskeyJson>

/** What `navigator.credentials.get` has answered, as JSON. Further members are ignored. */
export const PasskeyAnswerJson = Type.Object(
  {
    ...COMMON,
    response: Type.Object({
      clientDataJSON: binary(),
      authenticatorData: binary(),
      signature: binary(),
      userHandle: binary(128),
    }),
  },
  { $id: 'PasskeyAnswer' },
)
export type PasskeyAnswer = Static<typeof PasskeyAnswerJson>

export const NEW_PASSKEY_EXAMPLE: NewPasskey = {
  ...{ id: 'mF2dAFmJQ1iC8yJTn0DRHA', rawId: 'mF2dAFmJQ1iC8yJTn0DRHA', type: 'public-key' },
  response: { clientDataJSON: 'eyJ0eXBlIjoi', attestationObject: 'o2NmbXRkbm9uZQ', transports: ['internal'] },
}
