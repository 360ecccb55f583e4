import { isUnitSet } from '../../core/domain/booking.ts'
import type { Unit } from '../../core/domain/unit.ts'
import { type EncodedEntry, encodeRates, encodeRestrictions } from '../../core/journal/entry-codec.ts'
import { encodeInstant } from '../../core/journal/fields.ts'
import type {
  AppendFailure,
  BatchToAppend,
  LaneStore,
  NumberedRecord,
  ShardEpoch,
} from '../../core/journal/journal-store.ts'
import type { AuditDraft } from '../../core/journal/record.ts'
import { assert } from '../../lib/assert.ts'
import { uuidOf } from '../../lib/ids.ts'
import { connect, type Sql } from '../client/connect.ts'
import { classifyDatabaseError, isErrorResponse } from '../client/database-error.ts'
import { assertWritable } from '../client/failed-write.ts'
import { compositeText, jsonRow, type RowOf } from './table.ts'
import { AUDIT_ROW, BOOKING_ROW, GUEST_ROW, IDEMPOTENCY_ROW, JOURNAL_ROW, UNIT } from './tables.ts'

/** How long a look-up of what was written is repeated. */
const WAS_WRITTEN_MS_MAX = 5_000
const WAS_WRITTEN_DELAY_MS = 100

/**
 * One lane of the journal in Postgres: a connection, which is discarded whenever an outcome is unknown.
 *
 * Transactions of two lanes cannot deadlock:
 * - Each locks the fences first, all that it needs, in the order of their shards. So does everything that locks fences (`take_over`,
 *   `renew_epochs`, `was_written`, `retire_month`, `keep_usage`); registering an endpoint and the portal's writes lock one.
 * - What a transaction waits for after that belongs to its own agencies: the key of every table and of every unique index begins with
 *   the agency or its shard, and there are no foreign keys. The one exception is the exclusion constraint, which compares a hash of 64
 *   bits of agency and unit: a cycle would take two collisions at a time.
 * - An agency belongs to one shard, and two batches in flight have no shard in common (J1). So a batch never waits for rows that another
 *   one holds. A third transaction may wait for both, and both for it (the deletion of expired answers has rows of many agencies); a
 *   cycle then has one batch in it, as with a single lane.
 * - Partitions are created without a lock that a batch waits for, and detached only while all fences are held.
 *
 * If one happens all the same, the batch is sent again: its error (40P01) says that nothing was written.
 */
export class PostgresLane implements LaneStore {
  readonly #url: string
  #client: Sql
  /**
   * Whether the connection has proved to be open, on a server that accepts writes, and has not been seen to close. Only
   * then is a batch sent on it: a failure before that wrote nothing, a failure after it may have (J3).
   */
  #isWritable = false

  constructor(url: string) {
    this.#url = url
    this.#client = this.#connect()
  }

  /** Its connection, for statements of the writer that are not part of a batch. Ask again after `reconnect`. */
  get client(): Sql {
    return this.#client
  }

