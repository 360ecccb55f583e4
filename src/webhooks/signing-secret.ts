import { randomBytes } from 'node:crypto'
import type { Instant } from '../core/domain/booking.ts'
import type { SecretBox, SecretOwner } from './secret-box.ts'

/** Says what it is; the Standard Webhooks prefix. */
export const SECRET_PREFIX = 'whsec_'
const SECRET_BYTES = 32

/** `whsec_` and the base64 of 32 random bytes. */
export function newSecret(): string {
  return SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64')
}

/** The bytes behind a secret, with which the Standard Webhooks signature is keyed. */
export function secretBytes(secret: string): Buffer {
  return Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')
}

/** An endpoint's sealed secrets, as its row has them. */
export interface SealedSecrets {
  readonly secretSealed: string
  readonly previousSecretSealed: string | null
  readonly previousSecretUntil: Instant | null
}

/**
 * What signs at a moment, the newest first: the secret, and until its overlap ends the one before.
 * @throws SecretBoxError when one cannot be opened
 */
export function openSecrets(
  { secretSealed, previousSecretSealed, previousSecretUntil }: SealedSecrets,
  { owner, at, box }: { owner: SecretOwner; at: Instant; box: SecretBox },
): readonly string[] {
  const current = box.open(secretSealed, owner)
  if (previousSecretSealed === null || previousSecretUntil === null || previousSecretUntil <= at) return [current]
  return [current, box.open(previousSecretSealed, owner)]
}
