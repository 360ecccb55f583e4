/*
 * `bun bench/answers.ts`: what the largest answer of each kind costs the event loop, in an agency of 999 units: the CPU time of its thread per
 * request, and the longest time between two turns. Both are CPU time, so a busy machine does not show in them.
 */

import { cpuMsSince, longestHold } from '../test/support/event-loop.ts'
import { openTestDatabaseLedger } from '../test/support/open-ledger.ts'
import { AMPLE_PLAN } from '../test/support/samples.ts'
import { TEST_PORTAL_TOKEN } from '../test/support/service-process.ts'
import { appOver } from '../test/support/test-service.ts'
import { writeResult } from './report.ts'
import { startPostgres } from './support/processes.ts'
import { medianOf } from './support/statistics.ts'
import { seedLedger } from './world/seed.ts'
import { agencyIdOf, secretOf, slugOf } from './world/world.ts'

const ROUNDS = 9
const SIZE = { agencies: 1, unitsPerAgency: 999, bookingsPerUnit: 10, bookingsOfFirst: 0 }

const postgres = await startPostgres()
try {
  const { url, sql } = await postgres.createDatabase('answers')
  await seedLedger(sql, SIZE, console.log)
  const ledger = await openTestDatabaseLedger(url)
  const known = ledger.catalogue.agencyById(agencyIdOf(0))
  if (known === null) throw new Error('Cannot measure: the seeded agency is not there')
  ledger.catalogue.putAgency({ ...known, plan: AMPLE_PLAN })
  const agency = `/portal/v1/agencies/${known.slug}`
  const unit = `${agency}/units/${slugOf(0)}`
  const app = appOver({ ledger }, { log: { error: console.error }, onBug: console.error })
  const feed = (await (await ask('GET', `${unit}/calendar-feed`)).json()) as { calendarFeed: { path: string } }
  const tool = (name: string, args: object) => ({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name, arguments: args },
  })
  const quarter = 'from=2033-01-01&to=2033-04-01'
  const seasons = Array.from({ length: 500 }, (_, i) => ({
    name: `Season ${i}`,
    from: day(2 * i),
    to: day(2 * i + 2),
    nightlyPrice: 100,
  }))
  const requests: [string, string, string, unknown?][] = [
    ['partner changes, 500', 'GET', '/partner/v1/changes?after=start&limit=500'],
    ['partner units', 'GET', '/partner/v1/units'],
    ['partner bookings, 200', 'GET', '/partner/v1/bookings?pageSize=200'],
    [
      'partner calendar, 200 units',
      'GET',
      '/partner/v1/calendar?from=2033-01-01&to=2034-01-01&prices=true&pageSize=200',
    ],
    ['partner search', 'GET', `/partner/v1/search?${quarter}&nights=2&each=stay&page=100`],
    [
      'MCP search',
      'POST',
      '/mcp',
      tool('search_stays', { from: '2033-01-01', to: '2033-04-01', nights: 2, each: 'stay', page: 100 }),
    ],
    ['MCP units', 'POST', '/mcp', tool('list_units', {})],
    ['MCP bookings, 200', 'POST', '/mcp', tool('list_bookings', { pageSize: 200 })],
    ['portal changes, 500', 'GET', `${agency}/changes?after=start&limit=500`],
    ['tape of three years', 'GET', `${agency}/tape?from=2025-01-01&to=2027-12-31`],
    ['portal bookings, 200', 'GET', `${agency}/bookings?pageSize=200`],
    ['portal units, 200', 'GET', `${agency}/units?pageSize=200`],
    ['portal guests, 200', 'GET', `${agency}/guests?pageSize=200`],
    ['audit, 200', 'GET', `${agency}/audit?pageSize=200`],
    [
      'preview of 500 seasons',
      'POST',
      `${unit}/rates/preview`,
      { rates: { seasons }, from: '2027-01-01', to: '2030-01-01' },
    ],
    ['a unit changed', 'PATCH', unit, { basePrice: 12_000 }],
    ['calendar.ics', 'GET', feed.calendarFeed.path],
  ]
  const measured: Record<string, object> = {}
  for (const [name, method, path, json] of requests) {
    const rounds: { cpuMs: number; heldMs: number; chars: number; status: number }[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const before = process.threadCpuUsage()
      const held = longestHold()
      const answer = await ask(method, path, json)
      const heldMs = held()
      const cpuMs = cpuMsSince(before)
      rounds.push({ cpuMs, heldMs, chars: (await answer.text()).length, status: answer.status })
    }
    const of = (figure: (round: (typeof rounds)[0]) => number) => medianOf(rounds.map(figure))
    measured[name] = { cpuMs: of(({ cpuMs }) => cpuMs), heldMs: of(({ heldMs }) => heldMs), chars: rounds[0]?.chars }
    console.log(
      `${name}: ${of(({ cpuMs }) => cpuMs).toFixed(1)} ms of CPU, at most ${of(({ heldMs }) => heldMs).toFixed(1)} ms at once, ` +
        `${rounds[0]?.chars} characters, first ${rounds[0]?.cpuMs.toFixed(1)} ms; ${rounds[0]?.status}`,
    )
  }
  await writeResult('answers', measured)
  await ledger.close()

  async function ask(method: string, path: string, json?: unknown): Promise<Response> {
    const token = path.startsWith('/portal/') ? TEST_PORTAL_TOKEN : secretOf(0)
    const headers = {
      authorization: `Bearer ${token}`,
      accept: 'application/json, text/event-stream',
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
    }
    if (path.endsWith('limit=500')) headers.accept = 'application/json'
    return app.handle(
      new Request(`http://localhost${path}`, {
        method,
        headers,
        ...(json === undefined ? {} : { body: JSON.stringify(json) }),
      }),
    )
  }
} finally {
  await postgres.stop()
}
process.exit()

function day(after: number): string {
  return new Date(Date.UTC(2027, 0, 1 + after)).toISOString().slice(0, 10)
}
