/**
 * How long the sender takes to make the deliveries of 50,000 bookings from the log: every agency has an endpoint whose cursor is
 * at the beginning, as after hours in which no sender ran. Nothing is sent.
 */

import { DeliveryMaker } from '../src/events/webhooks/delivery-maker.ts'
import { systemClock } from '../src/lib/clock.ts'
import { PostgresSenderStore } from '../src/postgres/stores/postgres-sender-store.ts'
import { writeResult } from './report.ts'
import { cpuSecondsOfFamily, startPostgres } from './support/processes.ts'
import { medianOf } from './support/statistics.ts'
import type { Figures } from './targets.ts'
import { seedLedger } from './world/seed.ts'
import type { WorldSize } from './world/world.ts'

const WORLD: WorldSize = { agencies: 100, unitsPerAgency: 20, bookingsPerUnit: 25, bookingsOfFirst: 0 }
const DELIVERIES = WORLD.agencies * WORLD.unitsPerAgency * WORLD.bookingsPerUnit
const ROUNDS = 3
/** Of a database without a writer so far. */
const EPOCH = 0

export async function measureDeliveries(say: (text: string) => void): Promise<Figures> {
  const postgres = await startPostgres()
  const rounds: { ms: number; postgresCpuMs: number }[] = []
  try {
    const { url, sql } = await postgres.createDatabase('deliveries')
    await seedLedger(sql, WORLD, () => {})
    await sql`
      insert into webhook_endpoint (agency_id, endpoint_id, url, status, secret_sealed, created_at, updated_at)
      select agency_id, agency_id, 'https://example.com/hooks', 'active', 'sealed', now(), now() from agency`
    for (let round = 0; round < ROUNDS; round++) {
      await sql`truncate webhook_delivery`
      await sql`update webhook_endpoint set made_seq = 0, made_month = '2000-01-01'`
      await sql`vacuum analyze`
      await sql`checkpoint`
      const { ms, postgresCpuMs } = await makeAll(url, postgres.postmasterPid)
      rounds.push({ ms, postgresCpuMs })
      say(
        `${DELIVERIES} deliveries made from the log: ${ms.toFixed(0)} ms, Postgres ${postgresCpuMs.toFixed(0)} ms CPU`,
      )
    }
  } finally {
    await postgres.stop()
  }
  await writeResult('deliveries', { world: WORLD, deliveries: DELIVERIES, rounds })
  return { 'ms to make 50,000 deliveries from the log': medianOf(rounds.map(({ ms }) => ms)) }
}

/** Milliseconds until every delivery is made. */
async function makeAll(url: string, postmasterPid: number): Promise<{ ms: number; postgresCpuMs: number }> {
  const store = new PostgresSenderStore(url)
  const term = await store.takeOver(EPOCH)
  let made = 0
  const maker = new DeliveryMaker({
    store,
    clock: systemClock,
    term,
    onMade: (deliveries) => {
      made += deliveries
    },
    onFailure: (error) => {
      throw error
    },
  })
  const cpuS = cpuSecondsOfFamily(postmasterPid)
  const since = performance.now()
  while ((await maker.make()) !== 'done');
  const ms = performance.now() - since
  // Before its backends end: of those, nothing is counted.
  const postgresCpuMs = (cpuSecondsOfFamily(postmasterPid) - cpuS) * 1_000
  await store.close()
  if (made !== DELIVERIES) throw new Error(`Cannot measure: ${made} deliveries were made instead of ${DELIVERIES}`)
  return { ms, postgresCpuMs }
}
