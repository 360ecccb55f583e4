import type { SessionRows, SessionsToKeep, StoredSession } from '../../access/portal-sessions.ts'
import { encodeInstant } from '../../core/journal/fields.ts'
import { idOf, uuidOf } from '../../lib/ids.ts'
import type { Sql } from '../client/connect.ts'

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

  /** All of them, also those that have ended meanwhile. */
  async load(): Promise<readonly StoredSession[]> {
    const rows = await this.#sql<SessionRow[]>`
      select secret_sha256 as "sha256", agency_id as "agencyId", token_id as "tokenId", operator_hmac as "tokenHmac",
             created_at as "createdAt", seen_at as "seenAt"
      from portal_session`
    return rows.map(sessionOf)
  }

  /**
   * The port for a writer.
   * @param epochOf returns its current epoch for shard 0, which may rise. Its writes reject with an error of class `fenced` when another
   *   writer has taken over, DeadlineError, or what the database answers
   */
  writtenBy(epochOf: () => number): SessionRows {
    return {
      insert: (session) => this.#insert(epochOf(), session),
      keep: (what) => this.#keep(epochOf(), what),
    }
  }

  async #insert(epoch: number, { sha256, holder, createdAt, seenAt }: StoredSession): Promise<void> {
    const { agencyId, tokenId, tokenHmac } =
      holder.kind === 'operator'
        ? { agencyId: null, tokenId: null, tokenHmac: holder.tokenHmac }
        : { agencyId: uuidOf(holder.agencyId), tokenId: uuidOf(holder.tokenId), tokenHmac: null }
    await this.#sql`
      with fence as (select check_fence(0::smallint, ${epoch}::text::bigint) as held)
      insert into portal_session (secret_sha256, agency_id, token_id, operator_hmac, created_at, seen_at)
      select ${sha256}, ${agencyId}::text::uuid, ${tokenId}::text::uuid, ${tokenHmac}, ${encodeInstant(createdAt)}::text::timestamptz,
             ${encodeInstant(seenAt)}::text::timestamptz
      from fence where held`
  }

  async #keep(epoch: number, { seen, ended, idleSince }: SessionsToKeep): Promise<void> {
    const seenText = JSON.stringify(seen.map(({ sha256, seenAt }) => ({ sha256, seenAt: encodeInstant(seenAt) })))
    await this.#sql`
      select keep_sessions(${epoch}::text::bigint, ${seenText}::text::jsonb, ${JSON.stringify(ended)}::text::jsonb,
                           ${encodeInstant(idleSince)}::text::timestamptz)`
  }
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
