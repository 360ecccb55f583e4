import type { Month } from '../../core/journal/shard.ts'
import {
  type BuiltPart,
  type CheckpointRows,
  type EntryLeaf,
  type NextLeaves,
  TreeDamagedError,
  type TreeEnd,
} from '../../events/checkpoints/checkpoint-rows.ts'
import { type Hash, placeOf, type TreeNode } from '../../events/checkpoints/merkle-tree.ts'
import { idOf, uuidOf } from '../../lib/ids.ts'
import { HASH_BYTES } from '../../lib/merkle-hash.ts'
import type { Sql } from '../client/connect.ts'

/** Of an agency without entries. */
const BEFORE_ALL = { lastSeq: 0, lastMonth: '0001-01-01' } as const satisfies Partial<TreeEnd>

/** The trees of agencies, and what they are built from. */
export class PostgresCheckpointRows implements CheckpointRows {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  async behind(
    shards: readonly number[],
    after: string | null,
    limit: number,
  ): Promise<{ readonly agencyIds: readonly string[]; readonly lastId: string | null }> {
    const [row] = await this.#sql<{ agencies: string[] | null; lastId: string | null }[]>`
      select to_json(agencies) as "agencies", last_id as "lastId"
      from agencies_behind(${arrayOf(shards)}::text::smallint[], ${after === null ? null : uuidOf(after)}::text::uuid, ${limit})`
    const { agencies = null, lastId = null } = row ?? {}
    return {
      agencyIds: (agencies ?? []).map((id) => idOf('agc', id)),
      lastId: lastId === null ? null : idOf('agc', lastId),
    }
  }

  async end(agencyId: string): Promise<TreeEnd> {
    const [row] = await this.#sql<{ size: number; lastSeq: number; lastMonth: Month }[]>`
      select size::float8 as "size", last_seq::float8 as "lastSeq", last_month::text as "lastMonth"
      from checkpoint where agency_id = ${uuidOf(agencyId)}::text::uuid order by first_leaf desc limit 1`
    return { agencyId, size: 0, ...BEFORE_ALL, ...row }
  }

  async hashes(agencyId: string, nodes: readonly TreeNode[]): Promise<readonly Hash[]> {
    if (nodes.length === 0) return []
    const places = nodes.map(placeOf)
    const [row] = await this.#sql<{ hashes: Uint8Array }[]>`
      select tree_hashes(${uuidOf(agencyId)}::text::uuid, ${arrayOf(places.map(({ leaf }) => leaf))}::text::bigint[],
                         ${arrayOf(places.map(({ place }) => place))}::text::bigint[]) as "hashes"`
    const hashes = hashesIn(row?.hashes ?? new Uint8Array())
    // A root that is made from fewer would be signed.
    if (hashes.length !== nodes.length) throw new TreeDamagedError(agencyId)
    return hashes
  }

  async nextLeaves(ends: readonly TreeEnd[], limit: number): Promise<readonly NextLeaves[]> {
    const rows = await this.#sql<(Omit<NextLeaves, 'leaves'> & { hashes: Uint8Array })[]>`
      select agency_id as "agencyId", hashes, last_seq::float8 as "lastSeq", last_month::text as "lastMonth", last_id as "lastId"
      from next_leaves(${arrayOf(ends.map(({ agencyId }) => uuidOf(agencyId)))}::text::uuid[],
                       ${arrayOf(ends.map(({ lastSeq }) => lastSeq))}::text::bigint[],
                       ${arrayOf(ends.map(({ lastMonth }) => lastMonth))}::text::date[], ${limit})`
    return rows.map(({ agencyId, lastId, hashes, ...last }) => ({
      ...last,
      agencyId: idOf('agc', agencyId),
      lastId: idOf('evt', lastId),
      leaves: hashesIn(hashes),
    }))
  }

  async keep(parts: readonly BuiltPart[]): Promise<ReadonlySet<string>> {
    const column = (of: (part: BuiltPart) => string | number) => arrayOf(parts.map(of))
    let bytes = 0
    const ends = parts.map(({ hashes }) => {
      bytes += hashes.length
      return bytes
    })
    const all = `\\x${Buffer.concat(parts.map(({ hashes }) => hashes)).toString('hex')}`
    const rows = await this.#sql<{ agencyId: string }[]>`
      select kept as "agencyId"
      from keep_checkpoints(${column(({ agencyId }) => uuidOf(agencyId))}::text::uuid[], ${column(({ firstLeaf }) => firstLeaf)}::text::bigint[],
                            ${column(({ size }) => size)}::text::bigint[], ${column(({ lastSeq }) => lastSeq)}::text::bigint[],
                            ${column(({ lastMonth }) => lastMonth)}::text::date[], ${column(({ lastId }) => uuidOf(lastId))}::text::uuid[],
                            ${arrayOf(ends)}::text::integer[], ${all}::text::bytea) kept`
    return new Set(rows.map(({ agencyId }) => idOf('agc', agencyId)))
  }

  async leavesOfBooking(agencyId: string, bookingId: string, limit: number): Promise<readonly EntryLeaf[]> {
    const agency = uuidOf(agencyId)
    const rows = await this.#sql<EntryLeaf[]>`
      select leaf_of(${agency}::text::uuid, c.seq)::float8 as "index", l.entry
      from changes_of_booking(${agency}::text::uuid, ${uuidOf(bookingId)}::text::uuid, null, null, ${limit}, true) c
      join leaves() l on l.agency_id = ${agency}::text::uuid and l.seq = c.seq
      order by c.seq`
    return rows.filter(({ index }) => index !== null)
  }

  /**
   * The entries of these days, UTC, that are kept and among the first `size` leaves: from the first to the last one, and all in between,
   * also those that a clock that was set back gave another day.
   * @returns null: there are none
   */
  async entriesBetween(
    agencyId: string,
    { from, to, size }: { from: string | null; to: string | null; size: number },
  ): Promise<{ readonly firstSeq: number; readonly lastSeq: number; readonly firstLeaf: number } | null> {
    const agency = uuidOf(agencyId)
    const [row] = await this.#sql<{ firstSeq: number | null; lastSeq: number; firstLeaf: number }[]>`
      select first_seq::float8 as "firstSeq", last_seq::float8 as "lastSeq", leaf_of(${agency}::text::uuid, first_seq)::float8 as "firstLeaf"
      from (
        select min(j.seq) as first_seq, max(j.seq) as last_seq from journal j
        where j.agency_id = ${agency}::text::uuid
          and j.seq <= (select max(c.last_seq) from checkpoint c where c.agency_id = ${agency}::text::uuid and c.size <= ${size})
          and (${from}::text is null or j.at >= ${from}::text::timestamp at time zone 'UTC')
          and (${to}::text is null or j.at < (${to}::text::timestamp + interval '1 day') at time zone 'UTC')) range`
    const { firstSeq = null, lastSeq = 0, firstLeaf = 0 } = row ?? {}
    return firstSeq === null ? null : { firstSeq, lastSeq, firstLeaf }
  }

  /** The agency's entries with numbers above `after` and up to `until`, in order. */
  async entries(
    agencyId: string,
    { after, until, limit }: { after: number; until: number; limit: number },
  ): Promise<readonly { readonly seq: number; readonly entry: string }[]> {
    return this.#sql<{ seq: number; entry: string }[]>`
      select l.seq::float8 as "seq", l.entry from leaves() l
      where l.agency_id = ${uuidOf(agencyId)}::text::uuid and l.seq > ${after} and l.seq <= ${until} order by l.seq limit ${limit}`
  }

  async listKey(vkey: string): Promise<readonly string[]> {
    await this.#sql`insert into checkpoint_key (vkey) values (${vkey}) on conflict do nothing`
    const rows = await this.#sql<{ vkey: string }[]>`select vkey from checkpoint_key order by at desc`
    return rows.map((row) => row.vkey)
  }
}

/** An array as PostgreSQL reads it, of values that need no quotes. */
function arrayOf(values: readonly (string | number)[]): string {
  return `{${values.join()}}`
}

/** The hashes that these bytes are, one after the other. */
export function hashesIn(bytes: Uint8Array): Hash[] {
  const count = bytes.length / HASH_BYTES
  return Array.from({ length: count }, (_, index) => bytes.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES))
}
