import type { ShardEpoch, WriterTerm } from '../../core/journal/journal-store.ts'
import { connect, type Sql } from '../client/connect.ts'
import { assertWritable } from '../client/failed-write.ts'
import { fencesText } from './append-batch.ts'
import { type TakenRow, termOf } from './loaded-rows.ts'
import { SecretKeyError, storedCheck } from './stored-key-check.ts'

/** The row in `writer` of a node. */
interface NodeWriter {
  /** A UUID, drawn for this process. */
  readonly writerId: string
  /** Host and process, for people. */
  readonly holder: string
  /** Of `ownRun`. */
  readonly run: string | null
  /** NODE_ID, or `workerNode`. */
  readonly node: string
  /** Of a worker: `writerId` of its parent. Null: it has none. */
  readonly parentId: string | null
}

/** SECRET_KEY, as a node has it. */
interface NodeKey {
  /** Of `secretKeyCheck`. */
  readonly check: string
  /** The database has another one by now. What this process would write could not be read with that. */
  onChanged(cause: SecretKeyError): void
}

/** How a node becomes the writer of shards in Postgres, and learns that it no longer is. On connections of its own. */
export class PostgresShards {
  readonly #url: string
  readonly #writer: NodeWriter
  readonly #key: NodeKey | null
  #taking: Sql
  #confirming: Sql

  /** @param key null: it is not looked at */
  constructor(url: string, writer: NodeWriter, key: NodeKey | null) {
    this.#url = url
    this.#writer = writer
    this.#key = key
    this.#taking = connect(url, { purpose: 'journal' })
    // Not behind a take-over, which may wait for a lock.
    this.#confirming = connect(url, { purpose: 'journal' })
  }

  /** Opens its connections. @throws what the database rejects with */
  async open(): Promise<void> {
    await Promise.all([assertWritable(this.#taking), this.ping()])
  }

  /**
   * Makes this node the only writer of these shards (C3): no batch of an earlier one can commit there afterwards.
   *
   * - K1 A change of SECRET_KEY fences every shard, and a node takes a shard only with the key that the database has then.
   * @param shards in order
   * @throws SecretKeyError, or what the database rejects with (NL005: another process has taken over from the parent). When it is not known
   *   whether it has taken them; the next call uses a new connection
   */
  async take(shards: readonly number[]): Promise<WriterTerm> {
    const { writerId, holder, run, node, parentId } = this.#writer
    const client = this.#taking
    try {
      await assertWritable(client)
      const rows = await client<TakenRow[]>`
        select shard, epoch::float8 as "epoch", last_seq::float8 as "lastSeq", last_month::text as "lastMonth",
               last_link as "lastLink", newest_month::text as "newestMonth"
        from take_shards(${`{${shards.join()}}`}::text::smallint[], ${holder}, ${writerId}, ${run}, ${node}, ${parentId})`
      const key = this.#key
      if (key !== null && (await storedCheck(client)) !== key.check) {
        const cause = new SecretKeyError()
        key.onChanged(cause)
        throw cause
      }
      return termOf(rows)
    } catch (error) {
      if (client === this.#taking) this.#taking = this.#insteadOf(client)
      throw error
    }
  }

  /** Tells whoever waits for the writers that these shards have none. @throws what the database rejects with */
  async giveUp(shards: readonly number[]): Promise<void> {
    await this.#taking`
      select give_up_shards(${`{${[...shards].sort((a, b) => a - b).join()}}`}::text::smallint[], ${this.#writer.writerId})`
  }

  /**
   * Those of these shards that another writer has taken. The answer is that of the primary, and its synchronous standby: one that was
   * cut off does not give it.
   * @throws when the database does not answer
   */
  async lost(owned: readonly ShardEpoch[]): Promise<readonly number[]> {
    const { shards, epochs } = fencesText(owned)
    const client = this.#confirming
    try {
      const rows = await client<{ shard: number }[]>`
        select lost_shards(${shards}::text::smallint[], ${epochs}::text::bigint[], ${this.#writer.writerId}) as "shard"`
      return rows.map(({ shard }) => shard)
    } catch (error) {
      if (client === this.#confirming) this.#confirming = this.#insteadOf(client)
      throw error
    }
  }

  /** The primary answers, and its synchronous standby. @throws when they do not */
  async ping(): Promise<void> {
    await this.lost([])
  }

  async close(): Promise<void> {
    await Promise.all([this.#taking.end({ timeout: 1 }), this.#confirming.end({ timeout: 1 })])
  }

  #insteadOf(broken: Sql): Sql {
    // Whatever becomes of the broken one no longer matters.
    void Promise.allSettled([broken.end({ timeout: 0 })])
    return connect(this.#url, { purpose: 'journal' })
  }
}
