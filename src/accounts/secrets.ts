import { isLive, KEY_PREFIX, TOKEN_PREFIX } from '../core/catalogue/agency.ts'
import type { Member } from '../core/catalogue/catalogue.ts'
import { sha256Hex } from '../lib/ids.ts'
import type { NewSecret } from './credential-writes.ts'

/** 256 bits, which makes a fast hash safe: guessing is infeasible even without a slow hash. */
const SECRET_BYTES = 32
/** Reveals 36 of the 256 bits. */
const RECOGNIZED_CHARS = 6

/** `prefix` and 32 random bytes as base64url. `random` must be cryptographically strong. */
function newSecret(prefix: string, random: (bytes: number) => Uint8Array): NewSecret {
  return secretWith(prefix, `${prefix}${Buffer.from(random(SECRET_BYTES)).toString('base64url')}`)
}

/** What is stored and shown of an existing secret: its hash, and `prefix` with 6 more characters. */
function secretWith(prefix: string, secret: string): NewSecret {
  return { secret, prefix: secret.slice(0, prefix.length + RECOGNIZED_CHARS), sha256: sha256Hex(secret) }
}

export { sha256Hex }

/** Creates a key: `hr_live_` or `hr_test_` and 32 random bytes as base64url. `random` must be cryptographically strong. */
export function newKeySecret(random: (bytes: number) => Uint8Array, prefix: string = KEY_PREFIX): NewSecret {
  return newSecret(prefix, random)
}

/** What is stored and shown of an existing key (docs/contract.md#authentication, rule 2). */
export function keySecretOf(secret: string): NewSecret {
  return secretWith(KEY_PREFIX, secret)
}

/** Creates an access token: `hp_live_` and 32 random bytes as base64url. `random` must be cryptographically strong. */
export function newTokenSecret(random: (bytes: number) => Uint8Array): NewSecret {
  return newSecret(TOKEN_PREFIX, random)
}

/** What is stored and shown of an existing access token. */
export function tokenSecretOf(secret: string): NewSecret {
  return secretWith(TOKEN_PREFIX, secret)
}

/**
 * Whether somebody may act for the agency at `now`: the agency is active, and the person was not removed, or the access token is neither
 * revoked nor expired.
 */
export function isMemberValid({ kind, member, agency }: Member, now: number): boolean {
  if (agency.status !== 'active') return false
  return kind === 'person' ? member.removedAt === null : isLive(member, now)
}
