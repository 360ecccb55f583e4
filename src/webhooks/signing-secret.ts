import { randomBytes } from 'node:crypto'

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
