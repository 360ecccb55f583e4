/*
 * `bun bench/search.ts`: what GET /search costs in an agency of 1,000 units. The CPU time of the service per request, for several searches in
 * turn; how long the event loop is held by their slices; the same stays quoted one after the other; and a search of 1,000 units that are
 * not in memory.
 */
import { pageOf } from '../src/api/json/page.ts'
import { searchOf } from '../src/api/json/search-query.ts'
import { OfferSearch, type OffersAsked, STEPS_PER_SLICE } from '../src/core/bookings/offer-search.ts'
import type { Agency } from '../src/core/catalogue/agency.ts'
import { Inventory } from '../src/core/catalogue/inventory.ts'
import { addNights } from '../src/core/domain/night.ts'
import { quoteStay } from '../src/core/domain/quote-stay.ts'
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
import { agencyIdOf, calendarOf, feeTypesOf, secretOf, unitOf } from './world/world.ts'

const UNITS = 1_000
const ROUNDS = 5
const RUN_MS = 400
const CONNECTIONS = 4
const size = { agencies: 1, unitsPerAgency: UNITS, bookingsPerUnit: 20, bookingsOfFirst: 0 }

/** Weeks that arrive on one of 31 days, and stays of two nights on one of 91, on the first page and in the middle. */
const SEARCHES = {
  'a fixed stay': 'arrival=2026-12-05&departure=2026-12-12',
  '31 arrivals, each=unit': 'from=2026-12-01&to=2027-01-07&nights=7',
  '31 arrivals, each=stay': 'from=2026-12-01&to=2027-01-07&nights=7&each=stay',
  '91 arrivals, each=stay': 'from=2026-12-01&to=2027-03-03&nights=2&each=stay',
  '91 arrivals, each=stay, page 200': 'from=2026-12-01&to=2027-03-03&nights=2&each=stay&page=200',
} as const

const postgres = await startPostgres()
try {
  const { url, sql } = await postgres.createDatabase('search')
  await seedLedger(sql, size, console.log)
  const cold = {
    journal: await coldSearches(url, sql, 'journal'),
    snapshots: await coldSearches(url, sql, 'snapshots'),
  }
  const requests = await requestCosts(url)
  const slices = await sliceTimes()
  await writeResult('search', { units: UNITS, cold, requests, slices, oneByOne: quotesOneByOne() })
} finally {
  await postgres.stop()
}

/** The first search after a start: how long it takes, and in other rounds how long it holds the event loop, which takes CPU time itself. */
async function coldSearches(databaseUrl: string, sql: Sql, from: 'journal' | 'snapshots') {
  const rounds: { ms: number; cpuMs: number; postgresCpuMs: number; heldMs: number | null }[] = []
  for (let round = 0; round < 2 * ROUNDS; round++) {
    const isHoldMeasured = round % 2 === 1
    const ledger = await openTestDatabaseLedger(databaseUrl)
    // Closing the ledger of the last round wrote them.
    if (from === 'journal') await sql`delete from snapshot`
    // Opens the pool's connections.
    await Promise.all(Array.from({ length: 10 }, () => ledger.sql`select 1`))
    const agency: Agency = { ...AGENCY, id: agencyIdOf(0) }
    const inventory = await ledger.catalogue.inventory(agency.id)
    const postgresCpu = cpuSecondsOfFamily(postgres.postmasterPid)
    const ownCpu = process.threadCpuUsage()
    const held = isHoldMeasured ? longestHold() : null
    const since = performance.now()
    await ledger.commands.search(agency, inventory, askedOf(SEARCHES['31 arrivals, each=unit']))
    const ms = performance.now() - since
    const cpuMs = cpuMsSince(ownCpu)
    const postgresCpuMs = (cpuSecondsOfFamily(postgres.postmasterPid) - postgresCpu) * 1_000
    rounds.push({ ms, cpuMs, postgresCpuMs, heldMs: held?.() ?? null })
    await ledger.close()
  }
  const of = (figure: (round: (typeof rounds)[0]) => number, isHoldMeasured = false) =>
    medianOf(rounds.filter(({ heldMs }) => (heldMs !== null) === isHoldMeasured).map(figure))
  const measured = {
    ...{ ms: of(({ ms }) => ms), cpuMs: of(({ cpuMs }) => cpuMs), postgresCpuMs: of((round) => round.postgresCpuMs) },
    heldMs: of(({ heldMs }) => heldMs ?? 0, true),
  }
  console.log(
    `${UNITS} cold units, from ${from}: ${measured.ms.toFixed(0)} ms, CPU ${measured.cpuMs.toFixed(0)} ms here and ` +
      `${measured.postgresCpuMs.toFixed(0)} ms in Postgres, event loop held for at most ${measured.heldMs.toFixed(1)} ms`,
  )
  return measured
}

