/**
 * - K1 The keys of the chains are stored encrypted with SECRET_KEY, each bound to its shard.
 */
import { randomBytes } from 'node:crypto'
import { openText, sealText } from '../../lib/sealed-text.ts'

/** The key of a shard's chain. */
export interface ChainKey {
  /** 32 bytes. */
  readonly key: Uint8Array
  /**
   * The last entry that was linked with the key before this one, which is lost; 0 when there was none. Encrypted together with the key, so that
   * nobody without SECRET_KEY can exempt entries from verification.
   */
  readonly since: number
}

/** The key of a chain cannot be decrypted, or is missing. */
export class ChainKeyError extends Error {
  override readonly name = 'ChainKeyError'
}

export const CHAIN_KEY_BYTES = 32

/** A random key. */
export function newChainKey(since = 0): ChainKey {
  return { key: randomBytes(CHAIN_KEY_BYTES), since }
}

/**
 * The key as it is stored: encrypted, and bound to its shard.
 * @param secretKey 32 bytes (SECRET_KEY)
 */
export function sealChainKey(secretKey: Uint8Array, shard: number, { key, since }: ChainKey): string {
  return sealText(secretKey, `${Buffer.from(key).toString('hex')} ${since}`, boundTo(shard))
}

/** Null when it was sealed with another SECRET_KEY or for another shard, or was modified. */
export function openChainKey(secretKey: Uint8Array, shard: number, sealed: string): ChainKey | null {
  const [hex = '', since = ''] = openText(secretKey, sealed, boundTo(shard))?.split(' ') ?? []
  return hex === '' ? null : { key: Uint8Array.fromHex(hex), since: Number(since) }
}

function boundTo(shard: number): string {
  return `chain-key ${shard}`
}
