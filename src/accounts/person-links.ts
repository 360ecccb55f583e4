/**
 * Links that let a person in: an invitation, with which they make a passkey, or one that signs them in. Only the hash of the secret is stored.
 * In the secret are the agency, so that in a cluster the request finds its owner without a look-up, and the expiry and an HMAC, so that
 * nothing is read for secrets that were made up or have expired.
 *
 * A link may be bound to a browser, so that nobody can have somebody else open it who would then work in the account of another without
 * noticing. What is hashed is then the secret and a text that only this browser has.
 */
import { createHash, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Instant } from '../core/domain/booking.ts'
import { HOUR_MS } from '../lib/clock.ts'
import { idOf, sha256Hex, uuidOf } from '../lib/ids.ts'

/** How long an invitation is good for. */
export const INVITATION_HOURS = 72
export const INVITATION_MS = INVITATION_HOURS * HOUR_MS

const LINK_PREFIX = 'hl_'
const BOUND_PREFIX = 'hb_'
const UUID_BYTES = 16
const RANDOM_BYTES = 16
/** Milliseconds since 1970. */
const EXPIRY_BYTES = 6
const HEAD_BYTES = UUID_BYTES + RANDOM_BYTES + EXPIRY_BYTES
const HMAC_BYTES = 16
/** 54 bytes in base64url. */
const LINK = /^h[lb]_[A-Za-z0-9_-]{72}$/

/** A link as it is stored. */
export interface PersonLink {
  /** `linkHash` of its secret. */
  readonly sha256: string
  readonly agencyId: string
  readonly personId: string
  readonly kind: 'invitation' | 'sign_in'
  readonly createdAt: Instant
  readonly expiresAt: Instant
}

/** Makes links, and recognizes their secrets. */
export class LinkSecrets {
  readonly #key: Uint8Array
  readonly #random: (bytes: number) => Uint8Array

  /**
   * @param options.secretKey 32 bytes
   * @param options.random cryptographically strong
   */
  constructor(options: { secretKey: Uint8Array; random: (bytes: number) => Uint8Array }) {
    this.#key = new Uint8Array(hkdfSync('sha256', options.secretKey, '', 'nightledger-link', 32))
    this.#random = options.random
  }

  /** @param browser what the browser that the link is bound to has; left out: it is good in any */
  make(
    of: Pick<PersonLink, 'agencyId' | 'personId' | 'kind'>,
    {
      now,
      lifetimeMs,
      browser = null,
    }: { readonly now: Instant; readonly lifetimeMs: number; readonly browser?: string | null },
  ): { readonly link: PersonLink; readonly secret: string } {
    const expiresAt = now + lifetimeMs
    const expiry = Buffer.alloc(EXPIRY_BYTES)
    expiry.writeUIntBE(expiresAt, 0, EXPIRY_BYTES)
    const head = Buffer.concat([Buffer.from(uuidOf(of.agencyId), 'hex'), this.#random(RANDOM_BYTES), expiry])
    const prefix = browser === null ? LINK_PREFIX : BOUND_PREFIX
    const secret = prefix + Buffer.concat([head, this.#hmac(head)]).toString('base64url')
    return { link: { ...of, sha256: linkHash(secret, browser), createdAt: now, expiresAt }, secret }
  }

  /** The agency that a link is of; null when the secret was not made here, or has expired. */
  agencyIdOf(secret: string, now: Instant): string | null {
    const agencyId = agencyIdInLink(secret)
    if (agencyId === null) return null
    const bytes = bytesOf(secret)
    const head = bytes.subarray(0, HEAD_BYTES)
    if (!timingSafeEqual(bytes.subarray(HEAD_BYTES), this.#hmac(head))) return null
    return head.readUIntBE(HEAD_BYTES - EXPIRY_BYTES, EXPIRY_BYTES) > now ? agencyId : null
  }

  #hmac(head: Uint8Array): Buffer {
    return createHmac('sha256', this.#key).update(head).digest().subarray(0, HMAC_BYTES)
  }
}

/**
 * What a browser gets that the provider has sent back: random bytes, and a hash of these and the address that the provider has named.
 * While a link is being made for it, the person may get another address.
 */
export function browserOf(email: string): string {
  const random = randomBytes(RANDOM_BYTES)
  return Buffer.concat([random, addressHash(random, email)]).toString('base64url')
}

/** Whether a link lets in the person with this address: one that is bound to a browser, only if the provider has named it there. */
export function isOfAddress(secret: string, browser: string | null, email: string | null): boolean {
  if (!secret.startsWith(BOUND_PREFIX)) return true
  const bytes = Buffer.from(browser ?? '', 'base64url')
  return email !== null && bytes.subarray(RANDOM_BYTES).equals(addressHash(bytes.subarray(0, RANDOM_BYTES), email))
}

/** Without regard to case. */
function addressHash(random: Uint8Array, email: string): Buffer {
  return createHash('sha256').update(random).update(email.toLowerCase()).digest().subarray(0, HMAC_BYTES)
}

/** Lower-case hex. @param browser what the browser has that the secret comes from; null: nothing */
export function linkHash(secret: string, browser: string | null): string {
  return sha256Hex(secret.startsWith(BOUND_PREFIX) ? `${secret}.${browser ?? ''}` : secret)
}

/** The agency that a link claims to be of, forged or not; null when the text is no link. */
export function agencyIdInLink(secret: string): string | null {
  if (!LINK.test(secret)) return null
  return idOf('agc', bytesOf(secret).subarray(0, UUID_BYTES).toString('hex'))
}

function bytesOf(secret: string): Buffer {
  return Buffer.from(secret.slice(LINK_PREFIX.length), 'base64url')
}

/** What the person opens. The secret is in the fragment: no log and no preview of links sees it. */
export function joinUrl(publicUrl: string, secret: string): string {
  return `${publicUrl}/portal/#/join/${secret}`
}
