/**
 * - E3 Nothing is written to a sandbox that has ended, not even by a statement that has waited for its end: what survives a reset has passed
 *   to another agency, and what does not was erased.
 */
import { AlreadyAnsweredError, SandboxEndsError, WriteError } from '../../core/bookings/write-error.ts'
import { encodeInstant } from '../../core/journal/fields.ts'
import { JournalError } from '../../core/journal/journal-error.ts'
import type { ChangeAnswer, ChangeLine } from '../../core/journal/record.ts'
import { shardOf } from '../../core/journal/shard.ts'
import { uuidOf } from '../../lib/ids.ts'
import type { Fragment, Sql } from '../client/connect.ts'
import { failedWrite, readOnlyFault, type SessionState } from '../client/failed-write.ts'
import { auditRow } from './append-batch.ts'
import { columnNames, compositeText } from './table.ts'
import { AUDIT_ROW, IDEMPOTENCY_ROW } from './tables.ts'

/** What the readiness probe reads from the database. */
interface FenceProbe {
  /** The epoch that may write to shard 0, which stands for all where one process has them. */
  readonly epoch: number
  /** Why the server does not accept writes; null when it does. */
  readonly readOnly: string | null
}

/**
 * @param sql of purpose `probes`: a probe must be answered soon, or not at all
 * @throws DeadlineError or a database error when it cannot be read
 */
export async function probeFence(sql: Sql): Promise<FenceProbe> {
  const [row] = await sql<(SessionState & { epoch: number })[]>`
    select epoch::float8 as "epoch", current_setting('transaction_read_only')::boolean as "isReadOnly",
           pg_is_in_recovery() as "isInRecovery"
    from shard where shard = 0`
  if (row === undefined) throw new Error('Cannot read the fence: its row is missing')
  return { epoch: row.epoch, readOnly: readOnlyFault(row) }
}

/** Not a shard: nothing may be written under its fence. */
const NO_SHARD = -1

/**
 * Runs a change of the agency's own data as one statement with its line of the audit trail, and under the fence of its shard (J5): a
 * stale writer must not change what the new one has in memory. Refused when the agency has ended (E3).
 * @param epoch of this writer for the agency's shard (Journal.epochOf)
 * @param audit a line that already exists stays as it is: the same change may be written again after an unknown outcome. Its answer is
 *   kept in the same statement
 * @param answerBody of an answer whose body is null: an expression over the row `changed`
 * @param change ends with a `returning` clause, and returns one row at most
 * @param before parts of a `with` clause, each followed by a comma. A part that locks rows must first read
 *   `(select held from fence)`, so that all statements lock in the same order
 * @param alone whether no batch may be in progress at the same time
 * @param isOfEnded whether it is also made when the agency has ended: a change of something that survives a reset, and finds it there
 * @returns the row that `change` returned, or null. The audit line and the answer are written only if there is a row
 * @throws AlreadyAnsweredError when the answer is kept already; JournalError of kind `fenced` when another process has taken over, WriteError for every other failure
 */
export async function auditedWrite<R extends object>(
  sql: Sql,
  {
    agencyId,
    epoch,
    audit,
    change,
    before = sql``,
    alone = false,
    isOfEnded = false,
    answerBody = sql`null`,
  }: {
    agencyId: string
    epoch: number
    audit: ChangeLine
    change: Fragment
    before?: Fragment
    alone?: boolean
    isOfEnded?: boolean
    answerBody?: Fragment
  },
): Promise<R | null> {
  const { answer } = audit
  const kept =
    answer === undefined
      ? { part: sql``, isKept: sql`null` }
      : {
          part: sql`, kept as (
            select keep_answer((${answerText(answer, audit.at)}::text::idempotency_row[])[1],
                               ${answer.body === null ? answerBody : sql`${answer.body}`}) as is_kept
            from changed)`,
          isKept: sql`(select is_kept from kept)`,
        }
  const held = sql`check_fence(${shardOf(agencyId)}, ${epoch}, ${alone})`
  // Locked, so that it is read as it is after the wait for the fence, not as it was when the statement began.
  const status = sql`(select a.status from agency a where (select ${held}) and a.agency_id = ${uuidOf(agencyId)} for key share)`
  const shard = sql`case when ${status} = 'deleted' then ${NO_SHARD} else ${shardOf(agencyId)} end::smallint`
  const [row] = await fencedWrite(
    sql<(R & { isChanged: boolean; isKept: boolean | null })[]>`
      with fence as (select ${isOfEnded ? held : sql`check_fence(${shard}, ${epoch})`} as held),
      ${before} changed as (${change}), audited as (
        insert into audit_line (${columnNames(sql, AUDIT_ROW)}, month)
        select line.*, storage_month(line.at)
        from changed, unnest(${compositeText(AUDIT_ROW, [auditRow(agencyId, audit)])}::text::audit_row[]) line
        on conflict (agency_id, line_id, month) do nothing)${kept.part}
      select changed.*, exists (select from changed) as "isChanged", ${kept.isKept} as "isKept" from fence left join changed on true where fence.held`,
  )
  if (row?.isChanged !== true) return null
  const { isChanged: _, isKept: __, ...changed } = row
  return changed as unknown as R
}

/**
 * Keeps the answer to a change that was not made by one statement, once all of it is made. A repetition that finds none makes it again.
 * @param at when the change was made
 * @throws as `auditedWrite` does
 */
export async function keepAnswer(
  sql: Sql,
  { agencyId, epoch, answer, at }: { agencyId: string; epoch: number; answer: ChangeAnswer; at: number },
): Promise<void> {
  await fencedWrite(sql`
    with fence as (select check_fence(${shardOf(agencyId)}, ${epoch}) as held)
    select keep_answer((${answerText(answer, at)}::text::idempotency_row[])[1], ${answer.body}) from fence where held`)
}

function answerText({ body: _, ...answer }: ChangeAnswer, at: number): string | null {
  return compositeText(IDEMPOTENCY_ROW, [{ ...answer, createdAt: encodeInstant(at) }])
}

const ANSWERED_SQLSTATE = 'NL030'

/**
 * Runs one statement that checks the fence, and translates its failure.
 * @throws as `auditedWrite` does
 */
export async function fencedWrite<R>(statement: PromiseLike<R>): Promise<R> {
  try {
    return await statement
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === ANSWERED_SQLSTATE)
      throw new AlreadyAnsweredError({ cause: error })
    const failure = failedWrite(error)
    if (failure === 'fenced' && fencedShard(error) === NO_SHARD) throw new SandboxEndsError({ cause: error })
    if (failure === 'fenced')
      throw new JournalError('fenced', 'Cannot change the data of an agency: fenced by another writer', {
        cause: error,
      })
    const state = failure === 'unknown' ? 'the outcome is unknown' : 'the database did not accept the change'
    throw new WriteError(failure, `Cannot change the data of an agency: ${state}`, { cause: error })
  }
}

function fencedShard(error: unknown): number | null {
  return error instanceof Error && 'detail' in error ? Number(error.detail) : null
}
