/*
 * `bun bench/upgrade.ts [bookings]`: a ledger of the layout before shards (1,000,000 bookings unless another number is given) is
 * copied and switched while its last version writes all the time. How long the copy, the switch and the way back take, and how long
 * the writer waited at most.
 */
import type { Agency } from '../src/core/catalogue/agency.ts'
import { addNights, asNight } from '../src/core/domain/night.ts'
import type { Unit } from '../src/core/domain/unit.ts'
import { systemIds } from '../src/lib/ids.ts'
import { connect, type Sql } from '../src/postgres/client/connect.ts'
import { goBack } from '../src/postgres/upgrade/back.ts'
import { copyAhead, copyAndSwitch } from '../src/postgres/upgrade/upgrade.ts'
import {
  addOldAgency,
  addOldEndpoint,
  makeOldDatabase,
  OLD_SECRET_KEY,
  type OldRecord,
  OldWriter,
} from '../test/support/old-ledger.ts'
import { AGENCY, sampleBooking, sampleUnit } from '../test/support/samples.ts'
import { writeResult } from './report.ts'
import { startPostgres } from './support/processes.ts'

const AGENCIES = 100
const UNITS_PER_AGENCY = 20
const BATCH = 400
const SLOW_MS = 300
const FIRST_ARRIVAL = asNight(19_000)
const START = Date.UTC(2026, 3, 1)

const bookings = Number(process.argv[2] ?? 1_000_000)
const began = performance.now()
const say = (text: string) => console.log(`${((performance.now() - began) / 1_000).toFixed(0).padStart(4)} s  ${text}`)

interface Place {
  readonly agency: Agency
  readonly unit: Unit
  readonly keyId: string
}

const postgres = await startPostgres()
try {
  const url = new URL(postgres.url)
  const admin = connect(url.href, { purpose: 'admin' })
  await admin.unsafe('create database upgrade')
  await admin.end()
  url.pathname = '/upgrade'
  await measure(url.href)
} finally {
  await postgres.stop()
}
process.exit()

async function measure(databaseUrl: string): Promise<void> {
  await makeOldDatabase(databaseUrl)
  const sql = connect(databaseUrl, { purpose: 'admin' })
  const writer = new OldWriter(sql)
  await writer.takeOver()
  const places = await fill(sql, writer)
  const bytes = await bytesOf(sql)
  const client = new Client(writer, places)
  const writing = client.run()
  await Bun.sleep(2_000)
  const quiet = client.longestMs
  const options = { databaseUrl, secretKey: OLD_SECRET_KEY, onStep: say }

  const ahead = await timed('copy', () => copyAhead(options))
  const copying = client.longestMs
  const switched = await timed('copy and switch', () => copyAndSwitch(options))
  await writing
  const outageMs = performance.now() - client.lastAt
  const after = await bytesOf(sql)
  const back = await timed('way back', () => goBack(databaseUrl, say))
  const result = {
    ...{ bookings, entries: ahead.value.copiedSeq, bytesBefore: bytes, bytesAfter: after },
    ...{ copyS: ahead.seconds, entriesPerSecond: ahead.value.copiedSeq / ahead.seconds, switchS: switched.seconds },
    ...{
      writes: client.writes,
      longestWaitBeforeMs: quiet,
      longestWaitMs: copying,
      longestWaitInAllMs: client.longestMs,
    },
    ...{
      outageMs,
      backS: back.seconds,
      unknownCallers: switched.value.unknownCallers,
      differentBodies: switched.value.differentBodies,
    },
  }
  console.log(JSON.stringify(result, null, 2))
  if (bookings >= 1_000_000) await writeResult('upgrade', result)
  await sql.end()
}

/** The previous version's caller: one booking after the other, until the writer is fenced out. */
class Client {
  readonly #writer: OldWriter
  readonly #places: readonly Place[]
  longestMs = 0
  writes = 0
  /** When the last booking was acknowledged. */
  lastAt = 0

  constructor(writer: OldWriter, places: readonly Place[]) {
    this.#writer = writer
    this.#places = places
  }

