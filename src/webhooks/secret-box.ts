import { assert } from '../lib/assert.ts'
import { openText, sealText } from '../lib/sealed-text.ts'

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

/** Encrypts webhook secrets at rest, bound to agency and endpoint (src/lib/sealed-text.ts). */
export class SecretBox {
  readonly #key: Uint8Array

  /** @param key 32 bytes (SECRET_KEY) */
  constructor(key: Uint8Array) {
    assert(key.length === 32, `Cannot seal secrets: the key has ${key.length} bytes`)
    this.#key = key
  }

  seal(secret: string, owner: SecretOwner): string {
    return sealText(this.#key, secret, textOf(owner))
  }

  /** @throws SecretBoxError when the secret was sealed with another key or for another owner, or was modified */
  open(sealed: string, owner: SecretOwner): string {
    const secret = openText(this.#key, sealed, textOf(owner))
    if (secret === null)
      throw new SecretBoxError('Cannot open a webhook secret: SECRET_KEY is not the one it was sealed with')
    return secret
  }
}

/** Each part is prefixed with its length, so that no two owners have the same text. */
function textOf({ agencyId, endpointId }: SecretOwner): string {
  return `webhook-secret ${agencyId.length}:${agencyId} ${endpointId.length}:${endpointId}`
}
