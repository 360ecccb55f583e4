/**
 * Fills the databases. The ledger's rows go through `append_batch`, as the service writes them; the peer's are copied from
 * them.
 */

import type { AgencyStore } from '../../src/accounts/agency-store.ts'
import { existingSecret } from '../../src/accounts/secrets.ts'
import { type Agency, type ApiKey, KEY_PREFIX, SCOPES } from '../../src/core/catalogue/agency.ts'
import type { Booking, UnitEvent } from '../../src/core/domain/booking.ts'
import { encodeBatch, headAt, type ShardHead } from '../../src/core/journal/batch.ts'
import type { AuditDraft, Caller, JournalRecord } from '../../src/core/journal/record.ts'
import { systemIds } from '../../src/lib/ids.ts'
import type { Sql } from '../../src/postgres/client/connect.ts'
import { appendBatch } from '../../src/postgres/stores/append-batch.ts'
import { PostgresAgencyStore } from '../../src/postgres/stores/postgres-agency-store.ts'
import { PostgresChainKeys } from '../../src/postgres/stores/postgres-chain-keys.ts'
import { TEST_SECRET_KEY } from '../../test/support/service-process.ts'
import {
  agencyIdOf,
  calendarOf,
  feeTypesOf,
  keyIdOf,
  listedBookingOf,
  secretOf,
  unitOf,
  type WorldSize,
} from './world.ts'

/** The epoch of a database without a writer so far. */
export const EPOCH = 0
const RECORDS_PER_BATCH = 2_000
const AT = Date.UTC(2026, 10, 1)
const PLAN = { apiAccess: true, requestsPerMinute: 2_000_000_000, requestsPerMonth: 9_000_000_000_000 }

/** @param sql a client of purpose `admin`, on a migrated and empty database */
export async function seedLedger(sql: Sql, size: WorldSize, onStep: (step: string) => void): Promise<void> {
  onStep(`seeding ${size.agencies} agencies with ${size.unitsPerAgency} units`)
  const store = new PostgresAgencyStore(sql, () => EPOCH)
  for (let agency = 0; agency < size.agencies; agency++) await seedAgency(store, agency)
  const writer = await BatchWriter.open(sql)
  for (let agency = 0; agency < size.agencies; agency++)
    for (let unit = 0; unit < size.unitsPerAgency; unit++) await writer.add(unitSetOf(agency, unit))
  onStep(`seeding ${size.agencies * size.unitsPerAgency * size.bookingsPerUnit} bookings`)
  for (let agency = 0; agency < size.agencies; agency++)
    for (let unit = 0; unit < size.unitsPerAgency; unit++)
      for (const booking of calendarOf(size, agency, unit)) await writer.add(bookedOf(agencyIdOf(agency), booking))
  onStep(`seeding ${size.bookingsOfFirst} bookings and guests of one agency`)
  for (let n = 0; n < size.bookingsOfFirst; n++)
    await writer.add({ ...bookedOf(agencyIdOf(0), listedBookingOf(size, n)), guest: guestOf(n) })
  await writer.end()
  await sql`vacuum analyze`
}

export async function seedAgency(store: AgencyStore, agency: number): Promise<void> {
  const id = agencyIdOf(agency)
  const line = (): AuditDraft => ({
    auditId: systemIds('aud'),
    at: AT,
    actor: { kind: 'system', id: null },
    route: 'seed',
    outcome: 'OK',
    bookingId: null,
    requestId: null,
    count: 1,
  })
  const made: Agency = {
    id,
    slug: `agency-${agency}`,
    name: `Agency ${agency}`,
    currency: 'EUR',
    timezone: 'Europe/Lisbon',
    status: 'active',
    plan: PLAN,
    defaultHoldHours: 48,
    createdAt: AT,
  }
  await store.insertAgency(made, line())
  const { prefix, sha256 } = existingSecret(KEY_PREFIX, secretOf(agency))
  const key: ApiKey = {
    id: keyIdOf(agency),
    agencyId: id,
    name: null,
    prefix,
    secretSha256: sha256,
    scopes: SCOPES,
    createdAt: AT,
    expiresAt: null,
    revokedAt: null,
    lastUsedAt: null,
  }
  await store.insertKey(key, line())
  for (const fee of feeTypesOf(agency)) await store.insertFeeType(id, fee, line())
}

