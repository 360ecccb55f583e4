import { createHmac } from 'node:crypto'
import { type SealedSecrets, secretsOpen } from './re-encrypt.ts'
import { SecretBox } from './secret-box.ts'

/**
 * The check value that the database keeps of its SECRET_KEY. It distinguishes keys without revealing them.
 * @param key 32 bytes
 * @returns 64 hexadecimal digits
 */
export function secretKeyCheck(key: Uint8Array): string {
  return createHmac('sha256', key).update('secret key check v1').digest('hex')
}

/**
 * Whether `key` may be the key of a database that has no check value yet: it decrypts at least one secret, or there are none. It need
 * not decrypt all of them, because an earlier version started with any key and encrypted new secrets with it.
 */
export function mayHaveSealed(key: Uint8Array, rows: readonly SealedSecrets[]): boolean {
  const box = new SecretBox(key)
  return rows.length === 0 || rows.some((row) => secretsOpen(box, row))
}
