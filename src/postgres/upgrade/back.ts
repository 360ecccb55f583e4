/**
 * The way back to the previous version: fences out the present version, copies what was written since the switch to the old tables, and
 * puts those back in place.
 */
import type { Booking } from '../../core/domain/booking.ts'
import { type LoggedEvent, type UnitEvent, webhookEventOf } from '../../core/domain/event.ts'
import { decodeEntry, envelopeIn, type StoredEntry } from '../../core/journal/entry-codec.ts'
import type { Actor } from '../../core/journal/record.ts'
import { type IdPrefix, idOf } from '../../lib/ids.ts'
import { webhookBody } from '../../webhooks/envelope.ts'
import { connect, type Sql } from '../client/connect.ts'
import { MIGRATIONS } from '../schema/migrations.ts'
import { abandonCopy } from './abandon.ts'
import backText from './back.sql' with { type: 'text' }
import { COMPARED_AGENCIES, COMPARED_TABLES, comparisonStatements, type OldColumn } from './compared-tables.ts'
import { tryCopyLock } from './copy-lock.ts'
import { withLockRetries } from './lock-retries.ts'
import { encodeOldEvent } from './old-entries.ts'
import { upgradeState } from './old-ledger.ts'
import { type OnStep, Progress } from './progress.ts'
import switchText from './switch.sql' with { type: 'text' }
import { UpgradeError } from './upgrade-error.ts'

const ENTRIES_PER_CHUNK = 1_000
const SWITCH_ATTEMPTS_MAX = 240

/** `entries`: those made since the switch that are now in the old journal. */
export type BackOutcome = { readonly kind: 'abandoned' } | { readonly kind: 'back'; readonly entries: number }

/**
 * Returns the database to the previous version. Before the switch: removes the copy. After it: fences out the present version, and copies
 * everything written since to the old tables. After an interruption, call it again: it starts over.
 * @throws UpgradeError when there is no way back
 */
export async function goBack(databaseUrl: string, onStep: OnStep): Promise<BackOutcome> {
  const sql = connect(databaseUrl, { purpose: 'admin' })
  try {
    if (!(await tryCopyLock(sql)))
      throw new UpgradeError('Cannot go back: another process is copying this ledger. Stop it first')
    const { stage, main } = await upgradeState(sql)
    if (stage === 'copying') {
      await abandonCopy(sql, main, onStep)
      return { kind: 'abandoned' }
    }
    if (stage !== 'switched')
      throw new UpgradeError('Cannot go back: this database has no old tables. The upgrade was finished, or never made')
    return { kind: 'back', entries: await new WayBack(sql, main, onStep).go() }
  } finally {
    await sql.end({ timeout: 1 })
  }
}

class WayBack {
  readonly #sql: Sql
  readonly #main: string
  readonly #onStep: OnStep

  constructor(sql: Sql, main: string, onStep: OnStep) {
    this.#sql = sql
    this.#main = main
    this.#onStep = onStep
  }

