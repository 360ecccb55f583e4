import {
  type ChainKey,
  ChainKeyError,
  newChainKey,
  openChainKey,
  SHARDS,
  sealChainKey,
} from '../../core/journal/shard.ts'
import { secretKeyCheck } from '../../events/webhooks/re-encrypt.ts'
import type { Sql } from '../client/connect.ts'

/** A chain key as it is stored, sealed. */
interface SealedChainKey {
  readonly shard: number
  readonly keySealed: string
}

/** The keys of the shards' chains, in `shard_chain`. */
export class PostgresChainKeys {
  readonly #sql: Sql
  readonly #secretKey: Uint8Array

  /** @param secretKey 32 bytes (SECRET_KEY), which `checkSecretKey` has found to be the database's */
  constructor(sql: Sql, secretKey: Uint8Array) {
    this.#sql = sql
    this.#secretKey = secretKey
  }

  /**
   * The keys, by shard. Makes them when the database has none yet.
   * @throws ChainKeyError when one is missing or was modified
   */
  async open(): Promise<readonly Uint8Array[]> {
    if ((await sealedChainKeys(this.#sql)).length === 0) await this.#make()
    return (await this.read()).map((opened, shard) => {
      if (opened !== null) return opened.key
      throw new ChainKeyError(
        `Cannot open the journal: the chain key of shard ${shard} is missing, or SECRET_KEY does not open it`,
      )
    })
  }

  /** The keys, by shard; null where one is missing or was modified. Writes nothing. */
  async read(): Promise<readonly (ChainKey | null)[]> {
    const sealed = new Map((await sealedChainKeys(this.#sql)).map(({ shard, keySealed }) => [shard, keySealed]))
    return Array.from({ length: SHARDS }, (_, shard) => {
      const text = sealed.get(shard)
      return text === undefined ? null : openChainKey(this.#secretKey, shard, text)
    })
  }

  /**
   * When two first starts race, the keys of one of them are stored, all of them: both insert in the order of the shards. The check
   * value is locked, so that no key is sealed with a SECRET_KEY that has just been replaced (K1).
   */
  async #make(): Promise<void> {
    const rows = Array.from({ length: SHARDS }, (_, shard) => ({
      shard,
      key_sealed: sealChainKey(this.#secretKey, shard, newChainKey()),
    }))
    await this.#sql`
      with used as (select hmac from secret_key_check for share)
      insert into shard_chain (shard, key_sealed)
      select shard, key_sealed from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as k (shard smallint, key_sealed text)
      where not exists (select from shard_chain) and not exists (select from used where hmac <> ${secretKeyCheck(this.#secretKey)})
      order by shard
      on conflict (shard) do nothing`
  }
}

/** In the order of the shards. */
export async function sealedChainKeys(sql: Sql): Promise<readonly SealedChainKey[]> {
  return await sql<SealedChainKey[]>`select shard, key_sealed as "keySealed" from shard_chain order by shard`
}

/** A chain key as it is stored, and as it is to be stored. */
export interface ReEncryptedChainKey {
  readonly shard: number
  readonly before: string
  readonly after: string
}

/**
 * All keys as the new SECRET_KEY seals them. Those that it opens already stay as they are, so repeating the operation changes
 * nothing.
 * @throws ChainKeyError naming the shards whose key neither opens; the caller must then change nothing
 */
export function reEncryptedChainKeys(
  rows: readonly SealedChainKey[],
  { from, to }: { from: Uint8Array; to: Uint8Array },
): readonly ReEncryptedChainKey[] {
  const unopened: number[] = []
  const keys = rows.map(({ shard, keySealed: before }): ReEncryptedChainKey => {
    if (openChainKey(to, shard, before) !== null) return { shard, before, after: before }
    const key = openChainKey(from, shard, before)
    if (key === null) unopened.push(shard)
    return { shard, before, after: key === null ? before : sealChainKey(to, shard, key) }
  })
  if (unopened.length > 0)
    throw new ChainKeyError(
      `Cannot open the chain keys of ${unopened.length} shards with either key: ${unopened.slice(0, 10).join(', ')}`,
    )
  return keys
}

/**
 * New keys instead of those that `key` does not open: their chains begin again after the last entry, and what is before it cannot
 * be checked any more.
 * @param lastSeqs the last number of each shard, under a fence: nothing is appended meanwhile
 */
export function replacedChainKeys(
  rows: readonly SealedChainKey[],
  { key, lastSeqs }: { key: Uint8Array; lastSeqs: ReadonlyMap<number, number> },
): readonly ReEncryptedChainKey[] {
  return rows.map(({ shard, keySealed: before }) => {
    if (openChainKey(key, shard, before) !== null) return { shard, before, after: before }
    return { shard, before, after: sealChainKey(key, shard, newChainKey(lastSeqs.get(shard))) }
  })
}
