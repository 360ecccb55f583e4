/** Passkeys in the browser: converts between the JSON of the service and the bytes of `navigator.credentials`. */
import { Problem } from '../api/problem.ts'
import type { Schema } from '../api/schema.ts'

type CreationOptions = NonNullable<Schema<'OpenedLink'>['options']>
type RequestOptions = Schema<'SignInWays'>['options']

/** Why passkeys cannot be used here; null when they can. */
export function passkeyObstacle(): string | null {
  if (!isSecureContext) return 'Passkeys need an encrypted connection: open this page with https://.'
  if (typeof PublicKeyCredential === 'undefined')
    return 'This browser cannot use passkeys. Use a current version of Chrome, Edge, Firefox or Safari.'
  return null
}

/**
 * Creates a passkey on a device that the person chooses in the browser's own dialog.
 * @throws Problem with a sentence for the person
 */
export async function createPasskey(options: CreationOptions) {
  const { challenge, user, excludeCredentials } = options
  const publicKey = {
    ...options,
    challenge: bytesOf(challenge),
    user: { ...user, id: bytesOf(user.id) },
    excludeCredentials: excludeCredentials.map(({ id, type, transports }) => ({
      id: bytesOf(id),
      type,
      transports: transports as AuthenticatorTransport[],
    })),
  }
  const credential = await asked(options.rp.id, () => navigator.credentials.create({ publicKey }))
  const response = credential.response as AuthenticatorAttestationResponse
  return {
    ...namesOf(credential),
    response: {
      clientDataJSON: textOf(response.clientDataJSON),
      attestationObject: textOf(response.attestationObject),
      transports: response.getTransports(),
    },
  }
}

/**
 * Has the person choose one of their passkeys, and proves that they hold it.
 * @throws Problem with a sentence for the person
 */
export async function proveByPasskey(options: RequestOptions) {
  const publicKey = { ...options, challenge: bytesOf(options.challenge) }
  const credential = await asked(options.rpId, () => navigator.credentials.get({ publicKey }))
  const { clientDataJSON, authenticatorData, signature, userHandle } =
    credential.response as AuthenticatorAssertionResponse
  return {
    ...namesOf(credential),
    response: {
      clientDataJSON: textOf(clientDataJSON),
      authenticatorData: textOf(authenticatorData),
      signature: textOf(signature),
      userHandle: textOf(userHandle ?? new ArrayBuffer(0)),
    },
  }
}

async function asked(rpId: string, ask: () => Promise<Credential | null>): Promise<PublicKeyCredential> {
  const obstacle = passkeyObstacle()
  if (obstacle !== null) throw refusal(obstacle)
  try {
    const credential = await ask()
    if (credential instanceof PublicKeyCredential) return credential
  } catch (error) {
    throw refusal(reasonOf(error, rpId), error)
  }
  throw refusal(NO_PASSKEY)
}

/** The browser does not say which of these it was, to protect the person's privacy. */
const NO_PASSKEY =
  'No passkey was used: the request was cancelled or timed out, or this device has no passkey for this service.'
const NO_LOCK =
  'This device cannot keep a passkey. First set up a screen lock on it, such as a fingerprint, face recognition or a PIN.'

/** By the name of the exception that the browser throws. */
const REASONS: Readonly<Record<string, string>> = {
  NotAllowedError: NO_PASSKEY,
  InvalidStateError: 'You already have a passkey on this device.',
  NotSupportedError: NO_LOCK,
  ConstraintError: NO_LOCK,
}

function reasonOf(error: unknown, rpId: string): string {
  const name = error instanceof DOMException ? error.name : ''
  if (name === 'SecurityError')
    return `Passkeys work at ${rpId} only, but you opened this page at ${location.hostname}. Open it at ${rpId}.`
  return REASONS[name] ?? 'The browser could not use a passkey. Try again, or use another browser.'
}

function refusal(title: string, cause?: unknown): Problem {
  return new Problem(0, { code: 'PASSKEY_NOT_USED', title }, cause)
}

function namesOf({ id, rawId }: PublicKeyCredential) {
  return { id, rawId: textOf(rawId), type: 'public-key' } as const
}

/** Base64url, as WebAuthn's JSON has it. */
function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (char) => char.charCodeAt(0))
}

function textOf(bytes: ArrayBuffer): string {
  const text = btoa(String.fromCharCode(...new Uint8Array(bytes)))
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}
