/*
 * `bun bench/calendar.ts`: what GET /calendar costs. The CPU time of the service per request, for a page of 100 units with prices over 366
 * nights, as 200 and as 304, in turn; how long the event loop is held by its slices, for units as agencies have them and for the most
 * laborious ones; and the activation of 1,000 units that are not in memory.
 */
import { CalendarText } from '../src/api/json/calendar-json.ts'
import { pageOf } from '../src/api/json/page.ts'
import { calendarsText } from '../src/api/json/read-calendars.ts'
import { formatNight, type Night } from '../src/core/domain/night.ts'
import type { Season } from '../src/core/domain/rules.ts'
import { UnitState } from '../src/core/domain/unit-state.ts'
import { nextTurn, Slices } from '../src/lib/slices.ts'
import type { Sql } from '../src/postgres/client/connect.ts'
import { openTestDatabaseLedger } from '../test/support/open-ledger.ts'
import { AGENCY } from '../test/support/samples.ts'
import { medianOf } from './compare.ts'
import { writeResult } from './report.ts'
import { cpuMsSince, longestHold } from './support/event-loop.ts'
import { cpuSecondsOf, cpuSecondsOfFamily, startPostgres, startService } from './support/processes.ts'
import { seedLedger } from './world/seed.ts'
import { agencyIdOf, calendarOf, nightOf, secretOf, unitIdOf, unitOf } from './world/world.ts'

const UNITS = 1_000
const ROUNDS = 5
const RUN_MS = 600
const CONNECTIONS = 4
const FROM = nightOf('2026-12-01')
const RANGE = { from: FROM, to: (FROM + 366) as Night }
const QUERY = `from=${formatNight(RANGE.from)}&to=${formatNight(RANGE.to)}&prices=true`
const size = { agencies: 1, unitsPerAgency: UNITS, bookingsPerUnit: 20, bookingsOfFirst: 0 }

const postgres = await startPostgres()
try {
  const { url, sql } = await postgres.createDatabase('calendar')
  await seedLedger(sql, size, console.log)
  const cold = {
    journal: await coldActivations(url, sql, 'journal'),
    snapshots: await coldActivations(url, sql, 'snapshots'),
  }
  const requests = await requestCosts(url)
  const slices = { usual: await sliceTimes(usualState()), laborious: await sliceTimes(laboriousState()) }
  await writeResult('calendar', { cold, requests, slices })
} finally {
  await postgres.stop()
}

/** The activation of 1,000 units: how long it takes, and in other rounds how long it holds the event loop, which takes CPU time itself. */
async function coldActivations(databaseUrl: string, sql: Sql, from: 'journal' | 'snapshots') {
  const rounds: { ms: number; cpuMs: number; postgresCpuMs: number; heldMs: number | null }[] = []
  for (let round = 0; round < 2 * ROUNDS; round++) {
    const isHoldMeasured = round % 2 === 1
    const ledger = await openTestDatabaseLedger(databaseUrl)
    // Closing the ledger of the last round wrote them.
    if (from === 'journal') await sql`delete from snapshot`
    // Opens the pool's connections.
    await Promise.all(Array.from({ length: 10 }, () => ledger.sql`select 1`))
    const units = Array.from({ length: UNITS }, (_, unit) => ({ agencyId: agencyIdOf(0), unitId: unitIdOf(0, unit) }))
    const postgresCpu = cpuSecondsOfFamily(postgres.postmasterPid)
    const ownCpu = process.threadCpuUsage()
    const held = isHoldMeasured ? longestHold() : null
    const since = performance.now()
    await ledger.directory.activate(units)
    const ms = performance.now() - since
    const cpuMs = cpuMsSince(ownCpu)
    const postgresCpuMs = (cpuSecondsOfFamily(postgres.postmasterPid) - postgresCpu) * 1_000
    rounds.push({ ms, cpuMs, postgresCpuMs, heldMs: held?.() ?? null })
    await ledger.close()
  }
  const of = (figure: (round: (typeof rounds)[0]) => number, isHoldMeasured = false) =>
    medianOf(rounds.filter(({ heldMs }) => (heldMs !== null) === isHoldMeasured).map(figure))
  const measured = {
    ...{ units: UNITS, ms: of(({ ms }) => ms), cpuMs: of(({ cpuMs }) => cpuMs) },
    ...{ postgresCpuMs: of((round) => round.postgresCpuMs), heldMs: of(({ heldMs }) => heldMs ?? 0, true) },
  }
  console.log(
    `${UNITS} cold units, from ${from}: ${measured.ms.toFixed(0)} ms, CPU ${measured.cpuMs.toFixed(0)} ms here and ` +
      `${measured.postgresCpuMs.toFixed(0)} ms in Postgres, event loop held for at most ${measured.heldMs.toFixed(1)} ms`,
  )
  return measured
}

