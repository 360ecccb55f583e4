/** A software authenticator for passkeys: what a browser and a device do together, without either. ES256, no attestation. */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import type { CreationOptions, NewPasskey, PasskeyAnswer, RequestOptions } from '../../src/api/portal/passkey-json.ts'
import { TEST_PAGE_URL } from './service-process.ts'

/** User present, user verified. */
const FLAGS = 0x05
const WITH_CREDENTIAL = 0x40

export interface Device {
  readonly credentialId: Buffer
  readonly userHandle: string
  readonly key: KeyObject
  readonly coseKey: Buffer
  signCount: number
}

interface Made {
  readonly device: Device
  readonly passkey: NewPasskey
}

/** CBOR of the first two members of an attestation object. */
const NO_ATTESTATION = '63666d74646e6f6e656761747453746d74a0' // "fmt": "none", "attStmt": {}

/**
 * @param how.origin of the page that asks; `flags`: what the authenticator claims about its user; `attestation`: as NO_ATTESTATION; `id`: what
 *   the browser calls the passkey
 */
export function makePasskey(
  { challenge, rp, user }: Pick<CreationOptions, 'challenge' | 'rp' | 'user'>,
  { origin = TEST_PAGE_URL, flags = FLAGS, signCount = 0, attestation = NO_ATTESTATION, id: named = '' } = {},
): Made {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  // {1: 2, 3: -7, -1: 1, -2: x, -3: y}
  const head = Buffer.from('a5010203262001215820', 'hex')
  const coseKey = Buffer.concat([
    head,
    Buffer.from(x, 'base64url'),
    Buffer.from('225820', 'hex'),
    Buffer.from(y, 'base64url'),
  ])
  const device: Device = { credentialId: randomBytes(16), userHandle: user.id, key: privateKey, coseKey, signCount }
  const { credentialId } = device
  const length = Buffer.alloc(2)
  length.writeUInt16BE(credentialId.length)
  const attested = Buffer.concat([Buffer.alloc(16), length, credentialId, coseKey])
  const authData = Buffer.concat([authenticatorData(rp.id, flags | WITH_CREDENTIAL, signCount), attested])
  // {…, "authData": bytes}
  const attestationObject = Buffer.concat([
    Buffer.from(`a3${attestation}686175746844617461`, 'hex'),
    Buffer.from([0x58, authData.length]),
    authData,
  ])
  const id = named || credentialId.toString('base64url')
  const response = {
    clientDataJSON: clientData('webauthn.create', challenge, origin),
    attestationObject: attestationObject.toString('base64url'),
    transports: ['internal'],
  }
  return { device, passkey: { id, rawId: id, type: 'public-key', response } }
}

/** Signs a challenge. The counter rises only if it is not 0: most passkeys have none. */
export function answerWith(
  device: Device,
  { challenge, rpId }: Pick<RequestOptions, 'challenge' | 'rpId'>,
  { origin = TEST_PAGE_URL, flags = FLAGS, userHandle = device.userHandle } = {},
): PasskeyAnswer {
  if (device.signCount > 0) device.signCount += 1
  const authData = authenticatorData(rpId, flags, device.signCount)
  const clientDataJSON = clientData('webauthn.get', challenge, origin)
  const hash = createHash('sha256').update(Buffer.from(clientDataJSON, 'base64url')).digest()
  const signature = sign('sha256', Buffer.concat([authData, hash]), device.key)
  const id = device.credentialId.toString('base64url')
  const response = {
    clientDataJSON,
    userHandle,
    authenticatorData: authData.toString('base64url'),
    signature: signature.toString('base64url'),
  }
  return { id, rawId: id, type: 'public-key', response }
}

function authenticatorData(rpId: string, flags: number, signCount: number): Buffer {
  const rest = Buffer.alloc(5)
  rest.writeUInt8(flags)
  rest.writeUInt32BE(signCount, 1)
  return Buffer.concat([createHash('sha256').update(rpId).digest(), rest])
}

function clientData(type: string, challenge: string, origin: string): string {
  return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false })).toString('base64url')
}
