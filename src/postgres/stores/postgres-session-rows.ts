import type { SessionRows, SessionsToKeep, StoredSession } from '../../accounts/portal-sessions.ts'
import { encodeInstant } from '../../core/journal/fields.ts'
import type { ShardEpoch } from '../../core/journal/journal-store.ts'
import { shardOf } from '../../core/journal/shard.ts'
import { idOf, uuidOf } from '../../lib/ids.ts'
import type { Fragment, Sql } from '../client/connect.ts'

interface SessionRow {
  id: string
  sha256: string
  agencyId: string | null
  tokenId: string | null
  personId: string | null
  tokenHmac: string | null
  device: string
  address: string
  way: StoredSession['way']
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
      select session_id as "id", secret_sha256 as "sha256", agency_id as "agencyId", token_id as "tokenId",
             person_id as "personId", operator_hmac as "tokenHmac", device, address, way, created_at as "createdAt", seen_at as "seenAt"
      from portal_session where ${which}`
  }

  #which(of: 'all' | 'operator' | readonly number[]): Fragment {
    if (of === 'all') return this.#sql`true`
    if (of === 'operator') return this.#sql`agency_id is null`
    return this.#sql`shard_of(agency_id) = any (${`{${of.join()}}`}::text::smallint[])`
  }

  /**
   * The port for a node of several: a session of an agency is written under the fence of its agency's shard, the operator's under none.
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

  async #insert(fence: ShardEpoch | null, session: StoredSession): Promise<void> {
    const { id, sha256, holder, device, address, way, createdAt, seenAt } = session
    const agencyId = holder.kind === 'operator' ? null : uuidOf(holder.agencyId)
    const tokenId = holder.kind === 'access_token' ? uuidOf(holder.id) : null
    const personId = holder.kind === 'person' ? uuidOf(holder.id) : null
    const tokenHmac = holder.kind === 'operator' ? holder.tokenHmac : null
    const held =
      fence === null ? this.#sql`true` : this.#sql`check_fence(${fence.shard}::smallint, ${fence.epoch}::text::bigint)`
    await this.#sql`
      with fence as (select ${held} as held)
      insert into portal_session (session_id, secret_sha256, agency_id, token_id, person_id, operator_hmac, device, address,
                                  way, created_at, seen_at)
      select ${uuidOf(id)}::text::uuid, ${sha256}, ${agencyId}::text::uuid, ${tokenId}::text::uuid, ${personId}::text::uuid, ${tokenHmac},
             ${device}, ${address}, ${way}, ${encodeInstant(createdAt)}::text::timestamptz, ${encodeInstant(seenAt)}::text::timestamptz
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

function sessionOf(row: SessionRow): StoredSession {
  const { sha256, device, address, way } = row
  const times = { createdAt: row.createdAt.getTime(), seenAt: row.seenAt.getTime() }
  return { id: idOf('ses', row.id), sha256, holder: holderOf(row), device, address, way, ...times }
}

function holderOf({ agencyId, tokenId, personId, tokenHmac }: SessionRow): StoredSession['holder'] {
  if (agencyId !== null && tokenId !== null)
    return { kind: 'access_token', agencyId: idOf('agc', agencyId), id: idOf('tok', tokenId) }
  if (agencyId !== null && personId !== null)
    return { kind: 'person', agencyId: idOf('agc', agencyId), id: idOf('per', personId) }
  if (tokenHmac === null) throw new Error('Cannot read a session: its row names no holder')
  return { kind: 'operator', tokenHmac }
}