  async go(): Promise<number> {
    await this.#mustBePossible()
    await this.#sql.unsafe(`${switchText}${backText}`.replaceAll('main_schema', this.#main)).simple()
    for (let attempt = 1; ; attempt++) {
      this.#onStep('Fencing out the present version')
      const [fence] = await this.#sql<{ fenced: string }[]>`select ledger_upgrade.fence_shards()::text as "fenced"`
      const entries = await this.#bring()
      if (await this.#switchBack(fence?.fenced ?? '')) return entries
      if (attempt >= 10)
        throw new UpgradeError(
          'Cannot go back: the present version takes over again and again. Stop it, and repeat the command',
        )
    }
  }

  /** The old tables know nothing of what a later migration has added, and archived rows cannot be compared with them. */
  async #mustBePossible(): Promise<void> {
    const newest = MIGRATIONS.at(-1)?.version ?? 0
    const [row] = await this.#sql<{ version: number; isArchived: boolean }[]>`
      select (select max(version) from schema_migration) as "version", l.oldest_month <> p.oldest_month as "isArchived"
      from ledger l, ledger_upgrade.progress p`
    if (row?.version !== newest)
      throw new UpgradeError(
        `Cannot go back: the schema is at version ${row?.version}, this program is for version ${newest}`,
      )
    if (row.isArchived) throw new UpgradeError('Cannot go back: months were archived since the switch')
  }

  /** Brings everything that was written since the switch to the old tables. Returns the number of entries. */
  async #bring(): Promise<number> {
    await this.#sql`select ledger_upgrade.renumber()`
    await this.#compare()
    const entries = await this.#bringEntries()
    this.#onStep('Bringing audit lines, pings and deliveries back')
    await this.#sql`select ledger_upgrade.store_old_rest()`
    return entries
  }

  async #compare(): Promise<void> {
    for (const table of [COMPARED_AGENCIES, ...COMPARED_TABLES]) {
      this.#onStep(`Bringing table ${table.name} back`)
      const columns = await this.#sql<OldColumn[]>`
        select o.attname as "name", format_type(o.atttypid, null) as "type",
               (select format_type(n.atttypid, null) from pg_attribute n
                where n.attrelid = ${`${this.#main}.${table.name}`}::text::regclass and n.attname = o.attname and n.attnum > 0
                  and not n.attisdropped) as "newType"
        from pg_attribute o
        where o.attrelid = ${`ledger_previous.${table.name}`}::text::regclass and o.attnum > 0 and not o.attisdropped
          and o.attgenerated = ''
        order by o.attnum`
      for (const statement of comparisonStatements(table, columns, this.#main)) await this.#sql.unsafe(statement)
    }
  }

  async #bringEntries(): Promise<number> {
    const [count] = await this.#sql<{ total: number }[]>`
      select count(*)::float8 as "total" from ledger_upgrade.renumbered`
    const total = count?.total ?? 0
    const progress = new Progress('the new entries', { total, done: 0, onStep: this.#onStep })
    this.#onStep(`Bringing ${total} journal entries back`)
    for (let after = 0, done = 0; ; ) {
      const rows = await this.#entries(after)
      const last = rows.at(-1)
      if (last === undefined) return total
      await this.#sql`select ledger_upgrade.store_old_entries(${JSON.stringify(rows.map(oldRow))}::text::jsonb)`
      after = last.oldSeq
      done += rows.length
      progress.report(done)
    }
  }

  async #entries(after: number): Promise<readonly NewEntry[]> {
    const rows = await this.#sql<StoredNewEntry[]>`
      select r.old_seq::float8 as "oldSeq", j.seq::float8 as "seq", j.agency_id as "agencyId", j.unit_id as "unitId",
             j.other_unit_id as "otherUnitId", j.booking_id as "bookingId", j.entry_id as "id", j.kind, j.payload,
             j.checksum::text as "checksum", j.at, j.epoch::float8 as "epoch", j.actor_kind as "actorKind",
             j.actor_id as "actorId", j.route, j.request_id as "requestId", b.source_ref as "sourceRef",
             b.cancel_reason as "cancelReason"
      from ledger_upgrade.renumbered r
      join journal j on j.shard = r.shard and j.seq = r.seq and j.month = r.month
      left join booking b on b.agency_id = j.agency_id and b.booking_id = j.booking_id
      where r.old_seq > ${after} order by r.old_seq limit ${ENTRIES_PER_CHUNK}`
    const id = (prefix: IdPrefix, uuid: string | null) => (uuid === null ? null : idOf(prefix, uuid))
    return rows.map((row) => ({
      ...row,
      id: idOf('evt', row.id),
      agencyId: idOf('agc', row.agencyId),
      unitId: idOf('unt', row.unitId),
      otherUnitId: id('unt', row.otherUnitId),
      bookingId: id('bkg', row.bookingId),
      // The previous version has no access tokens.
      ...(row.actorKind === 'access_token'
        ? { actorKind: 'portal' as const, actorId: null }
        : { actorId: id('key', row.actorId) }),
    }))
  }

  async #switchBack(fenced: string): Promise<boolean> {
    this.#onStep('Taking the old tables into use')
    try {
      await withLockRetries(() => this.#sql`select ledger_upgrade.switch_back(${fenced}::text::numeric)`, {
        attempts: SWITCH_ATTEMPTS_MAX,
        onBusy: () => this.#onStep('Waiting for locks on the tables, held by another session'),
      })
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'NL021') return false
      throw error
    }
    await this.#sql.unsafe('drop schema ledger_upgrade cascade')
    return true
  }
}

interface NewEntry extends StoredEntry {
  readonly oldSeq: number
  readonly id: string
  readonly agencyId: string
  readonly at: Date
  readonly epoch: number
  readonly actorKind: Actor['kind']
  readonly actorId: string | null
  readonly route: string
  readonly requestId: string | null
  /** Of the booking's row, as it is now. */
  readonly sourceRef: string | null
  readonly cancelReason: string | null
}

/** With UUIDs where `NewEntry` has ids. */
type StoredNewEntry = NewEntry

/** An entry as `store_old_entries` takes it. */
function oldRow(entry: NewEntry): object {
  const { oldSeq, id, agencyId, bookingId, at, epoch, actorKind, actorId, route, requestId, sourceRef } = entry
  const logged = decodeEntry(entry)
  const kind = webhookEventOf(logged)
  const event = { id, at: at.getTime(), seq: oldSeq, sourceRef }
  return {
    ...encodeOldEvent(withTexts(logged, entry), oldSeq),
    ...{ id, agencyId, bookingId, at: at.toISOString(), epoch, actorKind, actorId, route, requestId },
    webhookEvent: kind,
    body:
      kind === null || logged.kind === 'unit_set'
        ? null
        : webhookBody({ ...event, kind, booking: logged.after, envelope: envelopeIn(entry) }),
  }
}

/** The event with the texts of the booking's row. A reason belongs to the cancellation. */
function withTexts(event: LoggedEvent, { sourceRef, cancelReason }: NewEntry): UnitEvent {
  if (event.kind === 'unit_set') return event
  const texts = { sourceRef, cancelReason: null }
  const after: Booking = { ...event.after, ...texts }
  if (event.kind === 'booking_created') {
    return { kind: event.kind, after: after.status === 'cancelled' ? { ...after, cancelReason } : after }
  }
  const before: Booking = { ...event.before, ...texts }
  return event.kind === 'booking_cancelled'
    ? { kind: event.kind, before, after: { ...after, cancelReason } }
    : { kind: event.kind, before, after }
}
