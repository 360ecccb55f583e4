import { createHmac } from 'node:crypto'
import { type SealedSecrets, secretsOpen } from './reseal.ts'
import { SecretBox } from './secret-box.ts'

/**
 * Tells one SECRET_KEY from another, and cannot be turned back into it: what the database keeps of the key it is used with.
 * @param key 32 bytes
 * @returns 64 hexadecimal digits
 */
export function secretKeyCheck(key: Uint8Array): string {
  return createHmac('sha256', key).update('secret key check v1').digest('hex')
}

/**
 * Whether a database that keeps no check value yet may have been used with `key`: it opens a secret, or there is none. Not
 * every one, because an earlier version started with any key, and sealed with it what was made meanwhile.
 */
export function mayHaveSealed(key: Uint8Array, rows: readonly SealedSecrets[]): boolean {
  const box = new SecretBox(key)
  return rows.length === 0 || rows.some((row) => secretsOpen(box, row))
}
