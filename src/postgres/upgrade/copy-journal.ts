/**
 * Copies the journal of an old ledger, in the order of its numbers. Every entry keeps its number, gets who did it from its line in
 * the audit trail and the unit's name from its webhook event, and is linked to the chain of its shard.
 */

import type { UnitEvent } from '../../core/domain/event.ts'
import type { ShardHead } from '../../core/journal/batch.ts'
import { NO_LINK } from '../../core/journal/chain.ts'
import { type EncodedEntry, encodeEntry } from '../../core/journal/entry-codec.ts'
import { type Month, monthOf, storageMonth } from '../../core/journal/month.ts'
import type { Caller, Entry, Envelope } from '../../core/journal/record.ts'
import { SHARDS, shardOf } from '../../core/journal/shard.ts'
import { assert } from '../../lib/assert.ts'
import { idOf, uuidOf } from '../../lib/ids.ts'
import { sha256Hex } from '../../lib/sha256-hex.ts'
import { bodyOfEntry } from '../../webhooks/envelope.ts'
import type { Sql } from '../client/connect.ts'
import { entryRow } from '../stores/batch-text.ts'
import { compositeText } from '../stores/table.ts'
import { JOURNAL_ROW } from '../stores/tables.ts'
import { type AuthorLine, AuthorLines } from './author-lines.ts'
import { decodeOldEvent, type OldEntry } from './old-entries.ts'

/** Of an entry that has no line in the audit trail. A healthy ledger has none. */
const UNKNOWN_CALLER: Caller = { actor: { kind: 'system', id: null }, route: 'unknown', requestId: null }

interface OldRow extends OldEntry {
  readonly agencyId: string
  readonly bookingId: string | null
  readonly requestId: string | null
  readonly at: Date
  readonly epoch: number
  /** Of its webhook event; null when it has none. */
  readonly eventId: string | null
  readonly body: string | null
  /** Of the unit and the agency as they are now, for an entry without a webhook event. */
  readonly unitSlug: string | null
  readonly unitName: string | null
  readonly currency: string | null
}

export class JournalCopy {
  readonly #sql: Sql
  readonly #main: string
  readonly #chainKeys: readonly Uint8Array[]
  readonly #pageSize: number
  #heads: ShardHead[] = []
  #newestMonth: Month = ''
  #copiedSeq = -1

  /**
   * @param options.sql of a client whose search path begins with `ledger_next`
   * @param options.main the old schema, quoted
   * @param options.chainKeys by shard
   * @param options.pageSize entries copied by one statement
   */
  constructor(options: { sql: Sql; main: string; chainKeys: readonly Uint8Array[]; pageSize: number }) {
    this.#sql = options.sql
    this.#main = options.main
    this.#chainKeys = options.chainKeys
    this.#pageSize = options.pageSize
  }

  /**
   * Copies the next entries up to the number `until`, and returns the last number that is copied. Another process may copy at the
   * same time: each chunk is stored once.
   * @throws CorruptLedgerError when an old entry is not as it was written
   */
  async copyChunk(until: number): Promise<number> {
    if (this.#copiedSeq < 0) await this.#load()
    const rows = await this.#read(until)
    const last = rows.at(-1)
    if (last === undefined) return this.#copiedSeq
    const isStored = await this.#store(rows, last.seq)
    // Another process was faster: continue after what it has stored.
    if (!isStored) await this.#load()
    else this.#copiedSeq = last.seq
    return this.#copiedSeq
  }

  async #load(): Promise<void> {
    const sql = this.#sql
    const [progress] = await sql<{ copiedSeq: number; newestMonth: string; oldestMonth: string }[]>`
      select p.copied_seq::float8 as "copiedSeq", l.newest_month::text as "newestMonth", l.oldest_month::text as "oldestMonth"
      from ledger_upgrade.progress p, ledger l`
    assert(progress !== undefined, 'Cannot copy the journal: the copy was not begun')
    const heads = await sql<{ shard: number; seq: number; month: string; link: Uint8Array }[]>`
      select s.shard, j.seq::float8 as "seq", j.month::text as "month", j.link
      from shard s cross join lateral (
        select seq, month, link from journal j where j.shard = s.shard order by j.seq desc limit 1) j`
    this.#copiedSeq = progress.copiedSeq
    this.#newestMonth = progress.newestMonth
    const none = { lastSeq: 0, lastMonth: progress.oldestMonth, lastLink: NO_LINK }
    this.#heads = Array.from({ length: SHARDS }, () => none)
    for (const { shard, seq, month, link } of heads)
      this.#heads[shard] = { lastSeq: seq, lastMonth: month, lastLink: link }
  }

