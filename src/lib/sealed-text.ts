import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { assert } from './assert.ts'

const FORMAT = 'v1'
const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * Encrypts a text with AES-256-GCM and a random nonce.
 * @param key 32 bytes
 * @param boundTo what the text belongs to: it does not open for anything else
 * @returns `v1.` and the base64url of nonce, ciphertext and tag
 */
export function sealText(key: Uint8Array, text: string, boundTo: string): string {
  assertKey(key)
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(boundTo))
  const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
  return `${FORMAT}.${sealed.toString('base64url')}`
}

/** Null when it was sealed with another key, or bound to something else, or was modified. */
export function openText(key: Uint8Array, sealed: string, boundTo: string): string | null {
  assertKey(key)
  const [format, encoded = ''] = sealed.split('.')
  const bytes = Buffer.from(encoded, 'base64url')
  if (format !== FORMAT || bytes.length < NONCE_BYTES + TAG_BYTES) return null
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES))
    .setAAD(Buffer.from(boundTo))
    .setAuthTag(bytes.subarray(-TAG_BYTES))
  try {
    const opened = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()])
    return opened.toString('utf8')
  } catch {
    // OpenSSL's message adds nothing useful.
    return null
  }
}

function assertKey(key: Uint8Array): void {
  assert(key.length === KEY_BYTES, `Cannot seal secrets: the key has ${key.length} bytes`)
}
