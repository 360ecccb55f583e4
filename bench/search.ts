/*
 * `bun bench/search.ts`: what GET /search costs in an agency of 1,000 units. The CPU time of the service per request, for several searches
 * in turn; how long the event loop is held by their slices; the same stays quoted one after the other; and a search of 1,000 units that are
 * not in memory.
 */

import { OfferSearch, type OfferSearchParams, STEPS_PER_SLICE } from '../src/core/bookings/offer-search.ts'
import type { Agency } from '../src/core/catalogue/agency.ts'
import { Inventory } from '../src/core/catalogue/agency.ts'
import { quoteStay } from '../src/core/domain/decide.ts'
import { addNights } from '../src/core/domain/night.ts'
import { UnitState } from '../src/core/domain/unit-state.ts'
import { pageOf } from '../src/http/json/page.ts'
import { searchOf } from '../src/http/json/search-query.ts'
import { systemClock } from '../src/lib/clock.ts'
import type { Slices } from '../src/lib/slices.ts'
import { cpuMsSince } from '../test/support/event-loop.ts'
import { AGENCY, MOMENT } from '../test/support/samples.ts'
import { writeResult } from './report.ts'
import { startPostgres, startService } from './support/processes.ts'
import { coldCosts, requestCosts, sliceCosts } from './support/sliced-reads.ts'
import { medianOf } from './support/statistics.ts'
import { seedLedger } from './world/seed.ts'
import { agencyIdOf, calendarOf, feeTypesOf, secretOf, unitOf } from './world/world.ts'

const UNITS = 1_000
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
  const coldOf = (from: 'journal' | 'snapshots') =>
    coldCosts({ postgres, url, sql }, from, async (ledger) => {
      const agency: Agency = { ...AGENCY, id: agencyIdOf(0) }
      const inventory = await ledger.catalogue.inventory(agency.id)
      return () => ledger.commands.search(agency, inventory, askedOf(SEARCHES['31 arrivals, each=unit']))
    })
  const cold = { journal: await coldOf('journal'), snapshots: await coldOf('snapshots') }
  const requests = await costsOfRequests(url)
  const slices = await costsOfSlices()
  await writeResult('search', { units: UNITS, cold, requests, slices, oneByOne: quotesOneByOne() })
} finally {
  await postgres.stop()
}

function askedOf(query: string): OfferSearchParams {
  const { nights, page, ...given } = Object.fromEntries(new URLSearchParams(query))
  const fields = nights === undefined ? given : { ...given, nights: Number(nights) }
  const pending = searchOf(fields, false, pageOf({ page: Number(page ?? 1) }))
  if ('code' in pending) throw new Error(`Cannot measure: ${pending.title}`)
  return pending
}

async function costsOfRequests(databaseUrl: string) {
  const service = await startService(databaseUrl, { LOG_LEVEL: 'info' })
  const headers = { authorization: `Bearer ${secretOf(0)}` }
  const requests = Object.entries(SEARCHES).map(([name, query]) => {
    return { name, path: `/partner/v1/search?${query}`, headers, status: 200 }
  })
  const costs = await requestCosts(service, requests)
  await service.stop()
  return requests.map(({ name }, i) => ({ name, cpuMs: medianOf(costs[i] ?? []) / 1_000 }))
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

async function costsOfSlices() {
  const { units, states, feeTypes } = worldInMemory()
  const inventory = new Inventory(units, feeTypes)
  const search = new OfferSearch(
    {
      activate: async () => {},
      peek: (unitId) => states.get(unitId) ?? null,
      readUnlessDamaged: () => Promise.reject(new Error('Cannot measure: a unit is not in memory')),
    },
    systemClock,
  )
  const costs = []
  for (const [name, query] of Object.entries(SEARCHES)) {
    const read = (slices: Slices) => search.page(AGENCY, inventory, askedOf(query), slices)
    costs.push({ name, ...(await sliceCosts(name, { stepsPerSlice: STEPS_PER_SLICE, read })) })
  }
  return costs
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
        const quoted = quoteStay(state, {
          stay,
          children: 0,
          extraBed: false,
          tariff: { currency: 'EUR', feeTypes },
          moment: MOMENT,
        })
        if (quoted.kind === 'quoted') quotes += 1
      }
    rounds.push(cpuMsSince(since))
  }
  const cpuMs = medianOf(rounds.slice(3))
  console.log(`${quotes} quotes one after the other: ${cpuMs.toFixed(2)} ms`)
  return { quotes, cpuMs }
}