function askedOf(query: string): OffersAsked {
  const { nights, page, ...given } = Object.fromEntries(new URLSearchParams(query))
  const fields = nights === undefined ? given : { ...given, nights: Number(nights) }
  const asked = searchOf(fields, false, pageOf({ page: Number(page ?? 1) }))
  if ('code' in asked) throw new Error(`Cannot measure: ${asked.title}`)
  return asked
}

async function requestCosts(databaseUrl: string) {
  const service = await startService(databaseUrl, { LOG_LEVEL: 'info' })
  const ask = (query: string) =>
    fetch(`${service.baseUrl}/partner/v1/search?${query}`, { headers: { authorization: `Bearer ${secretOf(0)}` } })
  const arms = Object.entries(SEARCHES).map(([name, query]) => ({ name, query, ms: [] as number[] }))
  for (let round = -1; round < ROUNDS; round++)
    for (const { query, ms } of arms) {
      let answered = 0
      const before = cpuSecondsOf(service.pid)
      const until = performance.now() + RUN_MS
      const client = async () => {
        for (; performance.now() < until; answered++) {
          const answer = await ask(query)
          await answer.bytes()
          if (answer.status !== 200) throw new Error(`Cannot measure: ${answer.status} instead of 200`)
        }
      }
      await Promise.all(Array.from({ length: CONNECTIONS }, client))
      // The first round only warms up.
      if (round >= 0) ms.push(((cpuSecondsOf(service.pid) - before) * 1e3) / answered)
    }
  const measured = []
  for (const { name, query, ms } of arms) {
    const { totalItems } = (await (await ask(query)).json()) as { totalItems: number }
    console.log(`${name}: ${medianOf(ms).toFixed(2)} ms of CPU, ${totalItems} offers`)
    measured.push({ name, totalItems, cpuMs: medianOf(ms) })
  }
  await service.stop()
  return measured
}

function worldInMemory() {
  const units = Array.from({ length: UNITS }, (_, unit) => unitOf(0, unit))
  const states = new Map(
    units.map((unit, n) => {
      const state = UnitState.empty(unit.id)
      state.apply({ kind: 'unit_set', unit }, 1)
      for (const [i, after] of calendarOf(size, 0, n).entries()) state.apply({ kind: 'booking_created', after }, i + 2)
      return [unit.id, state]
    }),
  )
  return { units, states, feeTypes: feeTypesOf(0) }
}

/** The CPU time that each slice takes, milliseconds. */
async function sliceTimes() {
  const { units, states, feeTypes } = worldInMemory()
  const inventory = new Inventory(units, feeTypes)
  const search = new OfferSearch({
    activate: async () => {},
    peek: (unitId) => states.get(unitId) ?? null,
    readUnlessDamaged: () => Promise.reject(new Error('Cannot measure: a unit is not in memory')),
  })
  const measured = []
  for (const [name, query] of Object.entries(SEARCHES)) {
    const rounds: number[][] = []
    for (let round = 0; round < 20; round++) {
      const took: number[] = []
      let since = process.threadCpuUsage()
      const pause = async () => {
        took.push(cpuMsSince(since))
        await nextTurn()
        since = process.threadCpuUsage()
      }
      await search.page(AGENCY, inventory, askedOf(query), new Slices(STEPS_PER_SLICE, pause))
      took.push(cpuMsSince(since))
      rounds.push(took)
    }
    const warm = rounds.slice(5)
    const longestMs = medianOf(warm.map((took) => Math.max(...took)))
    const totalMs = medianOf(warm.map((took) => took.reduce((sum, each) => sum + each, 0)))
    const slices = rounds[0]?.length ?? 0
    console.log(`${name}: ${slices} slices, ${totalMs.toFixed(2)} ms together, the longest ${longestMs.toFixed(2)} ms`)
    measured.push({ name, slices, totalMs, longestMs })
  }
  return measured
}

/** What a search of 31 arrivals replaces: a quote for each stay. */
function quotesOneByOne() {
  const { units, states, feeTypes } = worldInMemory()
  const { window } = askedOf(SEARCHES['31 arrivals, each=stay'])
  const rounds: number[] = []
  let quotes = 0
  for (let round = 0; round < 10; round++) {
    quotes = 0
    const since = process.threadCpuUsage()
    for (const { id } of units)
      for (let arrival = window.from; arrival + window.nights <= window.to; arrival = addNights(arrival, 1)) {
        const state = states.get(id)
        if (state === undefined) continue
        const stay = { arrival, departure: addNights(arrival, window.nights) }
        const quoted = quoteStay(state, { stay, children: 0, extraBed: false, tariff: { currency: 'EUR', feeTypes } })
        if (quoted.kind === 'quoted') quotes += 1
      }
    rounds.push(cpuMsSince(since))
  }
  const cpuMs = medianOf(rounds.slice(3))
  console.log(`${quotes} quotes one after the other: ${cpuMs.toFixed(2)} ms`)
  return { quotes, cpuMs }
}
