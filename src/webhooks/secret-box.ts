import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { assert } from '../lib/assert.ts'

/**
 * A secret cannot be decrypted: a different SECRET_KEY, a different endpoint's row, or damage. The message never
 * contains the secret.
 */
export class SecretBoxError extends Error {
  override readonly name = 'SecretBoxError'
}

/** Whose secret it is. A secret sealed for one owner does not open for another. */
export interface SecretOwner {
  readonly agencyId: string
  readonly endpointId: string
}

const FORMAT = 'v1'
const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Encrypts webhook secrets at rest: AES-256-GCM with a random nonce, bound to agency and endpoint. */
export class SecretBox {
  readonly #key: Uint8Array

  /** @param key 32 bytes (SECRET_KEY) */
  constructor(key: Uint8Array) {
    assert(key.length === 32, `Cannot seal secrets: the key has ${key.length} bytes`)
    this.#key = key
  }

  /** Returns `v1.` and the base64url of nonce, ciphertext and tag. */
  seal(secret: string, owner: SecretOwner): string {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(CIPHER, this.#key, nonce).setAAD(ownerBytes(owner))
    const sealed = Buffer.concat([nonce, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()])
    return `${FORMAT}.${sealed.toString('base64url')}`
  }

  /** @throws SecretBoxError when the secret was sealed with another key or for another owner, or was modified */
  open(sealed: string, owner: SecretOwner): string {
    const [format, text = ''] = sealed.split('.')
    const bytes = Buffer.from(text, 'base64url')
    if (format !== FORMAT || bytes.length < NONCE_BYTES + TAG_BYTES) {
      throw new SecretBoxError('Cannot open a webhook secret: it is not in a form this program knows')
    }
    const decipher = createDecipheriv(CIPHER, this.#key, bytes.subarray(0, NONCE_BYTES))
      .setAAD(ownerBytes(owner))
      .setAuthTag(bytes.subarray(-TAG_BYTES))
    try {
      const opened = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()])
      return opened.toString('utf8')
    } catch {
      // No `cause`: OpenSSL's message adds nothing useful.
      throw new SecretBoxError('Cannot open a webhook secret: SECRET_KEY is not the one it was sealed with')
    }
  }
}

/** Each part is prefixed with its length, so that no two owners encode to the same bytes. */
function ownerBytes({ agencyId, endpointId }: SecretOwner): Buffer {
  return Buffer.from(`webhook-secret ${agencyId.length}:${agencyId} ${endpointId.length}:${endpointId}`)
}
