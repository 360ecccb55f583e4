import type { Sql } from '../client/connect.ts'
import { checkSchema } from '../schema/migrate.ts'

/** A writer that has not beaten for this long is gone, or hangs: five heartbeats. */
export const SILENT_MS = 5_000

/** NODE_IDs of the nodes of a cluster that serve this database, in order. One that hangs is none: it is fenced when it continues. */
export async function servingNodes(writers: Pick<PostgresWriters, 'list'>): Promise<readonly string[]> {
  return (await writers.list())
    .filter((writer) => isServing(writer) && isOfCluster(writer))
    .flatMap(({ node }) => node ?? [])
    .sort()
}

/** Whether the writer is a node on etcd, which shares the shards with others. A process that has all, and its workers, is not. */
export function isOfCluster({ node }: Pick<Writer, 'node'>): boolean {
  return node !== null && !node.includes(WORKER_SEPARATOR)
}

/** No NODE_ID has it. */
const WORKER_SEPARATOR = '/'

/**
 * What is in `node` of a parent of workers, and of each worker.
 * @param parentId `writer_id` of the parent
 * @param worker its number, from 1; 0: the parent
 */
export function workerNode(parentId: string, worker: number): string {
  return `${parentId}${WORKER_SEPARATOR}${worker}`
}

function isServing({ isReleased, silentMs }: Writer): boolean {
  return !isReleased && silentMs < SILENT_MS
}

/** A process that has shards, as its row says. */
export interface Writer {
  readonly writerId: string
  /** Host and process, for people. */
  readonly name: string
  /** Of `ownRun`; null when its machine cannot tell. */
  readonly run: string | null
  /** NODE_ID, or `workerNode`; null for a process that has all shards. */
  readonly node: string | null
  /** How many shards it has. */
  readonly shards: number
  /** Of its last heartbeat, by the clock of Postgres: changes with each. */
  readonly beatAt: number
  /** Since then, by the same clock. */
  readonly silentMs: number
  readonly isDraining: boolean
  readonly isReleased: boolean
}

/** The rows of writers: their heartbeats, and how a process that is stopped gives its shards up. */
export class PostgresWriters {
  readonly #sql: Sql

  /** @param sql of purpose `probes`, so that a heartbeat is written under any load */
  constructor(sql: Sql) {
    this.#sql = sql
  }

  /** Those that shards have; none for shards that nobody has. */
  async list(): Promise<readonly Writer[]> {
    const rows = await this.#sql<Writer[]>`
      select writer_id as "writerId", name, run, node, shards::int as "shards", extract(epoch from beat_at)::float8 * 1000 as "beatAt",
             silent_ms as "silentMs", is_draining as "isDraining", is_released as "isReleased"
      from shard_writers()`
    return rows
  }

  /** Returns when a writer begins to drain (unless that is known) or releases its shards, at the latest after `waitMs`. */
  async change({ waitMs, isDrainingKnown }: { waitMs: number; isDrainingKnown: boolean }): Promise<void> {
    await this.#sql`select await_writers(${waitMs}, ${isDrainingKnown})`
  }

  /**
   * @returns null when another process has taken over; otherwise whether one waits for its turn, or has within the last minute: one that is
   *   started again, or that reaches the database with pauses, is still reckoned with
   */
  async beat(writerId: string): Promise<{ readonly isAwaited: boolean } | null> {
    const [beaten] = await this.#sql<{ isAwaited: boolean }[]>`
      update writer set beat_at = clock_timestamp() where writer_id = ${writerId} and released_at is null
      returning coalesce(awaited_at > clock_timestamp() - interval '1 minute', false) as "isAwaited"`
    return beaten ?? null
  }

  /**
   * For a process that has waited for its turn, because the database may have been migrated meanwhile.
   * @throws MigrationError when this program does not run on the schema any more (docs/versions.md#migrations)
   */
  checkSchema(): Promise<void> {
    return checkSchema(this.#sql)
  }

  /** Tells the writers that this process waits for its turn. Call it as often as you look: it is written once a second. */
  async await(): Promise<void> {
    await this.#sql`
      update writer set awaited_at = clock_timestamp()
      where awaited_at is null or awaited_at < clock_timestamp() - interval '1 second'`
  }

  /**
   * Makes a parent of workers the writer of all shards, which its workers then take from it.
   * @param gone as `JournalStore.takeOver`
   * @throws what the database rejects with; NL005: another process has taken over
   */
  async takeOverAsParent(
    { writerId, holder, run }: { readonly writerId: string; readonly holder: string; readonly run: string | null },
    gone: readonly string[] | null,
  ): Promise<void> {
    await this.#sql`
      select count(*) from take_over(${holder}, ${writerId}, ${run}, ${gone === null ? null : `{${gone.join()}}`}::text::uuid[],
                                     ${workerNode(writerId, 0)})`
  }

  /** Of a node that has given up all its shards. */
  async forget(writerId: string): Promise<void> {
    await this.#sql`delete from writer where writer_id = ${writerId}`
  }

  async drain(writerId: string): Promise<void> {
    await this.#sql`update writer set draining_at = clock_timestamp() where writer_id = ${writerId}`
  }

  /** Nothing may be written by this process afterwards. */
  async release(writerId: string): Promise<void> {
    await this.#sql`update writer set released_at = clock_timestamp() where writer_id = ${writerId}`
  }
}
