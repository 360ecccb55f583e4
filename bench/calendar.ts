/*
 * `bun bench/calendar.ts`: what GET /calendar costs. The CPU time of the service per request, for a page of 100 units over 366 nights, with
 * and without prices, as 200 and as 304, in turn; how long the event loop is held by its slices, for units as agencies have them and for the
 * most laborious ones; and the activation of 1,000 units that are not in memory.
 */

import { formatNight, type Night } from '../src/core/domain/night.ts'
import type { Season } from '../src/core/domain/unit.ts'
import { UnitState } from '../src/core/domain/unit-state.ts'
import { pageOf } from '../src/http/json/page.ts'
import { calendarsText } from '../src/http/json/read-calendars.ts'
import { AGENCY } from '../test/support/samples.ts'
import { writeResult } from './report.ts'
import { startPostgres, startService } from './support/processes.ts'
import { coldCosts, requestCosts, type SlicedRequest, sliceCosts } from './support/sliced-reads.ts'
import { medianOf } from './support/statistics.ts'
import { seedLedger } from './world/seed.ts'
import { agencyIdOf, calendarOf, nightOf, secretOf, unitIdOf, unitOf } from './world/world.ts'

const UNITS = 1_000
const FROM = nightOf('2026-12-01')
const RANGE = { from: FROM, to: (FROM + 366) as Night }
const NIGHTS = `from=${formatNight(RANGE.from)}&to=${formatNight(RANGE.to)}`
/** That of the service. */
const STEPS_PER_SLICE = 2_000
const size = { agencies: 1, unitsPerAgency: UNITS, bookingsPerUnit: 20, bookingsOfFirst: 0 }

const postgres = await startPostgres()
try {
  const { url, sql } = await postgres.createDatabase('calendar')
  await seedLedger(sql, size, console.log)
  const units = Array.from({ length: UNITS }, (_, unit) => ({ agencyId: agencyIdOf(0), unitId: unitIdOf(0, unit) }))
  const coldOf = (from: 'journal' | 'snapshots') =>
    coldCosts({ postgres, url, sql }, from, async (ledger) => () => ledger.directory.activate(units))
  const cold = { journal: await coldOf('journal'), snapshots: await coldOf('snapshots') }
  const requests = await costsOfRequests(url)
  const slices = {
    usual: await costsOfSlices('usual units', usualState()),
    laborious: await costsOfSlices('laborious units', laboriousState()),
  }
  await writeResult('calendar', { units: UNITS, cold, requests, slices })
} finally {
  await postgres.stop()
}

async function costsOfRequests(databaseUrl: string) {
  const service = await startService(databaseUrl, { LOG_LEVEL: 'info' })
  const headers = { authorization: `Bearer ${secretOf(0)}` }
  const paths = {
    calendar: `/partner/v1/calendar?${NIGHTS}&prices=true`,
    blocked: `/partner/v1/calendar?${NIGHTS}`,
    availability: `/partner/v1/availability?unit=unit-000&${NIGHTS}`,
  }
  const requests: SlicedRequest[] = []
  for (const [name, path] of Object.entries(paths)) {
    const tag = (await fetch(service.baseUrl + path, { headers })).headers.get('etag') ?? ''
    requests.push({ name: `${name} 200`, path, headers, status: 200 })
    requests.push({ name: `${name} 304`, path, headers: { ...headers, 'if-none-match': tag }, status: 304 })
  }
  const costs = await requestCosts(service, requests)
  await service.stop()
  return requests.map(({ name }, i) => {
    const [own, full] = [costs[i] ?? [], costs[i - (i % 2)] ?? []]
    return { name, cpuUs: medianOf(own), toFull: medianOf(own.map((us, round) => us / (full[round] ?? 1))) }
  })
}

/** 200 units of this state in one request. The last slice copies the text, as the answer does. */
function costsOfSlices(name: string, state: UnitState) {
  const units = Array.from({ length: 200 }, (_, unit) => unitOf(0, unit))
  const commands = { activate: async () => {}, listedCalendar: () => state }
  const pending = { range: RANGE, with: { prices: true }, now: Date.now(), page: pageOf({ pageSize: 200 }) }
  return sliceCosts(name, {
    stepsPerSlice: STEPS_PER_SLICE,
    read: async (slices) => Buffer.from(await calendarsText(commands, AGENCY, units, pending, slices)),
  })
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
