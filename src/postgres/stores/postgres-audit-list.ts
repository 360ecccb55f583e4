import type { AuditEntry, AuditFilter, AuditList } from '../../accounts/audit-list.ts'
import type { Listed } from '../../core/bookings/booking-lists.ts'
import type { BookingFacts, LedgerEvent, Pricing } from '../../core/domain/booking.ts'
import { decodeAnyEntry } from '../../core/journal/entry-codec.ts'
import { CorruptLedgerError } from '../../core/journal/journal-error.ts'
import { type Actor, actorOf } from '../../core/journal/record.ts'
import { idOf, uuidIn, uuidOf } from '../../lib/ids.ts'
import { Slices } from '../../lib/slices.ts'
import { traceIdOf } from '../../lib/traceparent.ts'
import type { Fragment, Sql } from '../client/connect.ts'
import type { ListReads } from './list-reads.ts'
import { entryOf as storedEntryOf } from './loaded-rows.ts'
import { ofBooking } from './postgres-agency-bookings.ts'

/** Decoding them takes 0.13 ms of CPU. */
const LINES_PER_SLICE = 20

/**
 * The audit trail: the entries of the journal, and the lines that have none. Both have an index on (agency, newest), and the two
 * are merged in that order.
 */
export class PostgresAuditList implements AuditList {
  readonly #lists: ListReads

  constructor(lists: ListReads) {
    this.#lists = lists
  }

  async list(agencyId: string, filter: AuditFilter, page: Page): Promise<Listed<AuditEntry>> {
    const rows = await this.#lists.read(agencyId, auditPage(this.#lists.sql, { agencyId, filter, page }))
    const slices = new Slices(LINES_PER_SLICE)
    const entries: AuditEntry[] = []
    for (const row of rows) {
      if (row.id !== null) entries.push(entryOf(row))
      const pause = slices.spend(1)
      if (pause !== null) await pause
    }
    return { total: rows[0]?.total ?? 0, rows: entries }
  }
}

interface Page {
  readonly offset: number
  readonly limit: number
}

interface StoredLine {
  readonly total: number
  readonly id: string
  readonly at: Date
  readonly actorKind: Actor['kind']
  readonly actorId: string | null
  readonly route: string
  readonly outcome: string
  /** As the caller gave it; of an entry, its UUID. */
  readonly bookingId: string | null
  readonly isEntry: boolean
  readonly requestId: string | null
  readonly traceparent: string | null
  readonly count: number
  readonly pricing: Pricing | null
  /** These are null unless it is an entry. */
  readonly seq: number | null
  readonly unitId: string | null
  readonly otherUnitId: string | null
  readonly kind: string
  readonly payload: string
  readonly checksum: string
}

/** One page and the count of all; a page beyond the end has only the count. */
export function auditPage(sql: Sql, { agencyId, filter, page }: { agencyId: string; filter: AuditFilter; page: Page }) {
  const trail = trailOf(sql, agencyId, filter)
  return filter.bookingId === null && filter.requestId === null && filter.traceId === null
    ? pageOfMany(sql, trail, page)
    : pageOfFew(sql, trail, page)
}

/** The two parts of the trail: what is selected of each, and which rows. */
interface Trail {
  readonly entries: Fragment
  readonly entryColumns: Fragment
  readonly lines: Fragment
  readonly lineColumns: Fragment
}

/**
 * Each part is read by its index, from the newest on, until it could fill all pages up to this one: written as one list of both, the
 * planner sorts all of it.
 */
function pageOfMany(sql: Sql, { entries, entryColumns, lines, lineColumns }: Trail, { offset, limit }: Page) {
  const upToPage = sql`order by at desc, id desc limit ${offset}::text::bigint + ${limit}::text::bigint`
  return sql<StoredLine[]>`
    select counted.total, page.*
    from (select ((select count(*) from journal where ${entries}) + (select count(*) from audit_line where ${lines}))::float8 as total
         ) counted
    left join lateral (
      (select ${entryColumns} from journal where ${entries} ${upToPage})
      union all
      (select ${lineColumns} from audit_line where ${lines} ${upToPage})
      order by at desc, id desc offset ${offset}::text::bigint limit ${limit}::text::bigint
    ) page on true
    order by page.at desc, page.id desc`
}