  async run(): Promise<void> {
    for (let n = 0; ; n++) {
      const sent = performance.now()
      try {
        await this.#writer.append([booked(this.#places, bookings + n)])
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'NL001') return
        throw error
      }
      this.lastAt = performance.now()
      const waited = this.lastAt - sent
      this.longestMs = Math.max(this.longestMs, waited)
      if (waited > SLOW_MS) say(`a booking of the previous version took ${Math.round(waited)} ms`)
      this.writes += 1
      await Bun.sleep(5)
    }
  }
}

async function fill(sql: Sql, writer: OldWriter): Promise<readonly Place[]> {
  const places: Place[] = []
  for (let a = 0; a < AGENCIES; a++) {
    const agency = { ...AGENCY, id: systemIds('agc'), slug: `agency-${a}` }
    const keyId = await addOldAgency(sql, agency)
    if (a % 10 === 0) await addOldEndpoint(sql, agency, 'active')
    for (let u = 0; u < UNITS_PER_AGENCY; u++)
      places.push({ agency, keyId, unit: sampleUnit({ id: systemIds('unt'), slug: `unit-${u}` }) })
  }
  await writer.append(
    places.map(({ agency, unit }): OldRecord => {
      const caller = { actor: { kind: 'portal', id: null }, route: 'POST /units', requestId: systemIds('req') } as const
      return { agency, unit, event: { kind: 'unit_set', unit }, at: START, caller }
    }),
  )
  for (let n = 0; n < bookings; n += BATCH) {
    const records = Array.from({ length: Math.min(BATCH, bookings - n) }, (_, i) => booked(places, n + i))
    await writer.append(records)
    // Every tenth is cancelled again.
    await writer.append(records.filter((_, i) => i % 10 === 0).map(cancelled))
    if (n % 50_000 < BATCH) say(`${n} bookings`)
  }
  await sql`vacuum analyze`
  return places
}

function booked(places: readonly Place[], n: number): OldRecord {
  const place = places[n % places.length]
  if (place === undefined) throw new Error('Cannot book: there is no unit')
  const { agency, unit, keyId } = place
  const arrival = addNights(FIRST_ARRIVAL, 2 * Math.floor(n / places.length))
  // Seven months for the whole.
  const at = START + Math.floor((n / bookings) * 18_000_000) * 1_000
  const after = sampleBooking({
    ...{ id: systemIds('bkg'), unitId: unit.id, sourceRef: `REF-${n}`, createdAt: at, updatedAt: at },
    ...{ arrival, departure: addNights(arrival, 2) },
  })
  return {
    ...{ agency, unit, event: { kind: 'booking_created', after }, at },
    caller: { actor: { kind: 'key', id: keyId }, route: 'POST /partner/v1/bookings', requestId: systemIds('req') },
    guest: { firstName: 'Maria', lastName: `Pereira ${n}`, email: `maria.pereira.${n}@example.com` },
  }
}

function cancelled(record: OldRecord): OldRecord {
  const { event } = record
  if (event?.kind !== 'booking_created') throw new Error('Cannot cancel: it is no booking')
  const before = event.after
  const at = record.at + 500
  const change = {
    status: 'cancelled',
    cancelReason: 'plans changed',
    cancelledAt: at,
    updatedAt: at,
    version: 2,
  } as const
  const caller = { ...record.caller, requestId: systemIds('req') }
  const { guest: _, ...rest } = record
  return { ...rest, event: { kind: 'booking_cancelled', before, after: { ...before, ...change } }, at, caller }
}

async function timed<T>(what: string, run: () => Promise<T>): Promise<{ value: T; seconds: number }> {
  const from = performance.now()
  const value = await run()
  const seconds = (performance.now() - from) / 1_000
  say(`${what}: ${seconds.toFixed(1)} s`)
  return { value, seconds }
}

async function bytesOf(sql: Sql): Promise<number> {
  const [row] = await sql<{ bytes: number }[]>`select pg_database_size(current_database())::float8 as bytes`
  return row?.bytes ?? 0
}