async function requestCosts(databaseUrl: string) {
  const service = await startService(databaseUrl, { LOG_LEVEL: 'info' })
  const authorization = `Bearer ${secretOf(0)}`
  const paths = {
    calendar: `/partner/v1/calendar?${QUERY}`,
    blocked: `/partner/v1/calendar?${QUERY.replace('&prices=true', '')}`,
    availability: `/partner/v1/availability?unit=unit-000&${QUERY.replace('&prices=true', '')}`,
  }
  const ask = (path: string, tag: string | null) =>
    fetch(service.baseUrl + path, { headers: { authorization, ...(tag === null ? {} : { 'if-none-match': tag }) } })
  const arms: { name: string; path: string; tag: string | null; status: number; bytes: number; us: number[] }[] = []
  for (const [name, path] of Object.entries(paths))
    for (const status of [200, 304]) {
      const answer = await ask(path, null)
      const tag = status === 304 ? answer.headers.get('etag') : null
      arms.push({
        name: `${name} ${status}`,
        path,
        tag,
        status,
        bytes: (await answer.bytes()).length,
        us: [] as number[],
      })
    }
  for (let round = -1; round < ROUNDS; round++)
    for (const { path, tag, status, us } of arms) {
      let answered = 0
      const before = cpuSecondsOf(service.pid)
      const until = performance.now() + RUN_MS
      const client = async () => {
        for (; performance.now() < until; answered++) {
          const answer = await ask(path, tag)
          await answer.bytes()
          if (answer.status !== status) throw new Error(`Cannot measure: ${answer.status} instead of ${status}`)
        }
      }
      await Promise.all(Array.from({ length: CONNECTIONS }, client))
      // The first round only warms up.
      if (round >= 0) us.push(((cpuSecondsOf(service.pid) - before) * 1e6) / answered)
    }
  await service.stop()
  return arms.map(({ name, bytes, us }, i) => {
    const full = arms[i - (i % 2)]?.us ?? []
    const toFull = medianOf(us.map((each, round) => each / (full[round] ?? 1)))
    console.log(`${name}: ${medianOf(us).toFixed(0)} us of CPU, ${toFull.toFixed(3)} x its 200 (${bytes} bytes)`)
    return { name, bytes, cpuUs: medianOf(us), toFull }
  })
}

/** 200 units of this state in one request: the CPU time that each slice takes, milliseconds. */
async function sliceTimes(state: UnitState) {
  const units = Array.from({ length: 200 }, (_, unit) => unitOf(0, unit))
  const commands = { activate: async () => {}, listedCalendar: () => state }
  const asked = { range: RANGE, withPrices: true, page: pageOf({ pageSize: 200 }) }
  const rounds = []
  for (let round = 0; round < 20; round++) {
    const took: number[] = []
    let since = process.threadCpuUsage()
    const pause = async () => {
      took.push(cpuMsSince(since))
      await nextTurn()
      since = process.threadCpuUsage()
    }
    const text = await calendarsText(commands, AGENCY, units, asked, new Slices(2_000, pause))
    took.push(cpuMsSince(since))
    since = process.threadCpuUsage()
    // As the answer is made from it.
    Buffer.from(text)
    rounds.push({ took, copyMs: cpuMsSince(since) })
  }
  const one = new CalendarText(RANGE, true)
  one.add('unit-000', state)
  const longest = medianOf(rounds.slice(5).map(({ took }) => Math.max(...took)))
  const total = medianOf(rounds.slice(5).map(({ took }) => took.reduce((sum, each) => sum + each, 0)))
  const slices = rounds[0]?.took.length ?? 0
  const copyMs = medianOf(rounds.map((each) => each.copyMs))
  console.log(
    `200 units of ${one.steps} steps: ${slices} slices, ${total.toFixed(2)} ms together, the longest ${longest.toFixed(2)} ms; ` +
      `its text is copied in ${copyMs.toFixed(2)} ms`,
  )
  return { steps: one.steps, slices, totalMs: total, longestMs: longest, copyMs }
}

function usualState(): UnitState {
  const unit = unitOf(0, 3)
  const state = UnitState.empty(unit.id)
  state.apply({ kind: 'unit_set', unit }, 1)
  for (const [i, after] of calendarOf(size, 0, 3).entries()) state.apply({ kind: 'booking_created', after }, i + 2)
  return state
}

/** Every other night is booked, and every night is a season of its own. */
function laboriousState(): UnitState {
  const { rules, ...unit } = unitOf(0, 3)
  const seasons = Array.from({ length: 500 }, (_, i): Season => {
    const from = (FROM + i) as Night
    return { name: `Night ${i}`, from, to: (from + 1) as Night, nightlyPrice: 10_000 + i, minStay: null }
  })
  const state = UnitState.empty(unit.id)
  state.apply(
    { kind: 'unit_set', unit: { ...unit, rules: { ...rules, turnoverNights: 0, rates: { ...rules.rates, seasons } } } },
    1,
  )
  const [booking] = calendarOf(size, 0, 3)
  if (booking === undefined) throw new Error('Cannot measure: the calendar is empty')
  for (let i = 0; i < 183; i++) {
    const arrival = (FROM + 2 * i) as Night
    const after = { ...booking, arrival, departure: (arrival + 1) as Night }
    state.apply({ kind: 'booking_created', after }, i + 2)
  }
  return state
}