/** Group commits of our own, under the epoch that the database begins with. */
export class BatchWriter {
  readonly #sql: Sql
  readonly #chainKeys: readonly Uint8Array[]
  readonly #heads: ShardHead[]
  readonly #newestMonth: string
  #records: JournalRecord[] = []

  private constructor(sql: Sql, log: { chainKeys: readonly Uint8Array[]; heads: ShardHead[]; newestMonth: string }) {
    this.#sql = sql
    this.#chainKeys = log.chainKeys
    this.#heads = log.heads
    this.#newestMonth = log.newestMonth
  }

  /** Continues the log of the database. */
  static async open(sql: Sql): Promise<BatchWriter> {
    const rows = await sql<(ShardHead & { newestMonth: string })[]>`
      select greatest(s.mark, coalesce(j.seq, 0))::float8 as "lastSeq", coalesce(j.month, l.oldest_month)::text as "lastMonth",
             coalesce(j.link, s.mark_link) as "lastLink", l.newest_month::text as "newestMonth"
      from ledger l, shard s
      left join lateral (
        select seq, month, link from journal where journal.shard = s.shard order by seq desc limit 1) j on true
      order by s.shard`
    const chainKeys = await new PostgresChainKeys(sql, Uint8Array.fromHex(TEST_SECRET_KEY)).open()
    return new BatchWriter(sql, { chainKeys, heads: [...rows], newestMonth: rows[0]?.newestMonth ?? '' })
  }

  async add(record: JournalRecord): Promise<void> {
    this.#records.push(record)
    if (this.#records.length >= RECORDS_PER_BATCH) await this.end()
  }

  async end(): Promise<void> {
    if (this.#records.length === 0) return
    const log = { heads: this.#heads, chainKeys: this.#chainKeys, newestMonth: this.#newestMonth }
    const records = encodeBatch(this.#records, log)
    const shards = [...new Set(records.map(({ shard }) => shard))].sort((a, b) => a - b)
    await appendBatch(this.#sql, { shards: shards.map((shard) => ({ shard, epoch: EPOCH })), records })
    for (const entry of records.flatMap(({ entries }) => entries)) this.#heads[entry.shard] = headAt(entry)
    this.#records = []
  }
}

const CALLER: Caller = {
  actor: { kind: 'key', id: systemIds('key') },
  route: 'POST /partner/v1/bookings',
  requestId: null,
}

function recordOf(agencyId: string, event: UnitEvent): JournalRecord {
  const envelope = event.kind === 'unit_set' ? null : { unitSlug: 'unit-000', unitName: 'Unit 000', currency: 'EUR' }
  return { agencyId, at: AT, entries: [{ id: systemIds('evt'), event, at: AT, caller: CALLER, envelope }] }
}

export function unitSetOf(agency: number, unit: number): JournalRecord {
  return recordOf(agencyIdOf(agency), { kind: 'unit_set', unit: unitOf(agency, unit) })
}

export function bookedOf(agencyId: string, booking: Booking): JournalRecord {
  return recordOf(agencyId, { kind: 'booking_created', after: booking })
}

const FIRST_NAMES = ['Ana', 'Rui', 'Maria', 'João', 'Inês', 'Pedro', 'Sofia', 'Tiago', 'Clara', 'Nuno']
const LAST_NAMES = [
  'Reis',
  'Silva',
  'Santos',
  'Costa',
  'Pereira',
  'Almeida',
  'Rocha',
  'Lopes',
  'Pinto',
  'Matos',
  'Faria',
]

export function guestOf(n: number): NonNullable<JournalRecord['guest']> {
  const firstName = FIRST_NAMES[n % FIRST_NAMES.length] ?? 'Ana'
  const lastName = `${LAST_NAMES[n % LAST_NAMES.length] ?? 'Reis'} ${n}`
  return {
    guestId: `gst_${Bun.hash(String(n)).toString(16).padStart(32, '0')}`,
    firstName,
    lastName,
    email: `guest${n}@example.com`,
    phone: `+351 9${String(n).padStart(8, '0')}`,
    nationality: 'PT',
  }
}
