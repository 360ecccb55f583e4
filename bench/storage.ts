/**
 * What a booking costs on the disk of Postgres: the bytes by which every table, with its indexes, has grown per booking. Each
 * booking has a guest of its own, a reference and a request id, as a partner's has; a webhook endpoint is not registered.
 */
import type { Agency } from '../src/core/catalogue/agency.ts'
import type { Unit } from '../src/core/domain/unit.ts'
import { systemIds } from '../src/lib/ids.ts'
import type { Sql } from '../src/postgres/client/connect.ts'
import { addAgency, addUnit, openTestDatabaseLedger } from '../test/support/open-ledger.ts'
import { requestFor, sampleUnit } from '../test/support/samples.ts'
import { writeResult } from './report.ts'
import { startPostgres } from './support/processes.ts'
import { saleOf } from './world/world.ts'

const AGENCIES = 20
const UNITS_PER_AGENCY = 20
const BOOKINGS_PER_UNIT = 50
const CLIENTS = 64

export async function measureStorage(say: (text: string) => void): Promise<void> {
  const postgres = await startPostgres()
  try {
    const { url, sql } = await postgres.createDatabase('storage')
    const ledger = await openTestDatabaseLedger(url)
    const places: { agency: Agency; unit: Unit }[] = []
    for (let a = 0; a < AGENCIES; a++) {
      const agency = await addAgency(ledger, { id: systemIds('agc'), slug: `agency-${a}` })
      for (let u = 0; u < UNITS_PER_AGENCY; u++) {
        const unit = await addUnit(ledger, agency, sampleUnit({ id: systemIds('unt'), slug: `unit-${u}` }))
        places.push({ agency, unit })
      }
    }
    const before = await bytesOf(sql)
    const bookings = places.length * BOOKINGS_PER_UNIT
    let n = 0
    const client = async (): Promise<void> => {
      for (let sale = n++; sale < bookings; sale = n++) {
        const place = places[sale % places.length]
        if (place === undefined) throw new Error('Cannot book: there is no unit')
        const { arrival, departure } = saleOf(Math.floor(sale / places.length))
        const guest = {
          firstName: 'Maria',
          lastName: `Pereira ${sale}`,
          email: `maria.pereira.${sale}@example.com`,
          phone: `+351 9${String(sale).padStart(8, '0')}`,
          nationality: 'PT',
        }
        const request = requestFor(place.unit, arrival, departure, { guest, sourceRef: `REF-${100_000 + sale}` })
        const outcome = await ledger.commands.book(place.agency, request, {
          actor: { kind: 'key', id: systemIds('key') },
          route: 'POST /partner/v1/bookings',
          requestId: systemIds('req'),
        })
        if (outcome.kind !== 'done') throw new Error('Cannot book: the nights are taken')
      }
    }
    await Promise.all(Array.from({ length: CLIENTS }, client))
    await ledger.close()
    await sql`vacuum analyze`
    const after = await bytesOf(sql)
    const tables = [...after].flatMap(([table, bytes]) => {
      const perBooking = Math.round((bytes - (before.get(table) ?? 0)) / bookings)
      return perBooking > 0 ? [{ table, bytesPerBooking: perBooking }] : []
    })
    const bytesPerBooking = tables.reduce((sum, of) => sum + of.bytesPerBooking, 0)
    for (const { table, bytesPerBooking: bytes } of tables) say(`  ${table}: ${bytes} bytes per booking`)
    const indexes = await indexBytesOf(sql, bookings)
    for (const { index, bytesPerBooking: bytes } of indexes) say(`    of which ${index}: ${bytes}`)
    say(`storage: ${bytesPerBooking} bytes per booking (${bookings} bookings)`)
    await writeResult('storage', { bookings, bytesPerBooking, tables, indexes })
  } finally {
    await postgres.stop()
  }
}

/** By table, without the number of its partition: what it and its indexes take. */
async function bytesOf(sql: Sql): Promise<Map<string, number>> {
  const rows = await sql<{ table: string; bytes: number }[]>`
    select regexp_replace(c.relname, '_[0-9]{4}_[0-9]{2}$', '') as "table", sum(pg_total_relation_size(c.oid))::float8 as bytes
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind = 'r' and n.nspname not in ('pg_catalog', 'information_schema')
    group by 1 order by 1`
  return new Map(rows.map(({ table, bytes }) => [table, bytes]))
}

/** What each index takes per booking, if it is anything. */
async function indexBytesOf(sql: Sql, bookings: number): Promise<{ index: string; bytesPerBooking: number }[]> {
  const rows = await sql<{ index: string; bytes: number }[]>`
    select coalesce(parent.relname, own.relname) as "index", sum(pg_relation_size(own.oid))::float8 as bytes
    from pg_class own
    join pg_namespace n on n.oid = own.relnamespace
    left join pg_inherits i on i.inhrelid = own.oid
    left join pg_class parent on parent.oid = i.inhparent
    where own.relkind = 'i' and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')
    group by 1 order by 1`
  return rows.flatMap(({ index, bytes }) => {
    const bytesPerBooking = Math.round(bytes / bookings)
    return bytesPerBooking > 1 ? [{ index, bytesPerBooking }] : []
  })
}
