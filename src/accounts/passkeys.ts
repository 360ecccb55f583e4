/**
 * Passkeys (WebAuthn Level 3): the options for the browser, and the verification of what it answers. Nothing is stored here.
 *
 * - H1 A challenge is the service's own, at most 5 minutes old, made for the same purpose and, of a new passkey, for the same person. It is
 *   not stored: it is signed with a key of its own, derived from SECRET_KEY.
 */
import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import '../lib/reflect-metadata.ts'
import { verifyAuthenticationResponse, verifyRegistrationResponse } from '@simplewebauthn/server'
import { decodeAttestationObject, isoBase64URL, isoCBOR } from '@simplewebauthn/server/helpers'
import type { Member } from '../core/catalogue/catalogue.ts'
import type { Instant } from '../core/domain/booking.ts'
import { AssertionError } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { MINUTE_MS } from '../lib/clock.ts'
import { idOf, uuidOf } from '../lib/ids.ts'

/** Passkeys of one person. */
export const PASSKEYS_PER_PERSON_MAX = 20
const CHALLENGE_MS_MAX = 5 * MINUTE_MS

/** ES256, RS256, EdDSA: what authenticators have. */
const ALGORITHMS = [-7, -257, -8]
const UUID_BYTES = 16
const TIME_BYTES = 8
const NONCE_BYTES = 16
const HMAC_BYTES = 32
const SIGN_IN = 'sign-in'

/** A passkey as it is stored. */
export interface Passkey {
  readonly id: string
  readonly agencyId: string
  readonly personId: string
  /** base64url */
  readonly credentialId: string
  readonly name: string
  /** COSE, base64url. */
  readonly publicKey: string
  /** The authenticator's counter; 0 where it has none. */
  readonly signCount: number
  readonly transports: readonly string[]
  readonly createdAt: Instant
  readonly lastUsedAt: Instant | null
  /** When the challenge of its last use was made. */
  readonly challengedAt: Instant
}

/** What the browser has made. */
interface NewPasskey {
  readonly id: string
  readonly rawId: string
  readonly type: 'public-key'
  readonly response: {
    readonly clientDataJSON: string
    readonly attestationObject: string
    readonly transports?: readonly string[]
  }
}

/** What the browser has signed. */
export interface PasskeyAnswer {
  readonly id: string
  readonly rawId: string
  readonly type: 'public-key'
  readonly response: {
    readonly clientDataJSON: string
    readonly authenticatorData: string
    readonly signature: string
    readonly userHandle: string
  }
}

/** Whom an answer claims to be from. Nothing of it is verified but the challenge. */
interface PasskeyClaim {
  readonly agencyId: string
  readonly personId: string
  readonly challengedAt: Instant
}

export type PersonMember = Member & { readonly kind: 'person' }

export class Passkeys {
  readonly #key: Buffer
  readonly #publicUrl: () => string
  readonly #clock: Pick<Clock, 'now'>

  /**
   * @param options.secretKey 32 bytes
   * @param options.publicUrl the origin of the page, which passkeys are bound to
   */
  constructor(options: { secretKey: Uint8Array; publicUrl: () => string; clock: Pick<Clock, 'now'> }) {
    this.#key = Buffer.from(hkdfSync('sha256', options.secretKey, '', 'nightledger-passkey-challenge', 32))
    this.#publicUrl = options.publicUrl
    this.#clock = options.clock
  }

