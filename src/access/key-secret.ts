import { KEY_PREFIX } from '../core/catalogue/agency.ts'
import type { Catalogue, KeyHolder } from '../core/catalogue/catalogue.ts'
import { sha256Hex } from '../lib/sha256-hex.ts'

export { sha256Hex }

/** A key that was just made. */
export interface NewKeySecret {
  /** The whole key: shown to the agency this once, and kept nowhere (contract, Authentication rule 2). */
  readonly secret: string
  /** The leading part, by which the agency recognises the key: `hr_live_` and 6 more characters. */
  readonly prefix: string
  /** Lower-case hex: all that is stored. */
  readonly sha256: string
}

/** 256 bits: what a fast hash must have before it, because nothing slows down trying. */
const SECRET_BYTES = 32
/** Tells 36 of the 256 bits. */
const RECOGNISED_CHARS = 6

/** Makes a key: `hr_live_` and 32 random bytes as base64url. `random` is cryptographically strong. */
export function newKeySecret(random: (bytes: number) => Uint8Array): NewKeySecret {
  return keySecretOf(`${KEY_PREFIX}${Buffer.from(random(SECRET_BYTES)).toString('base64url')}`)
}

/** Of a key that was made earlier. */
export function keySecretOf(secret: string): NewKeySecret {
  return { secret, prefix: secret.slice(0, KEY_PREFIX.length + RECOGNISED_CHARS), sha256: sha256Hex(secret) }
}

/** A key of ours has 51 characters; what is longer than this is not worth a hash. */
const TOKEN_CHARS_MAX = 256

/**
 * `Bearer`, in any case, and a token of RFC 6750's characters. Surrounding blanks are gone before a header gets here.
 */
const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i
const HEADER_CHARS_MAX = TOKEN_CHARS_MAX + 'Bearer '.length

/**
 * Who sent the request; null is 401 for whatever reason: missing or malformed header, unknown, revoked or expired key,
 * an agency that is not active (contract, Authentication rules 8 and 9).
 *
 * The secret is never compared. The key that came is hashed, and the hash is looked up in a map: what the time of that
 * look-up could tell is about the hash of the caller's own guess, and to steer that towards a stored hash, byte by
 * byte, is to invert SHA-256. `bench/key-timing.ts` measures it.
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

/** Who holds the key of this hash; null when it is unknown, revoked or expired, or its agency is not active. */
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

/** The holder of the key that was sent, valid or not; null when the key is unknown. It grants no access: `authenticate` does. */
export function keyHolder(authorization: string | null, catalogue: Pick<Catalogue, 'holderByHash'>): KeyHolder | null {
  const token = bearerTokenOf(authorization)
  return token === null ? null : catalogue.holderByHash(sha256Hex(token))
}

function bearerTokenOf(authorization: string | null): string | null {
  if (authorization === null || authorization.length > HEADER_CHARS_MAX) return null
  return BEARER.exec(authorization)?.[1] ?? null
}
