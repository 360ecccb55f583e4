import { createHmac, randomBytes } from 'node:crypto'
import type { Instant } from '../../core/domain/booking.ts'
import { assert } from '../../lib/assert.ts'
import { openText, sealText } from '../../lib/sealed-text.ts'

/**
 * A secret cannot be decrypted: a different SECRET_KEY, a different endpoint's row, or damage. The message never
 * contains the secret.
 */
export class SecretBoxError extends Error {
  override readonly name = 'SecretBoxError'
}

/** Whose secret it is. A secret sealed for one owner does not open for another. */
export interface SecretOwner {
  readonly agencyId: string
  readonly endpointId: string
}

/** Encrypts webhook secrets at rest, bound to agency and endpoint (src/lib/sealed-text.ts). */
export class SecretBox {
  readonly #key: Uint8Array

  /** @param key 32 bytes (SECRET_KEY) */
  constructor(key: Uint8Array) {
    assert(key.length === 32, `Cannot seal secrets: the key has ${key.length} bytes`)
    this.#key = key
  }

  seal(secret: string, owner: SecretOwner): string {
    return sealText(this.#key, secret, textOf(owner))
  }

  /** Whether `open` returns the secret. */
  opens(sealed: string, owner: SecretOwner): boolean {
    return openText(this.#key, sealed, textOf(owner)) !== null
  }

  /** @throws SecretBoxError when the secret was sealed with another key or for another owner, or was modified */
  open(sealed: string, owner: SecretOwner): string {
    const secret = openText(this.#key, sealed, textOf(owner))
    if (secret === null)
      throw new SecretBoxError('Cannot open a webhook secret: SECRET_KEY is not the one it was sealed with')
    return secret
  }
}

/** Each part is prefixed with its length, so that no two owners have the same text. */
function textOf({ agencyId, endpointId }: SecretOwner): string {
  return `webhook-secret ${agencyId.length}:${agencyId} ${endpointId.length}:${endpointId}`
}

/** Identifies the value as a webhook secret; the prefix of the Standard Webhooks specification. */
const SECRET_PREFIX = 'whsec_'
const SECRET_BYTES = 32

/** `whsec_` and the base64 of 32 random bytes. */
export function newSecret(): string {
  return SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64')
}

/** The decoded bytes of a secret, which key the Standard Webhooks signature. */
export function secretBytes(secret: string): Buffer {
  return Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')
}

/** The encrypted secrets in an endpoint's row. */
interface SealedSecrets {
  readonly secretSealed: string
  readonly previousSecretSealed: string | null
  readonly previousSecretUntil: Instant | null
}

/**
 * The secrets that sign at `at`, newest first: the current one and, until its overlap ends, the previous one.
 * @throws SecretBoxError when one cannot be decrypted
 */
export function openSecrets(
  { secretSealed, previousSecretSealed, previousSecretUntil }: SealedSecrets,
  { owner, at, box }: { owner: SecretOwner; at: Instant; box: SecretBox },
): readonly string[] {
  const current = box.open(secretSealed, owner)
  if (previousSecretSealed === null || previousSecretUntil === null || previousSecretUntil <= at) return [current]
  return [current, box.open(previousSecretSealed, owner)]
}

const USER_AGENT = 'nightledger-webhooks/1'

/**
 * The headers of one attempt. Every active secret signs, the newest first: after a rotation with overlap there are two,
 * and a receiver accepts the message if either signature matches.
 * @param at time of the attempt; signatures carry whole seconds
 */
export function signedHeaders(message: {
  eventId: string
  body: string
  at: Instant
  secrets: readonly string[]
}): Record<string, string> {
  const { eventId, body, secrets } = message
  const t = Math.floor(message.at / 1_000)
  return {
    'content-type': 'application/json',
    'user-agent': USER_AGENT,
    'x-service-signature': `t=${t}, ${secrets.map((secret) => `v1=${serviceSignature(secret, t, body)}`).join(', ')}`,
    'webhook-id': eventId,
    'webhook-timestamp': String(t),
    'webhook-signature': secrets.map((secret) => `v1,${standardSignature(secret, eventId, t, body)}`).join(' '),
  }
}

/** Lower-case hex over `<t>.<raw body>`, keyed with the secret's characters as shown (docs/contract.md#signature). */
export function serviceSignature(secret: string, t: number, body: string): string {
  return createHmac('sha256', secret).update(`${t}.${body}`).digest('hex')
}

/** Base64 over `<id>.<t>.<raw body>`, keyed with the secret's bytes (Standard Webhooks specification). */
function standardSignature(secret: string, eventId: string, t: number, body: string): string {
  return createHmac('sha256', secretBytes(secret)).update(`${eventId}.${t}.${body}`).digest('base64')
}