  /** @param existing the passkeys that the person keeps: none of their authenticators makes another */
  creationOptions({ member, agency }: PersonMember, existing: readonly Passkey[]) {
    return {
      challenge: this.#challenge(member.id),
      rp: { id: this.#rpId, name: 'nightledger' },
      user: {
        id: userHandleOf(member),
        name: member.email ?? `${member.name} (${agency.slug})`,
        displayName: member.name,
      },
      pubKeyCredParams: ALGORITHMS.map((alg) => ({ alg, type: 'public-key' as const })),
      timeout: CHALLENGE_MS_MAX,
      attestation: 'none' as const,
      authenticatorSelection: {
        residentKey: 'required' as const,
        requireResidentKey: true as const,
        userVerification: 'required' as const,
      },
      excludeCredentials: existing.map(({ credentialId, transports }) => ({
        id: credentialId,
        type: 'public-key' as const,
        transports: [...transports],
      })),
    }
  }

  /** The same for everybody, but for the challenge. */
  requestOptions() {
    return {
      challenge: this.#challenge(SIGN_IN),
      rpId: this.#rpId,
      timeout: CHALLENGE_MS_MAX,
      userVerification: 'required' as const,
    }
  }

  /** Null: it was not made for this person, on this page, within the last 5 minutes, or its user was not verified. */
  async verifyNew(
    { id: personId }: { readonly id: string },
    { id, rawId, type, response }: NewPasskey,
  ): Promise<Pick<Passkey, 'credentialId' | 'publicKey' | 'signCount' | 'transports' | 'challengedAt'> | null> {
    const challengedAt = this.#challengedAt(response.clientDataJSON, personId)
    if (challengedAt === null) return null
    const { clientDataJSON, transports = [] } = response
    const verified = await ifVerified(() => {
      const attestationObject = withoutAttestation(response.attestationObject)
      return verifyRegistrationResponse({
        response: { id, rawId, type, response: { clientDataJSON, attestationObject }, clientExtensionResults: {} },
        expectedChallenge: () => true,
        expectedOrigin: this.#publicUrl(),
        expectedRPID: this.#rpId,
        requireUserVerification: true,
        supportedAlgorithmIDs: ALGORITHMS,
      })
    })
    const credential = verified?.registrationInfo?.credential
    // The library does not compare them: another could be of any length.
    if (credential === undefined || credential.id !== id) return null
    return {
      credentialId: credential.id,
      publicKey: Buffer.from(credential.publicKey).toString('base64url'),
      signCount: credential.counter,
      transports: transports.filter((name) => /^[a-z-]+$/.test(name)),
      challengedAt,
    }
  }

  /** Null: the challenge is not ours, or too old, or the answer names nobody. */
  claimOf({ response }: PasskeyAnswer): PasskeyClaim | null {
    const claimed = idsInHandle(response.userHandle)
    const challengedAt = this.#challengedAt(response.clientDataJSON, SIGN_IN)
    return claimed === null || challengedAt === null ? null : { ...claimed, challengedAt }
  }

  /**
   * Null: it was not signed by this passkey, on this page, with its user verified.
   * @returns the counter of the authenticator, which is not compared
   */
  async verify(passkey: Passkey, { id, rawId, type, response }: PasskeyAnswer): Promise<number | null> {
    const verified = await ifVerified(() =>
      verifyAuthenticationResponse({
        response: { id, rawId, type, response, clientExtensionResults: {} },
        expectedChallenge: () => true,
        expectedOrigin: this.#publicUrl(),
        expectedRPID: this.#rpId,
        requireUserVerification: true,
        credential: {
          id: passkey.credentialId,
          publicKey: new Uint8Array(Buffer.from(passkey.publicKey, 'base64url')),
          counter: 0,
        },
      }),
    )
    return verified?.verified === true ? verified.authenticationInfo.newCounter : null
  }

  get #rpId(): string {
    return new URL(this.#publicUrl()).hostname
  }

  /** Its time, random bytes, and the HMAC of both and the purpose. @param purpose `SIGN_IN`, or the person who makes a passkey */
  #challenge(purpose: string): string {
    const head = Buffer.concat([Buffer.alloc(TIME_BYTES), randomBytes(NONCE_BYTES)])
    head.writeBigUInt64BE(BigInt(this.#clock.now()))
    return Buffer.concat([head, this.#hmac(head, purpose)]).toString('base64url')
  }

  /** When the challenge in the client data was made; null when it is not ours, for something else, or too old. */
  #challengedAt(clientDataJSON: string, purpose: string): Instant | null {
    const bytes = Buffer.from(challengeIn(clientDataJSON) ?? '', 'base64url')
    const head = bytes.subarray(0, TIME_BYTES + NONCE_BYTES)
    const hmac = bytes.subarray(head.length)
    if (hmac.length !== HMAC_BYTES || !timingSafeEqual(hmac, this.#hmac(head, purpose))) return null
    const at = Number(head.readBigUInt64BE())
    return this.#clock.now() - at > CHALLENGE_MS_MAX ? null : at
  }

  #hmac(head: Buffer, purpose: string): Buffer {
    return createHmac('sha256', this.#key).update(head).update(purpose).digest()
  }
}

/** 32 bytes: in a cluster, the request of a sign-in finds its owner by them. */
function userHandleOf({ id, agencyId }: { readonly id: string; readonly agencyId: string }): string {
  return Buffer.from(uuidOf(agencyId) + uuidOf(id), 'hex').toString('base64url')
}

/** Whom a user handle names; null when it is none of ours. */
export function idsInHandle(userHandle: string): { readonly agencyId: string; readonly personId: string } | null {
  const bytes = Buffer.from(userHandle, 'base64url')
  if (bytes.length !== 2 * UUID_BYTES) return null
  const hex = bytes.toString('hex')
  return { agencyId: idOf('agc', hex.slice(0, 2 * UUID_BYTES)), personId: idOf('per', hex.slice(2 * UUID_BYTES)) }
}

function challengeIn(clientDataJSON: string): string | null {
  try {
    const { challenge } = JSON.parse(Buffer.from(clientDataJSON, 'base64url').toString()) as { challenge?: unknown }
    return typeof challenge === 'string' ? challenge : null
  } catch {
    return null
  }
}

/**
 * The same with format `none`. Nobody has asked for an attestation, and the library would trust certificates that the caller has made: it
 * fetches the revocation lists that these name, from wherever that is.
 */
function withoutAttestation(attestationObject: string): string {
  const authData = decodeAttestationObject(isoBase64URL.toBuffer(attestationObject)).get('authData')
  const attStmt = new Map<string, never>()
  const none = new Map<string, string | Uint8Array | typeof attStmt>([
    ['fmt', 'none'],
    ['attStmt', attStmt],
    ['authData', authData],
  ])
  return isoBase64URL.fromBuffer(isoCBOR.encode(none))
}

/** The library throws whatever does not verify: what a browser sends may be malformed in any way. */
async function ifVerified<T>(verify: () => Promise<T>): Promise<T | null> {
  try {
    return await verify()
  } catch (error) {
    if (error instanceof AssertionError) throw error
    return null
  }
}
