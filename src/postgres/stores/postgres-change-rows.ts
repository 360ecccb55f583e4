import { KIND_OF } from '../../core/domain/booking.ts'
import type { ChangeEntry, ChangeRows, ReadChanges, ReadOptions } from '../../events/changes/change-page.ts'
import { idOf, idOrNull, uuidOf } from '../../lib/ids.ts'
import { classifyDatabaseError } from '../client/database-error.ts'
import type { ListReads } from './list-reads.ts'
import { wordsText } from './table.ts'

interface ChangeRow {
  seq: number
  fingerprint: string
  at: Date
  entryId: string
  unitId: string | null
  otherUnitId: string | null
  bookingId: string | null
  /** Null for the end of the log. */
  kind: string | null
  payload: string
  checksum: string
  sourceRef: string | null
  route: string | null
}

/** Reads the log for the feed of changes. */
export class PostgresChangeRows implements ChangeRows {
  readonly #lists: ListReads

  constructor(lists: ListReads) {
    this.#lists = lists
  }

  /** A UUID. */
  async historyId(): Promise<string> {
    const [row] = await this.#lists.sql<{ historyId: string }[]>`select history_id as "historyId" from ledger`
    if (row === undefined) throw new Error('Cannot read the history id: there is no row')
    return row.historyId
  }

  async read(agencyId: string, options: ReadOptions): Promise<ReadChanges | null> {
    const rows = await this.#rows(agencyId, options).catch((error) => {
      // A month was archived in this moment.
      if (classifyDatabaseError(error) === 'retry') return this.#rows(agencyId, options)
      throw error
    })
    const [end, ...entries] = rows
    if (end === undefined) return null
    return { end: { seq: end.seq, fingerprint: end.fingerprint }, entries: entries.map(entryOf) }
  }

  /**
   * Whether the digest is that of a sandbox that has ended, of the shard of this agency: what takes the place of a sandbox has its shard.
   * @param digest as in a cursor
   */
  async hasEnded(digest: string, agencyId: string): Promise<boolean> {
    const statement = this.#lists.sql`
      select from agency
      where shard_of(agency_id) = shard_of(${uuidOf(agencyId)}) and status = 'deleted'
        and encode(substring(sha256(convert_to(replace(agency_id::text, '-', ''), 'UTF8')) for 8), 'hex') = ${digest}`
    return (await this.#lists.read(agencyId, statement)).length > 0
  }

  #rows(agencyId: string, { from, entriesMax, shown }: ReadOptions): Promise<ChangeRow[]> {
    const { seq, fingerprint } = from === 'start' ? { seq: null, fingerprint: null } : from
    const unitKinds = shown === 'all' ? null : wordsText(shown.map((event) => KIND_OF[event]))
    const { sql } = this.#lists
    const statement = sql<ChangeRow[]>`
      select seq::float8 as "seq", fingerprint, at, entry_id as "entryId", unit_id as "unitId", other_unit_id as "otherUnitId",
             booking_id as "bookingId", kind, payload, checksum, source_ref as "sourceRef", route
      from changes_after(${uuidOf(agencyId)}, ${seq}, ${fingerprint}, ${entriesMax}, ${unitKinds}::text::text[])`
    return this.#lists.read(agencyId, statement)
  }
}

function entryOf({ at, kind, route, entryId, unitId, otherUnitId, bookingId, ...row }: ChangeRow): ChangeEntry {
  return {
    ...row,
    kind: kind ?? '',
    route: route ?? '',
    id: idOf('evt', entryId),
    at: at.getTime(),
    unitId: idOrNull('unt', unitId),
    otherUnitId: idOrNull('unt', otherUnitId),
    bookingId: idOrNull('bkg', bookingId),
  }
}
