/**
 * `bun bench/checkpoints.ts`: what the trees of agencies cost behind the write path, in CPU of the service and of PostgreSQL per entry. A
 * round of the builder is measured with many entries of few agencies, and with one entry of each of many; and what a tree takes on disk.
 */
import { systemIds } from '../src/lib/ids.ts'
import type { Sql } from '../src/postgres/client/connect.ts'
import { checkpointBuilder } from '../test/support/checkpoints.ts'
import { addAgency, addUnit, openTestDatabaseLedger } from '../test/support/open-ledger.ts'
import { CALLER, requestFor, sampleUnit } from '../test/support/samples.ts'
import { cpuSecondsOfFamily, startPostgres } from './support/processes.ts'
import { medianOf, rounded } from './support/statistics.ts'
import { saleOf } from './world/world.ts'

const AGENCIES = 2_000
const ROUNDS = 3
const SHAPES = [
  { name: '50,000 entries of 10 agencies', agencies: 10, entries: 5_000 },
  { name: '20 entries of each of 1,000 agencies', agencies: 1_000, entries: 20 },
  { name: 'one entry of each of 2,000 agencies', agencies: 2_000, entries: 1 },
] as const

const postgres = await startPostgres()
try {
  const { url, sql } = await postgres.createDatabase('checkpoints')
  await seed(url)
  for (const { name, agencies, entries } of SHAPES) {
    const costs: { service: number; database: number }[] = []
    for (let round = 0; round < ROUNDS; round++) {
      await sql`truncate checkpoint`
      await checkpointBuilder(sql).round()
      await copyEntries(sql, agencies, entries)
      const builder = checkpointBuilder(sql)
      // The search of a process that starts, and the first read of every tree, are not a part of a round.
      await builder.round()
      await copyEntries(sql, agencies, entries)
      const ids = await sql<{ id: string }[]>`
        select 'agc_' || replace(agency_id::text, '-', '') as id from agency order by agency_id limit ${agencies}`
      for (const { id } of ids) builder.note(id)
      const [databaseBefore, before] = [cpuSecondsOfFamily(postgres.postmasterPid), process.cpuUsage()]
      await builder.round()
      const { user, system } = process.cpuUsage(before)
      const database = (cpuSecondsOfFamily(postgres.postmasterPid) - databaseBefore) * 1_000_000
      costs.push({ service: (user + system) / (agencies * entries), database: database / (agencies * entries) })
    }
    const of = (which: 'service' | 'database') => rounded(medianOf(costs.map((cost) => cost[which])), 1)
    console.log(`${name}: ${of('service')} µs of the service and ${of('database')} µs of PostgreSQL per entry`)
  }
  const [size] = await sql<{ leaves: number; bytes: number }[]>`
    select sum(size - first_leaf)::float8 as leaves, pg_total_relation_size('checkpoint')::float8 as bytes from checkpoint`
  console.log(`on disk: ${Math.round((size?.bytes ?? 0) / (size?.leaves ?? 1))} bytes per entry, all shapes together`)
} finally {
  await postgres.stop()
}
process.exit()

/** Agencies with one unit and one booking each. */
async function seed(url: string): Promise<void> {
  const ledger = await openTestDatabaseLedger(url)
  for (let n = 0; n < AGENCIES; n++) {
    const agency = await addAgency(ledger, { id: systemIds('agc'), slug: `agency-${n}` })
    const unit = await addUnit(ledger, agency, sampleUnit({ id: systemIds('unt'), slug: `unit-${n}` }))
    const { arrival, departure } = saleOf(0)
    await ledger.commands.book(agency, requestFor(unit, arrival, departure), CALLER)
  }
  await ledger.close()
}

/** Copies of the last entry of some agencies, with numbers that follow. */
async function copyEntries(sql: Sql, agencies: number, entries: number): Promise<void> {
  await sql`
    with last as materialized (
      select distinct on (e.agency_id) e as entry from journal e
      where e.agency_id in (select agency_id from agency order by agency_id limit ${agencies})
      order by e.agency_id, e.seq desc),
    newest as materialized (select max(seq) as seq from journal),
    copy as materialized (
      select jsonb_populate_record(last.entry, jsonb_build_object(
        'seq', newest.seq + row_number() over (), 'entry_id', gen_random_uuid())) as made
      from last cross join newest cross join generate_series(1, ${entries}::int))
    insert into journal select (made).* from copy`
  await sql`analyze journal`
}
