/**
 * Links that let a person in: an invitation, with which they make a passkey, or one that signs them in. The agency is in the secret, so that
 * in a cluster the request finds its owner without a look-up. Only the hash is stored.
 */
import type { Instant } from '../core/domain/booking.ts'
import { HOUR_MS } from '../lib/clock.ts'
import { idOf, sha256Hex, uuidOf } from '../lib/ids.ts'

/** How long an invitation is good for. */
export const INVITATION_HOURS = 72
export const INVITATION_MS = INVITATION_HOURS * HOUR_MS

const LINK_PREFIX = 'hl_'
const UUID_BYTES = 16
const RANDOM_BYTES = 32
/** 48 bytes in base64url. */
const LINK = /^hl_[A-Za-z0-9_-]{64}$/

/** A link as it is stored. */
export interface PersonLink {
  /** Of its secret, lower-case hex. */
  readonly sha256: string
  readonly agencyId: string
  readonly personId: string
  readonly kind: 'invitation' | 'sign_in'
  readonly createdAt: Instant
  readonly expiresAt: Instant
}

/** @param random cryptographically strong */
export function newLink(
  of: Pick<PersonLink, 'agencyId' | 'personId' | 'kind'>,
  {
    now,
    lifetimeMs,
    random,
  }: { readonly now: Instant; readonly lifetimeMs: number; readonly random: (bytes: number) => Uint8Array },
): { readonly link: PersonLink; readonly secret: string } {
  const bytes = Buffer.concat([Buffer.from(uuidOf(of.agencyId), 'hex'), random(RANDOM_BYTES)])
  const secret = `${LINK_PREFIX}${bytes.toString('base64url')}`
  return { link: { ...of, sha256: sha256Hex(secret), createdAt: now, expiresAt: now + lifetimeMs }, secret }
}

/** The agency that a link claims to be of; null when the text is no link. */
export function agencyIdInLink(secret: string): string | null {
  if (!LINK.test(secret)) return null
  const bytes = Buffer.from(secret.slice(LINK_PREFIX.length), 'base64url')
  return idOf('agc', bytes.subarray(0, UUID_BYTES).toString('hex'))
}

/** What the person opens. The secret is in the fragment: no log and no preview of links sees it. */
export function joinUrl(publicUrl: string, secret: string): string {
  return `${publicUrl}/portal/#/join/${secret}`
}
