import { randomBytes } from 'node:crypto'
import { isLive } from '../core/catalogue/agency.ts'
import type { Member } from '../core/catalogue/catalogue.ts'
import { sha256Hex } from '../lib/ids.ts'
import type { NewSecret } from './credential-writes.ts'

/** 256 bits, which makes a fast hash safe: guessing is infeasible even without a slow hash. */
const SECRET_BYTES = 32
/** Reveals 36 of the 256 bits. */
const RECOGNIZED_CHARS = 6

/**
 * Makes the secret of a key or an access token: `prefix` and 32 random bytes as base64url.
 * @param random must be cryptographically strong
 */
export function makeSecret(prefix: string, random: (bytes: number) => Uint8Array = randomBytes): NewSecret {
  return existingSecret(prefix, `${prefix}${Buffer.from(random(SECRET_BYTES)).toString('base64url')}`)
}

/** What is stored and shown of a secret: its hash, and `prefix` with 6 more characters (docs/contract.md#authentication, rule 2). */
export function existingSecret(prefix: string, secret: string): NewSecret {
  return { secret, prefix: secret.slice(0, prefix.length + RECOGNIZED_CHARS), sha256: sha256Hex(secret) }
}

/**
 * Whether somebody may act for the agency at `now`: the agency is active, and the person was not removed, or the access token is neither
 * revoked nor expired.
 */
export function isMemberValid({ kind, member, agency }: Member, now: number): boolean {
  if (agency.status !== 'active') return false
  return kind === 'person' ? member.removedAt === null : isLive(member, now)
}