  async #read(until: number): Promise<readonly OldRow[]> {
    const main = this.#main
    // Laterally, one by one: the planner would rather read all events from the first on.
    return await this.#sql.unsafe<OldRow[]>(
      `with page as materialized (
         select * from ${main}.journal where seq > $1::text::bigint and seq <= $2::text::bigint order by seq limit ${this.#pageSize}
       )
       select j.seq::float8 as "seq", j.agency_id as "agencyId", j.unit_id as "unitId", j.other_unit_id as "otherUnitId",
              j.kind, j.booking_id as "bookingId", j.payload, j.checksum, j.request_id as "requestId", j.at,
              j.epoch::float8 as "epoch", e.event_id as "eventId", e.body,
              u.slug as "unitSlug", u.name as "unitName", a.currency
       from page j
       left join lateral (select event_id, body from ${main}.webhook_event where seq = j.seq limit 1) e on true
       left join ${main}.agency a on a.agency_id = j.agency_id
       left join ${main}.unit u on u.agency_id = j.agency_id and u.unit_id = j.unit_id
       order by j.seq`,
      [String(this.#copiedSeq), String(until)],
    )
  }

  async #store(rows: readonly OldRow[], upto: number): Promise<boolean> {
    const lines = await AuthorLines.load(this.#sql, rows)
    const heads = new Map<number, ShardHead>()
    const entries: EncodedEntry[] = []
    let unknown = 0
    let different = 0
    for (const row of rows) {
      const line = lines.take(row)
      if (line === null) unknown += 1
      const event = decodeOldEvent(row)
      const entry = this.#encode(row, event, line, heads)
      entries.push(entry)
      // The reference as the entry has it: one that was erased since is not sent any more, and that is meant.
      const sourceRef = event.kind === 'unit_set' ? null : event.after.sourceRef
      if (entry.isAnnounced && (row.body === null || bodyOfEntry(entry, sourceRef) !== row.body)) different += 1
    }
    const late = entries
      .filter(({ month, at }) => month !== monthOf(at))
      .map(({ agencyId, seq, month }) => ({ agency_id: uuidOf(agencyId), seq, month }))
    const links = entries.map(({ link }) => Buffer.from(link).toString('hex')).join('')
    const [stored] = await this.#sql<{ isStored: boolean }[]>`
      select ledger_upgrade.copy_entries(
        ${this.#copiedSeq}::text::bigint, ${upto}::text::bigint,
        ${compositeText(JOURNAL_ROW, entries.map(entryRow))}::text::ledger_next.journal_row[],
        ${entries.map(({ payload }) => payload).join('\x1e')}::text, ${`\\x${links}`}::text::bytea,
        ${`{${rows.map(({ epoch }) => epoch).join(',')}}`}::text::bigint[],
        ${JSON.stringify(lines.taken)}::text::jsonb, ${JSON.stringify(late)}::text::jsonb,
        ${unknown}::int, ${different}::int) as "isStored"`
    if (stored?.isStored !== true) return false
    for (const [shard, head] of heads) this.#heads[shard] = head
    return true
  }

  #encode(row: OldRow, event: UnitEvent, line: AuthorLine | null, heads: Map<number, ShardHead>): EncodedEntry {
    const { agencyId, seq, eventId } = row
    const shard = shardOf(agencyId)
    const head = heads.get(shard) ?? this.#heads[shard]
    const chainKey = this.#chainKeys[shard]
    assert(head !== undefined && chainKey !== undefined, `Cannot copy an entry: shard ${shard} is not known`)
    const entry: Entry = {
      id: eventId ?? idOf('evt', line === null ? madeUuid(row) : uuidOf(line.id)),
      event,
      at: row.at.getTime(),
      caller: line?.caller ?? { ...UNKNOWN_CALLER, requestId: row.requestId },
      envelope: row.kind === 'unit_set' ? null : envelopeOf(row),
    }
    const month = storageMonth(entry.at, { last: head.lastMonth, newest: this.#newestMonth })
    const encoded = encodeEntry(agencyId, entry, { shard, seq, month, previousLink: head.lastLink, chainKey })
    heads.set(shard, { lastSeq: seq, lastMonth: month, lastLink: encoded.link })
    return encoded
  }
}

function envelopeOf({ body, unitSlug, unitName, currency }: OldRow): Envelope {
  if (body === null) return { unitSlug: unitSlug ?? '', unitName: unitName ?? '', currency: currency ?? '' }
  const { data } = JSON.parse(body) as { data: Envelope }
  return { unitSlug: data.unitSlug, unitName: data.unitName, currency: data.currency }
}

/** The same for the same entry, so that it can be copied twice. */
function madeUuid({ agencyId, seq }: OldRow): string {
  return sha256Hex(`${agencyId} ${seq}`).slice(0, 32)
}
