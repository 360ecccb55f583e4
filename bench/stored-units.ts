/**
 * How long the service takes to be ready with 1,000,000 units stored, in 50,000 agencies with a key and two fee types each. One agency is
 * written as the service writes it; the others are its rows, copied in SQL with other ids, and have no log.
 */
import type { Sql } from '../src/postgres/client/connect.ts'
import { medianOf } from './compare.ts'
import { type BenchPostgres, residentMbOf, startService } from './support/processes.ts'
import { seedLedger } from './world/seed.ts'

const UNITS_PER_AGENCY = 20
const AGENCIES = 50_000
const STARTS = 3

export interface Stored {
  readonly units: number
  readonly agencies: number
  readonly readyMs: number
  readonly residentMb: number
}

export async function measureStoredUnits(postgres: BenchPostgres): Promise<Stored> {
  const { url, sql } = await postgres.createDatabase('stored_units')
  await seedLedger(
    sql,
    { agencies: 1, unitsPerAgency: UNITS_PER_AGENCY, bookingsPerUnit: 0, bookingsOfFirst: 0 },
    () => {},
  )
  await copyAgency(sql)
  const starts: { readyMs: number; residentMb: number }[] = []
  for (let start = 0; start < STARTS; start++) {
    const service = await startService(url)
    starts.push({ readyMs: service.readyMs, residentMb: residentMbOf(service.pid) })
    await service.stop()
  }
  const of = (figure: (start: (typeof starts)[number]) => number) => medianOf(starts.map(figure))
  const [readyMs, residentMb] = [of((start) => start.readyMs), of((start) => start.residentMb)]
  return { units: AGENCIES * UNITS_PER_AGENCY, agencies: AGENCIES, readyMs, residentMb }
}

async function copyAgency(sql: Sql): Promise<void> {
  const copies = AGENCIES - 1
  await sql`
    insert into agency select r.* from agency a, generate_series(1, ${copies}::int) n,
      lateral jsonb_populate_record(a, jsonb_build_object('agency_id', md5('agency' || n), 'slug', 'copy-' || n)) r`
  await sql`
    insert into api_key select r.* from api_key k, generate_series(1, ${copies}::int) n,
      lateral jsonb_populate_record(k, jsonb_build_object('agency_id', md5('agency' || n), 'key_id', md5('key' || n),
        'secret_sha256', md5('a' || n) || md5('b' || n))) r`
  await sql`
    insert into fee_type overriding system value select r.* from fee_type f, generate_series(1, ${copies}::int) n,
      lateral jsonb_populate_record(f, jsonb_build_object('agency_id', md5('agency' || n))) r`
  await sql`
    insert into unit select r.* from unit u, generate_series(1, ${copies}::int) n,
      lateral jsonb_populate_record(u, jsonb_build_object('agency_id', md5('agency' || n))) r`
  await sql`vacuum analyze`
  await sql`checkpoint`
}
