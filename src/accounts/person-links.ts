/**
 * Links that let a person in: an invitation, with which they make a passkey, or one that signs them in. Only the hash of the secret is stored.
 * In the secret are the agency, so that in a cluster the request finds its owner without a look-up, and an HMAC, so that nothing is read for
 * secrets that were made up.
 */
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { Instant } from '../core/domain/booking.ts'
import { HOUR_MS } from '../lib/clock.ts'
import { idOf, sha256Hex, uuidOf } from '../lib/ids.ts'

/** How long an invitation is good for. */
export const INVITATION_HOURS = 72
export const INVITATION_MS = INVITATION_HOURS * HOUR_MS

const LINK_PREFIX = 'hl_'
const UUID_BYTES = 16
const RANDOM_BYTES = 16
const HMAC_BYTES = 16
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

  make(
    of: Pick<PersonLink, 'agencyId' | 'personId' | 'kind'>,
    { now, lifetimeMs }: { readonly now: Instant; readonly lifetimeMs: number },
  ): { readonly link: PersonLink; readonly secret: string } {
    const head = Buffer.concat([Buffer.from(uuidOf(of.agencyId), 'hex'), this.#random(RANDOM_BYTES)])
    const secret = `${LINK_PREFIX}${Buffer.concat([head, this.#hmac(head)]).toString('base64url')}`
    return { link: { ...of, sha256: sha256Hex(secret), createdAt: now, expiresAt: now + lifetimeMs }, secret }
  }

  /** The agency that a link is of; null when the secret was not made here. */
  agencyIdOf(secret: string): string | null {
    const agencyId = agencyIdInLink(secret)
    if (agencyId === null) return null
    const bytes = bytesOf(secret)
    const head = bytes.subarray(0, UUID_BYTES + RANDOM_BYTES)
    return timingSafeEqual(bytes.subarray(head.length), this.#hmac(head)) ? agencyId : null
  }

  #hmac(head: Uint8Array): Buffer {
    return createHmac('sha256', this.#key).update(head).digest().subarray(0, HMAC_BYTES)
  }
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
