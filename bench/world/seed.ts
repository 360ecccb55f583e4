/**
 * Fills the databases. The ledger's rows go through `append_batch`, as the service writes them, with journal, booking, audit
 * and event each; the peer's are copied from them.
 */

import { keySecretOf } from '../../src/access/key-secret.ts'
import type { AgencyStore } from '../../src/admin/agency-store.ts'
import { type Agency, type ApiKey, SCOPES } from '../../src/core/catalogue/agency.ts'
import type { Booking } from '../../src/core/domain/booking.ts'
import type { UnitEvent } from '../../src/core/domain/event.ts'
import { encodeBatch } from '../../src/core/journal/batch.ts'
import type { AuditDraft, JournalRecord } from '../../src/core/journal/record.ts'
import { systemIds } from '../../src/lib/ids.ts'
import type { Sql } from '../../src/postgres/client/connect.ts'
import { appendBatch } from '../../src/postgres/stores/append-batch.ts'
import { PostgresAgencyStore } from '../../src/postgres/stores/postgres-agency-store.ts'
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
const EPOCH = 0
const RECORDS_PER_BATCH = 2_000
const AT = Date.UTC(2026, 10, 1)
const PLAN = { apiAccess: true, requestsPerMinute: 2_000_000_000, requestsPerMonth: 9_000_000_000_000 }

/** @param sql a client of purpose `admin`, on a migrated and empty database */
export async function seedLedger(sql: Sql, size: WorldSize, onStep: (step: string) => void): Promise<void> {
  onStep(`seeding ${size.agencies} agencies with ${size.unitsPerAgency} units`)
  const store = new PostgresAgencyStore(sql, () => EPOCH)
  for (let agency = 0; agency < size.agencies; agency++) await seedAgency(store, agency)
  const writer = new BatchWriter(sql)
  for (let agency = 0; agency < size.agencies; agency++)
    for (let unit = 0; unit < size.unitsPerAgency; unit++)
      await writer.add(recordOf(agencyIdOf(agency), { kind: 'unit_set', unit: unitOf(agency, unit) }))
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

async function seedAgency(store: AgencyStore, agency: number): Promise<void> {
  const id = agencyIdOf(agency)
  const line = (): AuditDraft => ({
    ...{ auditId: systemIds('aud'), at: AT, actor: { kind: 'system', id: null }, route: 'seed', outcome: 'OK' },
    ...{ bookingId: null, requestId: null, count: 1 },
  })
  const made: Agency = {
    ...{ id, slug: `agency-${agency}`, name: `Agency ${agency}`, currency: 'EUR', timezone: 'Europe/Lisbon' },
    ...{ status: 'active', plan: PLAN, defaultHoldHours: 48, createdAt: AT },
  }
  await store.insertAgency(made, line())
  const { prefix, sha256 } = keySecretOf(secretOf(agency))
  const key: ApiKey = {
    ...{ id: keyIdOf(agency), agencyId: id, name: null, prefix, secretSha256: sha256, scopes: SCOPES },
    ...{ createdAt: AT, expiresAt: null, revokedAt: null },
  }
  await store.insertKey(key, line())
  for (const fee of feeTypesOf(agency)) await store.insertFeeType(id, fee, line())
}

/** Group commits of our own, under the epoch that the database begins with. */
export class BatchWriter {
  readonly #sql: Sql
  #records: JournalRecord[] = []
  #seq: number

  constructor(sql: Sql, firstSeq = 1) {
    this.#sql = sql
    this.#seq = firstSeq
  }

  async add(record: JournalRecord): Promise<void> {
    this.#records.push(record)
    if (this.#records.length >= RECORDS_PER_BATCH) await this.end()
  }

  async end(): Promise<void> {
    if (this.#records.length === 0) return
    const { records, lastSeq } = encodeBatch(this.#records, this.#seq)
    await appendBatch(this.#sql, EPOCH, Bun.randomUUIDv7(), records)
    this.#seq = lastSeq + 1
    this.#records = []
  }
}

export function recordOf(agencyId: string, event: UnitEvent): JournalRecord {
  return { agencyId, at: AT, entry: { event, at: AT, requestId: null } }
}

/** With its audit line and its event, as every booking leaves them. */
export function bookedOf(agencyId: string, booking: Booking): JournalRecord {
  return {
    ...recordOf(agencyId, { kind: 'booking_created', after: booking }),
    audit: {
      ...{ auditId: booking.id.replace('bkg', 'aud'), at: AT, count: 1 },
      ...{ actor: { kind: 'key', id: agencyId.replace('agc', 'key') } },
      ...{ route: 'POST /partner/v1/bookings', outcome: 'OK', bookingId: booking.id, requestId: null },
    },
    announcement: {
      eventId: booking.id.replace('bkg', 'evt'),
      kind: 'booking.created',
      body: (seq) => JSON.stringify({ event: 'booking.created', seq, data: { id: booking.id } }),
    },
  }
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

function guestOf(n: number): NonNullable<JournalRecord['guest']> {
  const firstName = FIRST_NAMES[n % FIRST_NAMES.length] ?? 'Ana'
  const lastName = `${LAST_NAMES[n % LAST_NAMES.length] ?? 'Reis'} ${n}`
  return {
    ...{ guestId: `gst_${Bun.hash(String(n)).toString(16).padStart(32, '0')}`, firstName, lastName },
    ...{ email: `guest${n}@example.com`, phone: `+351 9${String(n).padStart(8, '0')}`, nationality: 'PT' },
  }
}
