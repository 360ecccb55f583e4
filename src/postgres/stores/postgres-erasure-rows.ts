import type { AnswerPlace, BegunErasure, Erasure, ErasureRows } from '../../accounts/guest-erasures.ts'
import { HOLD_EXPIRED } from '../../core/domain/booking.ts'
import { formatNight, type Night } from '../../core/domain/night.ts'
import { shardOf } from '../../core/journal/shard.ts'
import { idOf, uuidIn, uuidOf } from '../../lib/ids.ts'
import type { Fragment, Sql } from '../client/connect.ts'
import { fencedWrite } from './audited-write.ts'

const UNITS_AT_ONCE = 100
/** Bookings, or answers, in one statement: it holds its locks for some milliseconds. */
const ROWS_AT_ONCE = 500
/** Erasures that are completed in one round. */
const BEGUN_MAX = 100

interface StoredErasure {
  readonly agencyId: string
  readonly guestId: string
  readonly at: Date
  readonly isLogged: boolean
  readonly isComplete: boolean
}

/** What is stored of guests who are erased (GuestErasures). */
export class PostgresErasureRows implements ErasureRows {
  readonly #sql: Sql
  readonly #epochOf: (agencyId: string) => number
  readonly #shards: () => Iterable<number> | 'all'

  /** @param options.shards those whose erasures are completed by this process */
  constructor(
    sql: Sql,
    options: { readonly epochOf: (agencyId: string) => number; readonly shards: () => Iterable<number> | 'all' },
  ) {
    this.#sql = sql
    this.#epochOf = options.epochOf
    this.#shards = options.shards
  }

  async find(agencyId: string, guestId: string): Promise<BegunErasure | null> {
    const [row] = await this.#sql<StoredErasure[]>`
      select ${this.#columns()} from guest_erasure
      where agency_id = ${uuidOf(agencyId)} and guest_id = ${uuidIn('gst', guestId)}`
    return row === undefined ? null : erasureOf(row)
  }

  /** Those that are not complete, oldest first. */
  async begun(): Promise<readonly BegunErasure[]> {
    const shards = this.#shards()
    const which =
      shards === 'all'
        ? this.#sql``
        : this.#sql`and shard_of(agency_id) = any (${`{${[...shards].join()}}`}::text::smallint[])`
    const rows = await this.#sql<StoredErasure[]>`
      select ${this.#columns()} from guest_erasure where erased_at is null and vacuumed_at is null ${which} order by at limit ${BEGUN_MAX}`
    return rows.map(erasureOf)
  }

  async count(agencyId: string, guestId: string, today: string): Promise<Omit<Erasure, 'guestId' | 'erasedAt'>> {
    const [row] = await this.#sql<Omit<Erasure, 'guestId' | 'erasedAt'>[]>`
      select count(*)::float8 as "bookings",
             count(*) filter (where departure > ${today}::text::date and status not in ('cancelled', 'checked_out'))::float8 as "upcoming",
             count(notes)::float8 as "withNotes", count(source_ref)::float8 as "withReference",
             count(*) filter (where cancel_reason <> ${HOLD_EXPIRED})::float8 as "withReason"
      from booking where agency_id = ${uuidOf(agencyId)} and guest_id = ${uuidIn('gst', guestId)}`
    return row ?? { bookings: 0, upcoming: 0, withNotes: 0, withReference: 0, withReason: 0 }
  }

  async beginIfDue(agencyId: string, guestId: string, before: Night): Promise<boolean> {
    const [row] = await fencedWrite(
      this.#sql<{ isDue: boolean }[]>`
        with fence as materialized (${this.#fence(agencyId)})
        select begin_erasure_if_due(${uuidOf(agencyId)}, ${uuidOf(guestId)}, ${formatNight(before)}::text::date) as "isDue"
        from fence where held`,
    )
    return row?.isDue === true
  }

  async unitsOf(agencyId: string, guestId: string): Promise<readonly string[]> {
    const rows = await this.#sql<{ unitId: string }[]>`
      select distinct unit_id as "unitId" from booking
      where agency_id = ${uuidOf(agencyId)} and guest_id = ${uuidOf(guestId)} limit ${UNITS_AT_ONCE}`
    return rows.map(({ unitId }) => idOf('unt', unitId))
  }

  async eraseBookings(agencyId: string, guestId: string, unitId: string): Promise<boolean> {
    const [row] = await fencedWrite(
      this.#sql<{ erased: number }[]>`
        with fence as materialized (${this.#fence(agencyId)})
        select erase_bookings(${uuidOf(agencyId)}, ${uuidOf(guestId)}, ${uuidOf(unitId)}, ${ROWS_AT_ONCE}) as "erased"
        from fence where held`,
    )
    return row?.erased === ROWS_AT_ONCE
  }

  async scrubAnswers(agencyId: string, after: AnswerPlace | null): Promise<AnswerPlace | null> {
    const { keyId, route, idempotencyKey } = after ?? FIRST_ANSWER
    const [row] = await fencedWrite(
      this.#sql<{ keyId: string | null; route: string; idempotencyKey: string }[]>`
        with fence as materialized (${this.#fence(agencyId)})
        select s.key_id as "keyId", s.route, s.idempotency_key as "idempotencyKey"
        from fence cross join lateral scrub_answers(
          ${uuidOf(agencyId)}, ${uuidOf(keyId)}, ${route}, ${idempotencyKey}, ${ROWS_AT_ONCE}) s
        where held`,
    )
    return row === undefined || row.keyId === null ? null : { ...row, keyId: idOf('key', row.keyId) }
  }

  async finish(agencyId: string, guestId: string): Promise<void> {
    await fencedWrite(this.#sql`
      with fence as materialized (${this.#fence(agencyId)})
      update guest_erasure set erased_at = clock_timestamp()
      where (select held from fence) and agency_id = ${uuidOf(agencyId)} and guest_id = ${uuidOf(guestId)} and erased_at is null`)
  }

  /**
   * Whether dead rows should be vacuumed now; batches many erasures: none was completed in the last minute, or one has waited for ten. Those
   * whose dead rows an open transaction could still read are left for later: a vacuum would not remove them.
   */
  async isVacuumDue(): Promise<boolean> {
    const [row] = await this.#sql<{ isDue: boolean }[]>`
      select coalesce(max(erased_at) < now() - interval '1 minute' or min(erased_at) < now() - interval '10 minutes', false) as "isDue"
      from guest_erasure
      where vacuumed_at is null and erased_at is not null and age(xmin) > (select oldest_snapshot_age())`
    return row?.isDue === true
  }

  #columns(): Fragment {
    return this
      .#sql`agency_id as "agencyId", guest_id as "guestId", at, seq is not null as "isLogged", erased_at is not null as "isComplete"`
  }

  #fence(agencyId: string): Fragment {
    return this.#sql`select check_fence(${shardOf(agencyId)}, ${this.#epochOf(agencyId)}) as held`
  }
}

const FIRST_ANSWER: AnswerPlace = { keyId: `key_${'0'.repeat(32)}`, route: '', idempotencyKey: '' }

function erasureOf({ agencyId, guestId, at, ...state }: StoredErasure): BegunErasure {
  return { ...state, agencyId: idOf('agc', agencyId), guestId: idOf('gst', guestId), at: at.getTime() }
}
