import type { NewSecret } from '../admin/credential-writes.ts'
import { sha256Hex } from '../lib/sha256-hex.ts'

/** 256 bits, which makes a fast hash safe: guessing is infeasible even without a slow hash. */
const SECRET_BYTES = 32
/** Reveals 36 of the 256 bits. */
const RECOGNIZED_CHARS = 6

/** `prefix` and 32 random bytes as base64url. `random` must be cryptographically strong. */
export function newSecret(prefix: string, random: (bytes: number) => Uint8Array): NewSecret {
  return secretWith(prefix, `${prefix}${Buffer.from(random(SECRET_BYTES)).toString('base64url')}`)
}

/** What is stored and shown of an existing secret: its hash, and `prefix` with 6 more characters. */
export function secretWith(prefix: string, secret: string): NewSecret {
  return { secret, prefix: secret.slice(0, prefix.length + RECOGNIZED_CHARS), sha256: sha256Hex(secret) }
}
