/**
 * `bun bench/checkpoints.ts`: what the trees of agencies cost behind the write path, in CPU of the service and of PostgreSQL per entry. A
 * round of the builder is measured with many entries of few agencies, and with one entry of each of many: with the leaves that the process
 * made when it wrote the entries, and read from the journal, as after a start. And what a tree takes on disk.
 */
import type { DurableEntry } from '../src/events/checkpoints/recent-leaves.ts'
import { systemIds } from '../src/lib/ids.ts'
import type { Sql } from '../src/postgres/client/connect.ts'
import { checkpointBuilder, noteUnseen } from '../test/support/checkpoints.ts'
import { addAgency, addUnit, openTestDatabaseLedger } from '../test/support/open-ledger.ts'
import { CALLER, requestFor, sampleUnit } from '../test/support/samples.ts'
import { cpuSecondsOfFamily, startPostgres } from './support/processes.ts'
import { medianOf, rounded } from './support/statistics.ts'
import { saleOf } from './world/world.ts'

const AGENCIES = 2_000
/** The first ones run code that is not compiled yet, and do not count. */
const [WARM_UP, ROUNDS] = [2, 3]
const SHAPES = [
  { name: '50,000 entries of 10 agencies', agencies: 10, entries: 5_000 },
  { name: '20 entries of each of 1,000 agencies', agencies: 1_000, entries: 20 },
  { name: 'one entry of each of 2,000 agencies', agencies: 2_000, entries: 1 },
] as const

const postgres = await startPostgres()
try {
  const { url, sql } = await postgres.createDatabase('checkpoints')
  await seed(url)
  for (const { name, agencies, entries } of SHAPES)
    for (const isRecent of [true, false]) {
      const costs: { service: number; database: number }[] = []
      for (let round = 0; round < WARM_UP + ROUNDS; round++) {
        const cost = await measure(sql, { agencies, entries, isRecent })
        if (round >= WARM_UP) costs.push(cost)
      }
      const of = (which: 'service' | 'database') => rounded(medianOf(costs.map((cost) => cost[which])), 1)
      const from = isRecent ? 'as they come' : 'from the journal'
      console.log(
        `${name}, ${from}: ${of('service')} µs of the service and ${of('database')} µs of PostgreSQL per entry`,
      )
    }
  const [size] = await sql<{ leaves: number; bytes: number }[]>`
    select sum(size - first_leaf)::float8 as leaves, pg_total_relation_size('checkpoint')::float8 as bytes from checkpoint`
  console.log(`on disk: ${Math.round((size?.bytes ?? 0) / (size?.leaves ?? 1))} bytes per entry, all shapes together`)
} finally {
  await postgres.stop()
}
process.exit()

/** What a round costs per entry, in microseconds. `isRecent`: this process has just written them. */
async function measure(
  sql: Sql,
  { agencies, entries, isRecent }: { agencies: number; entries: number; isRecent: boolean },
): Promise<{ service: number; database: number }> {
  await copyEntries(sql, agencies, entries)
  const builder = checkpointBuilder(sql)
  // The search of a process that starts, and the first read of every tree, are not a part of a round.
  await builder.round()
  for (const entry of await copyEntries(sql, agencies, 1)) builder.note(entry)
  await builder.round()
  const copied = await copyEntries(sql, agencies, entries)
  const [databaseBefore, before] = [cpuSecondsOfFamily(postgres.postmasterPid), process.cpuUsage()]
  if (isRecent) for (const entry of copied) builder.note(entry)
  else for (const agencyId of new Set(copied.map((entry) => entry.agencyId))) noteUnseen(builder, agencyId)
  await builder.round()
  const { user, system } = process.cpuUsage(before)
  const database = (cpuSecondsOfFamily(postgres.postmasterPid) - databaseBefore) * 1_000_000
  return { service: (user + system) / (agencies * entries), database: database / (agencies * entries) }
}

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

/** Copies of the last entry of some agencies, with numbers that follow in each shard. */
async function copyEntries(sql: Sql, agencies: number, entries: number): Promise<readonly DurableEntry[]> {
  await sql`
    with last as materialized (
      select distinct on (e.agency_id) e as entry from journal e
      where e.agency_id in (select agency_id from agency order by agency_id limit ${agencies})
      order by e.agency_id, e.seq desc),
    newest as materialized (select shard, max(seq) as seq from journal group by shard),
    copy as materialized (
      select jsonb_populate_record(last.entry, jsonb_build_object(
        'seq', newest.seq + row_number() over (partition by newest.shard order by n), 'entry_id', gen_random_uuid())) as made
      from last join newest on newest.shard = (last.entry).shard cross join generate_series(1, ${entries}::int) n)
    insert into journal select (made).* from copy`
  await sql`analyze journal`
  const rows = await sql<DurableEntry[]>`
    select shard_of(agency_id)::float8 as "shard", seq::float8 as "seq", month::text as "month",
           'agc_' || replace(agency_id::text, '-', '') as "agencyId", 'evt_' || replace(entry_id::text, '-', '') as "id",
           sha256('\\x00'::bytea || convert_to(entry, 'UTF8')) as "leaf"
    from leaves() l
    where l.seq > coalesce((select c.last_seq from checkpoint c where c.agency_id = l.agency_id order by c.first_leaf desc limit 1), 0)
    order by 1, 2`
  return rows.map((row) => ({ ...row, leaf: Uint8Array.from(row.leaf) }))
}
