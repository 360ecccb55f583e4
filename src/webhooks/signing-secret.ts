import { randomBytes } from 'node:crypto'
import type { Instant } from '../core/domain/booking.ts'
import type { SecretBox, SecretOwner } from './secret-box.ts'

/** Identifies the value as a webhook secret; the prefix of the Standard Webhooks specification. */
export const SECRET_PREFIX = 'whsec_'
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
export interface SealedSecrets {
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
