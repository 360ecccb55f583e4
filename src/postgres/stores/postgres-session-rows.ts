import type { SessionRows, SessionsToKeep, StoredSession } from '../../accounts/portal-sessions.ts'
import { encodeInstant } from '../../core/journal/fields.ts'
import type { ShardEpoch } from '../../core/journal/journal-store.ts'
import { shardOf } from '../../core/journal/shard.ts'
import { idOf, uuidOf } from '../../lib/ids.ts'
import type { Fragment, Sql } from '../client/connect.ts'

interface SessionRow {
  sha256: string
  agencyId: string | null
  tokenId: string | null
  tokenHmac: string | null
  createdAt: Date
  seenAt: Date
}

/** The sessions of the portal's page, written under the fence of shard 0: what a stale writer opens or ends would not be known here. */
export class PostgresSessionRows {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  /**
   * Also those that have ended meanwhile.
   * @param of the operator's, or those of the agencies of some shards; left out: all
   */
  async load(of: 'all' | 'operator' | readonly number[] = 'all'): Promise<readonly StoredSession[]> {
    return (await this.#select(this.#which(of))).map(sessionOf)
  }

  /** The session with this hash; null when there is none. */
  async read(sha256: string): Promise<StoredSession | null> {
    const [row] = await this.#select(this.#sql`secret_sha256 = ${sha256}`)
    return row === undefined ? null : sessionOf(row)
  }

  #select(which: Fragment): Promise<SessionRow[]> {
    return this.#sql<SessionRow[]>`
      select secret_sha256 as "sha256", agency_id as "agencyId", token_id as "tokenId", operator_hmac as "tokenHmac",
             created_at as "createdAt", seen_at as "seenAt"
      from portal_session where ${which}`
  }

  #which(of: 'all' | 'operator' | readonly number[]): Fragment {
    if (of === 'all') return this.#sql`true`
    if (of === 'operator') return this.#sql`agency_id is null`
    return this.#sql`shard_of(agency_id) = any (${`{${of.join()}}`}::text::smallint[])`
  }

  /**
   * The port for a node of several: a token's session is written under the fence of its agency's shard, the operator's under none.
   * @param shards that the node owns now
   */
  writtenByNode(epochOf: (agencyId: string) => number, shards: () => Iterable<number>): SessionRows {
    return {
      insert: (session) => {
        const { holder } = session
        if (holder.kind === 'operator') return this.#insert(null, session)
        return this.#insert({ shard: shardOf(holder.agencyId), epoch: epochOf(holder.agencyId) }, session)
      },
      keep: async ({ seen, ended, idleSince }) => {
        await this.#sql`
          select keep_node_sessions(${`{${[...shards()].join()}}`}::text::smallint[], ${seenText(seen)}::text::jsonb,
                                    ${JSON.stringify(ended)}::text::jsonb, ${encodeInstant(idleSince)}::text::timestamptz)`
      },
    }
  }

  /**
   * The port for a writer.
   * @param epochOf returns its current epoch for shard 0, which may rise. Its writes reject with an error of class `fenced` when another
   *   writer has taken over, DeadlineError, or what the database answers
   */
  writtenBy(epochOf: () => number): SessionRows {
    return {
      insert: (session) => this.#insert({ shard: 0, epoch: epochOf() }, session),
      keep: (what) => this.#keep(epochOf(), what),
    }
  }

  async #insert(fence: ShardEpoch | null, { sha256, holder, createdAt, seenAt }: StoredSession): Promise<void> {
    const { agencyId, tokenId, tokenHmac } =
      holder.kind === 'operator'
        ? { agencyId: null, tokenId: null, tokenHmac: holder.tokenHmac }
        : { agencyId: uuidOf(holder.agencyId), tokenId: uuidOf(holder.tokenId), tokenHmac: null }
    const held =
      fence === null ? this.#sql`true` : this.#sql`check_fence(${fence.shard}::smallint, ${fence.epoch}::text::bigint)`
    await this.#sql`
      with fence as (select ${held} as held)
      insert into portal_session (secret_sha256, agency_id, token_id, operator_hmac, created_at, seen_at)
      select ${sha256}, ${agencyId}::text::uuid, ${tokenId}::text::uuid, ${tokenHmac}, ${encodeInstant(createdAt)}::text::timestamptz,
             ${encodeInstant(seenAt)}::text::timestamptz
      from fence where held`
  }

  async #keep(epoch: number, { seen, ended, idleSince }: SessionsToKeep): Promise<void> {
    await this.#sql`
      select keep_sessions(${epoch}::text::bigint, ${seenText(seen)}::text::jsonb, ${JSON.stringify(ended)}::text::jsonb,
                           ${encodeInstant(idleSince)}::text::timestamptz)`
  }
}

function seenText(seen: SessionsToKeep['seen']): string {
  return JSON.stringify(seen.map(({ sha256, seenAt }) => ({ sha256, seenAt: encodeInstant(seenAt) })))
}

function sessionOf({ sha256, agencyId, tokenId, tokenHmac, createdAt, seenAt }: SessionRow): StoredSession {
  const times = { createdAt: createdAt.getTime(), seenAt: seenAt.getTime() }
  if (agencyId !== null && tokenId !== null) {
    const holder = { kind: 'access_token', agencyId: idOf('agc', agencyId), tokenId: idOf('tok', tokenId) } as const
    return { sha256, holder, ...times }
  }
  if (tokenHmac === null) throw new Error('Cannot read a session: its row names no token')
  return { sha256, holder: { kind: 'operator', tokenHmac }, ...times }
}
