/** Group commit: how many bookings per second become durable, and how long each takes, by number of clients. */
import { openTestDatabaseLedger } from '../test/support/open-ledger.ts'
import { CALLER, requestFor } from '../test/support/samples.ts'
import { Latencies } from './load/histogram.ts'
import { writeResult } from './report.ts'
import { startPostgres } from './support/processes.ts'
import { seedLedger } from './world/seed.ts'
import { agencyIdOf, saleOf, slugOf, type WorldSize } from './world/world.ts'

const CLIENTS = [1, 16, 64, 256] as const
const RUN_MS = 2_500
const SIZE: WorldSize = { agencies: 100, unitsPerAgency: 20, bookingsPerUnit: 0, bookingsOfFirst: 0 }

export async function measureGroupCommit(say: (text: string) => void): Promise<void> {
  const postgres = await startPostgres()
  const rows: Record<string, number>[] = []
  try {
    const { url, sql } = await postgres.createDatabase('bench')
    await seedLedger(sql, SIZE, () => {})
    const ledger = await openTestDatabaseLedger(url)
    let n = 0
    const units = SIZE.agencies * SIZE.unitsPerAgency
    const bookOnce = async (): Promise<void> => {
      const sale = n++
      const agency = ledger.catalogue.agencyById(agencyIdOf(sale % SIZE.agencies))
      const inventory = agency === null ? null : await ledger.catalogue.inventory(agency.id)
      const unit = inventory?.sellableUnit(slugOf(Math.floor((sale % units) / SIZE.agencies)))
      if (agency === null || unit == null) throw new Error('Cannot book: the world lacks a unit')
      const { arrival, departure } = saleOf(Math.floor(sale / units))
      const outcome = await ledger.commands.book(agency, requestFor(unit, arrival, departure), CALLER)
      if (outcome.kind !== 'done') throw new Error('Cannot book: the nights are taken')
    }
    for (let i = 0; i < units; i++) await bookOnce()
    for (const clients of CLIENTS) {
      const latencies = new Latencies()
      const before = ledger.journal.stats
      const until = performance.now() + RUN_MS
      const since = performance.now()
      const client = async () => {
        while (performance.now() < until) {
          const start = Bun.nanoseconds()
          await bookOnce()
          latencies.add(Bun.nanoseconds() - start)
        }
      }
      await Promise.all(Array.from({ length: clients }, client))
      const seconds = (performance.now() - since) / 1_000
      const perBatch =
        (ledger.journal.stats.records - before.records) / Math.max(1, ledger.journal.stats.batches - before.batches)
      const recordsPerSecond = latencies.size / seconds
      const [p50Ms, p99Ms] = latencies.percentiles([0.5, 0.99])
      rows.push({ clients, recordsPerSecond, p50Ms, p99Ms, perBatch })
      say(
        `group commit, ${clients} clients: ${recordsPerSecond.toFixed(0)} bookings/s, p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms, ${perBatch.toFixed(1)} a batch`,
      )
    }
    await ledger.close()
  } finally {
    await postgres.stop()
  }
  await writeResult('group-commit', { rows })
}
