import { type ChainKey, ChainKeyError, newChainKey, openChainKey, sealChainKey } from '../../core/journal/chain-key.ts'
import { SHARDS } from '../../core/journal/shard.ts'
import type { Sql } from '../client/connect.ts'

/** A chain key as it is stored. */
export interface SealedChainKey {
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

  /** When two first starts race, the keys of one of them are stored, all of them: both insert in the order of the shards. */
  async #make(): Promise<void> {
    const rows = Array.from({ length: SHARDS }, (_, shard) => ({
      shard,
      key_sealed: sealChainKey(this.#secretKey, shard, newChainKey()),
    }))
    await this.#sql`
      insert into shard_chain (shard, key_sealed)
      select shard, key_sealed from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as k (shard smallint, key_sealed text)
      where not exists (select from shard_chain) order by shard
      on conflict (shard) do nothing`
  }
}

/** In the order of the shards. */
export async function sealedChainKeys(sql: Sql): Promise<readonly SealedChainKey[]> {
  return await sql<SealedChainKey[]>`select shard, key_sealed as "keySealed" from shard_chain order by shard`
}
