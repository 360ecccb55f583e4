import { openTestDatabaseLedger } from '../test/support/open-ledger.ts'
import { CALLER, requestFor } from '../test/support/samples.ts'
import { Latencies } from './load/histogram.ts'
import { startPostgres } from './support/processes.ts'
import { seedLedger } from './world/seed.ts'
import { agencyIdOf, saleOf, slugOf, type WorldSize } from './world/world.ts'
import { readFileSync, readdirSync } from 'node:fs'

const VARIANTS = (process.env['VARIANTS'] ?? '1,2,3,4').split(',')
const CLIENTS = (process.env['CLIENTS'] ?? '1,64,256').split(',').map(Number)
const ROUNDS = Number(process.env['ROUNDS'] ?? 5)
const RUN_MS = Number(process.env['RUN_MS'] ?? 500)
const SIZE: WorldSize = { agencies: 100, unitsPerAgency: 20, bookingsPerUnit: 0, bookingsOfFirst: 0 }
const postgres = await startPostgres()
/** CPU ms of all postgres processes of pids */
function pgCpu(pids: number[]): number {
  let ticks = 0
  for (const pid of pids) { try { const f = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' '); ticks += Number(f[11]) + Number(f[12]) } catch {} }
  return ticks * 10
}
const med = (xs: number[]) => xs.toSorted((a, b) => a - b)[xs.length >> 1]!
try {
  const open = []
  for (const variant of VARIANTS) {
    const { url, sql } = await postgres.createDatabase('bench' + open.length)
    await seedLedger(sql, SIZE, () => {})
    const [lanes, gather] = variant.split(':')
    process.env['LANES'] = lanes; process.env['GATHER'] = gather ?? ''
    const mod = await import('../src/core/journal/journal.ts')
    void mod
    const ledger = await openTestDatabaseLedger(url)
    const state = { variant, ledger, n: 0, results: {} as Record<number, { rate: number[], p50: number[], p99: number[], cpu: number[], pg: number[], per: number[] }>, sql }
    const units = SIZE.agencies * SIZE.unitsPerAgency
    const bookOnce = async () => {
      const sale = state.n++
      const agency = ledger.catalogue.agencyById(agencyIdOf(sale % SIZE.agencies))
      const inventory = agency === null ? null : await ledger.catalogue.inventory(agency.id)
      const unit = inventory?.sellableUnit(slugOf(Math.floor((sale % units) / SIZE.agencies)))
      if (agency === null || unit == null) throw new Error('lacks a unit')
      const { arrival, departure } = saleOf(Math.floor(sale / units))
      const outcome = await ledger.commands.book(agency, requestFor(unit, arrival, departure), CALLER)
      if (outcome.kind !== 'done') throw new Error('taken')
    }
    for (let i = 0; i < units; i++) await bookOnce()
    open.push({ ...state, state, bookOnce })
  }
  for (let round = 0; round < ROUNDS; round++) for (const clients of CLIENTS) for (const { state, bookOnce } of round % 2 ? open.toReversed() : open) {
    const lat = new Latencies()
    const pids = (await state.sql`select pid from pg_stat_activity where datname = current_database() and application_name like '%journal%'`).map((r) => r['pid'] as number)
    const before = state.ledger.journal.stats
    const c0 = process.cpuUsage(), p0 = pgCpu(pids)
    const since = performance.now(), until = since + RUN_MS
    await Promise.all(Array.from({ length: clients }, async () => { while (performance.now() < until) { const s = Bun.nanoseconds(); await bookOnce(); lat.add(Bun.nanoseconds() - s) } }))
    const secs = (performance.now() - since) / 1000
    const c1 = process.cpuUsage(c0), p1 = pgCpu(pids)
    const after = state.ledger.journal.stats
    const r = (state.results[clients] ??= { rate: [], p50: [], p99: [], cpu: [], pg: [], per: [] })
    const n = lat.size
    const [p50, p99] = lat.percentiles([0.5, 0.99])
    r.rate.push(n / secs); r.p50.push(p50!); r.p99.push(p99!); r.cpu.push((c1.user + c1.system) / n); r.pg.push((p1 - p0) * 1000 / n)
    r.per.push((after.records - before.records) / (after.batches - before.batches))
  }
  for (const clients of CLIENTS) for (const { state } of open) {
    const r = state.results[clients]!
    console.log(`${String(clients).padStart(4)} clients  ${state.variant.padEnd(8)} ${med(r.rate).toFixed(0).padStart(6)}/s (max ${Math.max(...r.rate).toFixed(0)})  p50 ${med(r.p50).toFixed(2)} p99 ${med(r.p99).toFixed(1)}  cpu ${med(r.cpu).toFixed(0)} + pg ${med(r.pg).toFixed(0)} µs (min ${Math.min(...r.cpu).toFixed(0)} + ${Math.min(...r.pg).toFixed(0)})  ${med(r.per).toFixed(1)} a batch`)
  }
  for (const { state } of open) await state.ledger.close()
} finally { await postgres.stop() }
process.exit()