  #connect(): Sql {
    const client: Sql = connect(this.#url, {
      purpose: 'journal',
      onLost: () => {
        if (client === this.#client) this.#isWritable = false
      },
    })
    this.#isWritable = false
    return client
  }

  /**
   * Opens the connection and appends nothing, so that the first batch does not wait until the backend has read the tables' descriptions
   * and planned the statement.
   */
  async open(): Promise<void> {
    const unfit = await this.#unfit()
    if (unfit !== null) throw unfit.cause
    await appendBatch(this.#client, { shards: [], records: [] })
  }

  async appendBatch(batch: BatchToAppend): Promise<'durable' | AppendFailure> {
    const unfit = await this.#unfit()
    if (unfit !== null) return unfit
    let statement: ReturnType<typeof appendBatch>
    try {
      statement = appendBatch(this.#client, batch)
    } catch (error) {
      // The rows could not be encoded: nothing was sent.
      return { kind: 'poison', cause: error }
    }
    try {
      await statement
      return 'durable'
    } catch (error) {
      return appendFailure(error, batch.shards)
    }
  }

  async renewEpochs(shards: readonly ShardEpoch[], renewal: string): Promise<readonly ShardEpoch[] | AppendFailure> {
    const unfit = await this.#unfit()
    if (unfit !== null) return unfit
    const fences = fencesText(shards)
    try {
      await this.#client`
        select renew_epochs(${fences.shards}::text::smallint[], ${fences.epochs}::text::bigint[], ${renewal}::text::uuid)`
      return shards.map(({ shard, epoch }) => ({ shard, epoch: epoch + 1 }))
    } catch (error) {
      return appendFailure(error, shards)
    }
  }

  /**
   * Final, because the server that is asked has the higher epochs: whatever of the old ones it will ever have, it has. A server
   * that was replaced does not have them.
   */
  async wasWritten(batch: BatchToAppend): Promise<boolean | null> {
    const text = batchText(batch)
    // With the entries is everything else (J2). The line of a sandbox may no longer be found: its clock can be ahead of all months, and
    // more of them may have been made since.
    const auditLines = text.entries === null ? text.auditLines : null
    const giveUpAt = performance.now() + WAS_WRITTEN_MS_MAX
    do {
      if ((await this.#unfit()) === null) {
        try {
          const [row] = await this.#client<{ isWritten: boolean | null }[]>`
            select was_written(${text.shards}::text::smallint[], ${text.epochs}::text::bigint[],
                               ${text.entries}::text::journal_row[], ${auditLines}::text::audit_row[]) as "isWritten"`
          if (typeof row?.isWritten === 'boolean') return row.isWritten
        } catch {
          // Whatever failed, nothing is known yet.
        }
      }
      this.reconnect()
      await Bun.sleep(WAS_WRITTEN_DELAY_MS)
    } while (performance.now() < giveUpAt)
    return null
  }

  /** Null when the connection may be written to; otherwise why nothing was sent. */
  async #unfit(): Promise<AppendFailure | null> {
    if (this.#isWritable) return null
    try {
      await assertWritable(this.#client)
      this.#isWritable = true
      return null
    } catch (error) {
      return { kind: 'not_sent', cause: error }
    }
  }

  reconnect(): void {
    const broken = this.#client
    this.#client = this.#connect()
    // Whatever becomes of the broken one no longer matters.
    void Promise.allSettled([broken.end({ timeout: 0 })])
  }

  async close(): Promise<void> {
    await this.#client.end({ timeout: 1 })
  }
}

/** Only an answer of the server proves that a statement had no effect; anything else leaves the outcome unknown (J3). */
function appendFailure(error: unknown, sent: readonly ShardEpoch[]): AppendFailure {
  if (!isErrorResponse(error)) return { kind: 'unknown', cause: error }
  const of = classifyDatabaseError(error)
  switch (of) {
    case 'connection':
      return { kind: 'unknown', cause: error }
    case 'unfit':
    case 'other':
      return { kind: 'refused', cause: error }
    case 'fenced':
      return { kind: 'fenced', cause: error, shards: fencedShards(error, sent) }
    default:
      return { kind: of, cause: error }
  }
}

/** The shards that the error's detail lists; all that were sent when it lists none of them. */
function fencedShards(error: unknown, sent: readonly ShardEpoch[]): readonly number[] {
  const all = sent.map(({ shard }) => shard)
  const detail = error instanceof Error && 'detail' in error && typeof error.detail === 'string' ? error.detail : ''
  const listed = new Set(detail.split(','))
  const fenced = all.filter((shard) => listed.has(String(shard)))
  return fenced.length === 0 ? all : fenced
}

/**
 * One group commit, all or nothing. The batch as the parameters of `append_batch` (sql/): rows as arrays of composites, in PostgreSQL's own
 * notation, long texts sent separately. The input functions of the columns read it, without an intermediate tree. Errors: as
 * `classifyDatabaseError` classifies them.
 *
 * - J2 A batch is one statement: journal rows and everything derived from them.
 */
export function appendBatch(sql: Sql, batch: BatchToAppend) {
  const text = batchText(batch)
  return sql`
    select append_batch(
      ${text.shards}::text::smallint[], ${text.epochs}::text::bigint[],
      ${text.entries}::text::journal_row[], ${text.payloads}::text, ${text.links}::text::bytea,
      ${text.created}::text::booking_row[], ${text.changed}::text::booking_row[], ${text.guests}::text::guest_row[],
      ${text.auditLines}::text::audit_row[],
      ${text.idempotencies}::text::idempotency_row[], ${text.answers}::text,
      ${text.others}::text::jsonb)`
}

/** Between long texts: JSON never contains it unescaped. */
const BETWEEN_TEXTS = '\x1e'

/** The shards that a statement writes to, and their epochs: arrays. */
interface FencesText {
  readonly shards: string
  readonly epochs: string
}

export function fencesText(fences: readonly ShardEpoch[]): FencesText {
  return {
    shards: `{${fences.map(({ shard }) => shard).join(',')}}`,
    epochs: `{${fences.map(({ epoch }) => epoch).join(',')}}`,
  }
}

/** By parameter of `append_batch`; null where the batch has none. */
interface BatchText extends FencesText {
  readonly entries: string | null
  readonly payloads: string | null
  readonly links: string | null
  readonly created: string | null
  readonly changed: string | null
  readonly guests: string | null
  readonly auditLines: string | null
  readonly idempotencies: string | null
  readonly answers: string | null
  readonly others: string | null
}

/** The same text for the same batch (J3). */
export function batchText({ shards, records }: BatchToAppend): BatchText {
  const rows = new BatchRows()
  for (const record of records) rows.add(record)
  return { ...fencesText(shards), ...rows.text() }
}

class BatchRows {
  readonly #journal: RowOf<typeof JOURNAL_ROW>[] = []
  readonly #payloads: string[] = []
  #links = ''
  readonly #created: RowOf<typeof BOOKING_ROW>[] = []
  readonly #changed: RowOf<typeof BOOKING_ROW>[] = []
  readonly #guests: RowOf<typeof GUEST_ROW>[] = []
  readonly #idempotency: RowOf<typeof IDEMPOTENCY_ROW>[] = []
  readonly #answers: string[] = []
  readonly #units: Readonly<Record<string, unknown>>[] = []
  /** Guests. */
  readonly #erased: Readonly<Record<string, unknown>>[] = []
  // One line per id: a statement may touch a row only once.
  readonly #audit = new Map<string, RowOf<typeof AUDIT_ROW>>()

  add(numbered: NumberedRecord): void {
    const { agencyId, at, audit, idempotency } = numbered.record
    for (const [i, entry] of numbered.entries.entries()) this.#addEntry(numbered, entry, i)
    if (audit !== undefined) this.#audit.set(audit.auditId, auditRow(agencyId, audit))
    if (idempotency !== undefined) {
      this.#idempotency.push({ ...idempotency, agencyId, createdAt: encodeInstant(at) })
      this.#answers.push(idempotency.body)
    }
  }

  #addEntry({ record }: NumberedRecord, encoded: EncodedEntry, i: number): void {
    const { agencyId, entries, guest } = record
    const entry = entries?.[i]
    assert(entry !== undefined, 'Cannot write an entry: its record does not have it')
    const { seq, booking } = encoded
    const { event, notes } = entry
    this.#journal.push(entryRow(encoded))
    this.#payloads.push(encoded.payload)
    this.#links += encoded.link.toHex()
    if (event.kind === 'guest_erased') {
      const erased = { agency_id: uuidOf(agencyId), guest_id: uuidOf(event.guestId), at: encodeInstant(entry.at), seq }
      this.#erased.push(erased)
      return
    }
    if (isUnitSet(event)) this.#units.push(jsonRow(UNIT, unitRow(agencyId, event.unit)))
    if (booking === null) return
    const row = { ...booking, agencyId, notes: notes ?? null, seq }
    if (event.kind !== 'booking_created') {
      this.#changed.push(row)
      return
    }
    this.#created.push(row)
    if (guest !== undefined)
      this.#guests.push({
        ...guest,
        agencyId,
        id: guest.guestId,
        bookingId: booking.id,
        createdAt: encodeInstant(entry.at),
      })
  }

  text(): Omit<BatchText, keyof FencesText> {
    return {
      entries: compositeText(JOURNAL_ROW, this.#journal),
      payloads: texts(this.#payloads),
      links: this.#journal.length === 0 ? null : `\\x${this.#links}`,
      created: compositeText(BOOKING_ROW, this.#created),
      changed: compositeText(BOOKING_ROW, this.#changed),
      guests: compositeText(GUEST_ROW, this.#guests),
      auditLines: compositeText(AUDIT_ROW, [...this.#audit.values()]),
      idempotencies: compositeText(IDEMPOTENCY_ROW, this.#idempotency),
      answers: texts(this.#answers),
      others: othersText({ units: this.#units, erased: this.#erased }),
    }
  }
}

/** Null when there is nothing of any kind. */
function othersText(rows: Readonly<Record<string, readonly object[]>>): string | null {
  const some = Object.entries(rows).filter(([, { length }]) => length > 0)
  return some.length === 0 ? null : JSON.stringify(Object.fromEntries(some))
}

function texts(each: readonly string[]): string | null {
  return each.length === 0 ? null : each.join(BETWEEN_TEXTS)
}

/** An entry as a row of `journal_row`. */
function entryRow(entry: EncodedEntry): RowOf<typeof JOURNAL_ROW> {
  return {
    shard: entry.shard,
    seq: entry.seq,
    month: entry.month,
    at: encodeInstant(entry.at),
    agencyId: entry.agencyId,
    unitId: entry.unitId,
    otherUnitId: entry.otherUnitId,
    bookingId: entry.bookingId,
    id: entry.id,
    kind: entry.kind,
    isAnnounced: entry.isAnnounced,
    actorKind: entry.actor.kind,
    actorId: entry.actor.id,
    route: entry.route,
    requestId: entry.requestId,
    traceparent: entry.traceparent,
    checksum: entry.checksum,
  }
}

export function auditRow(agencyId: string, line: AuditDraft): RowOf<typeof AUDIT_ROW> {
  const { auditId, at, actor, traceparent = null } = line
  const ids = { agencyId, id: auditId, actorKind: actor.kind, actorId: actor.id }
  return { ...line, ...ids, traceparent, at: encodeInstant(at) }
}

function unitRow(agencyId: string, { rules: { rates, restrictions, ...prices }, ...master }: Unit): RowOf<typeof UNIT> {
  return {
    agencyId,
    ...master,
    ...prices,
    rates: encodeRates(rates),
    restrictions: restrictions === undefined ? null : encodeRestrictions(restrictions),
  }
}
