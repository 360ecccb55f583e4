import type { AsOfPlace, AsOfRows } from '../../core/bookings/units-as-of.ts'
import type { Instant } from '../../core/domain/booking.ts'
import type { StoredEntry } from '../../core/journal/entry-codec.ts'
import type { UnitAddress } from '../../core/journal/recovery.ts'
import { uuidOf } from '../../lib/ids.ts'
import { classifyDatabaseError } from '../client/database-error.ts'
import type { ListReads } from './list-reads.ts'
import { entryOf } from './loaded-rows.ts'

/** A row of `unit_as_of`: the first is the place, the others are snapshots. */
interface AsOfRow {
  seq: number | null
  setSeq: number | null
  archivedSeq: number
  format: number
  hash: string
  state: string
}

/** Reads the log of a unit up to a moment. */
export class PostgresAsOfRows implements AsOfRows {
  readonly #lists: ListReads

  constructor(lists: ListReads) {
    this.#lists = lists
  }

  inTurn<T>(agencyId: string, read: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.#lists.run(agencyId, read)
  }

  async find({ agencyId, unitId }: UnitAddress, at: Instant): Promise<AsOfPlace> {
    const [place, ...snapshots] = await this.#lists.sql<AsOfRow[]>`
      select seq::float8 as "seq", set_seq::float8 as "setSeq", archived_seq::float8 as "archivedSeq", format, hash, state
      from unit_as_of(${uuidOf(agencyId)}, ${uuidOf(unitId)}, ${new Date(at)})`
    if (place === undefined) throw new Error('Cannot read a unit as it was: the database returned no rows')
    const { seq: untilSeq, setSeq, archivedSeq } = place
    return {
      untilSeq,
      setSeq,
      archivedSeq,
      snapshots: snapshots.map(({ seq, format, hash, state }) => ({
        agencyId,
        unitId,
        seq: seq ?? 0,
        format,
        hash,
        state,
      })),
    }
  }

  async entries(
    { agencyId, unitId }: UnitAddress,
    { after, place, limit }: { after: number; place: AsOfPlace; limit: number },
  ): Promise<readonly StoredEntry[] | null> {
    const { untilSeq, setSeq } = place
    try {
      const rows = await this.#lists.sql<StoredEntry[]>`
        select seq::float8 as "seq", unit_id as "unitId", other_unit_id as "otherUnitId", booking_id as "bookingId", kind, payload, checksum
        from entries_of_unit(${uuidOf(agencyId)}, ${uuidOf(unitId)}, ${after}, ${untilSeq}, ${setSeq}, ${limit})`
      return rows.map(entryOf)
    } catch (error) {
      if (classifyDatabaseError(error) === 'retry') return null
      throw error
    }
  }
}
