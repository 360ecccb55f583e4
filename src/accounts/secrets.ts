import { KEY_PREFIX, TOKEN_PREFIX } from '../core/catalogue/agency.ts'
import type { Catalogue, KeyHolder, TokenHolder } from '../core/catalogue/catalogue.ts'
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

/** Creates a key: `hr_live_` and 32 random bytes as base64url. `random` must be cryptographically strong. */
export function newKeySecret(random: (bytes: number) => Uint8Array): NewSecret {
  return newSecret(KEY_PREFIX, random)
}

/** What is stored and shown of an existing key (docs/contract.md#authentication, rule 2). */
export function keySecretOf(secret: string): NewSecret {
  return secretWith(KEY_PREFIX, secret)
}

/** Our keys have 51 characters. A longer token than this is not even hashed. */
const TOKEN_CHARS_MAX = 256

/** How nearly every request begins it. */
const SCHEME = `Bearer ${KEY_PREFIX}`

/** `Bearer`, in any case, and a token of RFC 6750's characters. Surrounding whitespace has already been removed. */
const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i
const HEADER_CHARS_MAX = TOKEN_CHARS_MAX + 'Bearer '.length

/**
 * Authenticates a request. Null means 401: a missing or malformed header, an unknown, revoked or expired key, or an
 * agency that is not active (docs/contract.md#authentication, rules 8 and 9).
 *
 * The secret itself is never compared. The key is hashed, and the hash is looked up in a map. The timing of that
 * look-up can reveal something only about the hash of the caller's own guess, and steering that hash towards a stored
 * one, byte by byte, amounts to inverting SHA-256. `bench/secret-timing.ts` measures it.
 *
 * @param authorization the header; null when it is missing
 * @param now wall clock, milliseconds
 */
export function authenticate(
  authorization: string | null,
  catalogue: Pick<Catalogue, 'holderByHash'>,
  now: number,
): KeyHolder | null {
  return ifValid(keyHolder(authorization, catalogue), now)
}

/**
 * The holder of the key with this hash; null when the key is unknown, revoked or expired, or its agency is not active.
 */
export function validHolder(sha256: string, catalogue: Pick<Catalogue, 'holderByHash'>, now: number): KeyHolder | null {
  return ifValid(catalogue.holderByHash(sha256), now)
}

function ifValid(holder: KeyHolder | null, now: number): KeyHolder | null {
  if (holder === null) return null
  const { key, agency } = holder
  if (key.revokedAt !== null) return null
  if (key.expiresAt !== null && now > key.expiresAt) return null
  return agency.status === 'active' ? holder : null
}

/**
 * The holder of the key in the header, valid or not; null when the key is unknown. It grants no access: use
 * `authenticate` for that.
 */
export function keyHolder(authorization: string | null, catalogue: Pick<Catalogue, 'holderByHash'>): KeyHolder | null {
  const hash = keyHashOf(authorization)
  return hash === null ? null : catalogue.holderByHash(hash)
}

/** The hash of the key in the header, lower-case hex; null when there is none, or it is malformed. */
export function keyHashOf(authorization: string | null): string | null {
  const token = bearerTokenOf(authorization)
  return token === null ? null : sha256Hex(token)
}

function bearerTokenOf(authorization: string | null): string | null {
  if (authorization === null || authorization.length > HEADER_CHARS_MAX) return null
  // Whether the rest is a token need not be looked at: no other text has the hash of a key.
  if (authorization.startsWith(SCHEME)) return authorization.slice(SCHEME.length - KEY_PREFIX.length)
  return BEARER.exec(authorization)?.[1] ?? null
}

/** Creates an access token: `hp_live_` and 32 random bytes as base64url. `random` must be cryptographically strong. */
export function newTokenSecret(random: (bytes: number) => Uint8Array): NewSecret {
  return newSecret(TOKEN_PREFIX, random)
}

/** What is stored and shown of an existing access token. */
export function tokenSecretOf(secret: string): NewSecret {
  return secretWith(TOKEN_PREFIX, secret)
}

/** Whether an access token opens its agency at `now`: it is not revoked and has not expired, and the agency is active. */
export function isTokenValid({ token, agency }: TokenHolder, now: number): boolean {
  if (token.revokedAt !== null || agency.status !== 'active') return false
  return token.expiresAt === null || now <= token.expiresAt
}