/** The trail of a booking, a request or a trace is found once, for both count and page. */
function pageOfFew(sql: Sql, { entries, entryColumns, lines, lineColumns }: Trail, { offset, limit }: Page) {
  return sql<StoredLine[]>`
    with hit as materialized (
      select ${entryColumns} from journal where ${entries}
      union all
      select ${lineColumns} from audit_line where ${lines}
    )
    select counted.total, page.*
    from (select count(*)::float8 as total from hit) counted
    left join lateral (
      select * from hit order by at desc, id desc offset ${offset}::text::bigint limit ${limit}::text::bigint
    ) page on true
    order by page.at desc, page.id desc`
}

function trailOf(sql: Sql, agencyId: string, filter: AuditFilter): Trail {
  const { bookingId, outcome } = filter
  const common = commonCondition(sql, agencyId, filter)
  return {
    entries: sql`
      ${common}
      ${outcome === null || outcome === 'OK' ? sql`` : sql`and false`}
      ${bookingId === null ? sql`` : ofBooking(sql, agencyId, bookingId)}`,
    entryColumns: sql`
      at, entry_id as id, actor_kind as "actorKind", actor_id as "actorId", route, 'OK' as outcome, booking_id::text as "bookingId",
      true as "isEntry", request_id as "requestId", traceparent, 1::float8 as "count", ${pricingOf(sql)} as "pricing",
      seq::float8 as "seq", unit_id as "unitId",
      other_unit_id as "otherUnitId", kind, payload, checksum::text as "checksum"`,
    lines: sql`
      ${common}
      ${outcome === null ? sql`` : sql`and outcome = ${outcome}`}
      ${bookingId === null ? sql`` : sql`and booking_id = ${bookingId}`}`,
    lineColumns: sql`at, line_id as id, actor_kind, actor_id, route, outcome, booking_id, false, request_id, traceparent, count::float8,
      null, null, null, null, null, null, null`,
  }
}

/** The last member of the payload (entry-codec.ts). The text is not parsed: the trail is shown even if an entry is damaged. */
function pricingOf(sql: Sql): Fragment {
  return sql`
    case
      when kind <> 'booking_changed' then null
      when payload like '%,"pricing":"keep"}' then 'keep'
      when payload like '%,"pricing":"reprice"}' then 'reprice'
    end`
}

function commonCondition(sql: Sql, agencyId: string, filter: AuditFilter): Fragment {
  return sql`
    agency_id = ${uuidOf(agencyId)}
    ${filter.from === null ? sql`` : sql`and at >= ${new Date(filter.from)}`}
    ${filter.to === null ? sql`` : sql`and at < ${new Date(filter.to)}`}
    ${filter.actorKind === null ? sql`` : sql`and actor_kind = ${filter.actorKind}`}
    ${filter.keyId === null ? sql`` : sql`and actor_kind = 'key' and actor_id = ${uuidIn('key', filter.keyId)}::text::uuid`}
    ${filter.tokenId === null ? sql`` : sql`and actor_kind = 'access_token' and actor_id = ${uuidIn('tok', filter.tokenId)}::text::uuid`}
    ${filter.personId === null ? sql`` : sql`and actor_kind = 'person' and actor_id = ${uuidIn('per', filter.personId)}::text::uuid`}
    ${filter.requestId === null ? sql`` : sql`and request_id = ${filter.requestId}`}
    ${filter.traceId === null ? sql`` : sql`and substr(traceparent, 4, 32) = ${filter.traceId}`}`
}

function entryOf(row: StoredLine): AuditEntry {
  const { id, route, outcome, requestId, traceparent, count, bookingId, isEntry, actorKind, actorId, pricing } = row
  return {
    route,
    outcome,
    requestId,
    count,
    pricing,
    traceId: traceparent === null ? null : traceIdOf(traceparent),
    id: idOf('aud', id),
    bookingId: bookingId !== null && isEntry ? idOf('bkg', bookingId) : bookingId,
    actor: actorOf(actorKind, actorId),
    at: row.at.getTime(),
    event: eventOf(row),
  }
}

/** A damaged entry is the verification's to report; its line in the trail is shown as far as it can be. */
function eventOf({
  seq,
  unitId,
  otherUnitId,
  bookingId,
  kind,
  payload,
  checksum,
}: StoredLine): LedgerEvent<BookingFacts> | null {
  if (seq === null) return null
  try {
    return decodeAnyEntry(storedEntryOf({ seq, unitId, otherUnitId, bookingId, kind, payload, checksum }))
  } catch (error) {
    if (error instanceof CorruptLedgerError) return null
    throw error
  }
}
