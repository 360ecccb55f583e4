import { ANY_SHARD, type RateSlotsToKeep, type StoredRateSlot } from '../../accounts/rate-slots.ts'
import type { Fragment, Sql } from '../client/connect.ts'

/** The requests of the last minute: some 120 rows, or as many of each shard that a node of several has. Every write deletes what is older. */
export class PostgresRateRows {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  /** The slots of all previous writers, including one that was fenced out a moment ago. */
  load(): Promise<readonly StoredRateSlot[]> {
    return this.#select(this.#sql`true`)
  }

  /** Those of these shards, and those that are not divided by shard: of a process that had all shards. */
  loadOf(shards: readonly number[]): Promise<readonly StoredRateSlot[]> {
    return this.#select(this.#sql`shard = any (${`{${[ANY_SHARD, ...shards].join()}}`}::text::smallint[])`)
  }

  async #select(which: Fragment): Promise<readonly StoredRateSlot[]> {
    const rows = await this.#sql<(Omit<StoredRateSlot, 'counts'> & { counts: string })[]>`
      select extract(epoch from clock_timestamp() - ended_at)::float8 * 1000 as "ageMs", wall_ms as "wallMs",
             boot_id as "bootId", boot_ms as "bootMs", counts
      from rate_slot where ${which}`
    return rows.map((row) => ({ ...row, counts: JSON.parse(row.counts) as Record<string, number> }))
  }

  /** A term that no other process has had, for a node of several: below every epoch. */
  async newNodeTerm(): Promise<number> {
    const [row] = await this.#sql<{ term: number }[]>`select -nextval('node_term')::float8 as "term"`
    if (row === undefined) throw new Error('Cannot begin to count requests: no answer')
    return row.term
  }

  /**
   * As `keep`, for a node of several.
   * @param term of `newNodeTerm`
   */
  async keepOfNode(term: number, { slots, keepFrom }: RateSlotsToKeep): Promise<void> {
    await this.#sql`
      select keep_node_rate(${term}::text::bigint, ${slotsText(slots)}::text::jsonb, ${keepFrom}::text::bigint)`
  }

  /**
   * @param epoch of this writer for shard 0
   * @param term the epoch in which this process began to write
   * @throws an error of class `fenced` when another writer has taken over, DeadlineError, or what the database answers
   */
  async keep(
    { epoch, term }: { readonly epoch: number; readonly term: number },
    { slots, keepFrom, dropEarlier }: RateSlotsToKeep,
  ): Promise<void> {
    await this.#sql`
      select keep_rate(${epoch}::text::bigint, ${term}::text::bigint, ${slotsText(slots)}::text::jsonb, ${keepFrom}::text::bigint, ${dropEarlier})`
  }
}

function slotsText(slots: RateSlotsToKeep['slots']): string {
  return JSON.stringify(slots.map(({ counts, ...slot }) => ({ ...slot, counts: JSON.stringify(counts) })))
}
