/*
 * `bun run bench --world`: one service on one PostgreSQL with 10,000 agencies, 1,000,000 units and 5,000,000 bookings.
 *
 * It needs PostgreSQL's own programs (pg_dump), Chromium and 30 GB of disk. Most of its time is for the seed, the dump and `verify`.
 * `--only <step>` measures one step. `--database-url <server>` keeps the world, as a database of its own, on a server of yours, where the
 * next run finds it; it must run on this machine. Without it, a server is started in a temporary folder. `--agencies 100` is a small world,
 * to try it.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { shardOf } from '../src/core/journal/shard.ts'
import { uuidOf } from '../src/lib/ids.ts'
import { connect, type Sql } from '../src/postgres/client/connect.ts'
import { migrate } from '../src/postgres/schema/migrate.ts'
import { PostgresAgencyStore } from '../src/postgres/stores/postgres-agency-store.ts'
import { BINARY_VARIABLE, compileProgram } from '../test/support/bundled-program.ts'
import { runCliProcess } from '../test/support/cli-process.ts'
import { eventually } from '../test/support/eventually.ts'
import { send } from '../test/support/http-call.ts'
import { scrape } from '../test/support/scrape.ts'
import { credentialsFor, TEST_PORTAL_TOKEN } from '../test/support/service-process.ts'
import { startSystemPostgres, systemPostgres } from '../test/support/system-postgres.ts'
import type { LoadAsked, LoadResult } from './load/load-process.ts'
import { writeResult } from './report.ts'
import { JsonChild } from './support/json-child.ts'
import { accessToken, BAR, draw, launchBrowser, openContext } from './support/page-view.ts'
import {
  cpuSecondsOf,
  cpuSecondsOfFamily,
  residentMbOf,
  type ServiceHandle,
  startService,
} from './support/processes.ts'
import { medianOf, rounded } from './support/statistics.ts'
import { BatchWriter, bookedOf, EPOCH, guestOf, seedAgency, unitSetOf } from './world/seed.ts'
import { agencyIdOf, calendarOf, listedBookingOf, secretOf, type WorldSize } from './world/world.ts'

const { values: given } = parseArgs({
  options: {
    only: { type: 'string' },
    agencies: { type: 'string', default: '10000' },
    'database-url': { type: 'string' },
  },
})
const SIZE: WorldSize = {
  agencies: Number(given.agencies),
  unitsPerAgency: 100,
  bookingsPerUnit: 5,
  bookingsOfFirst: 100_000,
}
/** Agency 0: as many units as the page is made for, and a guest for each of its further bookings. */
const LARGEST: WorldSize = { ...SIZE, agencies: 1, unitsPerAgency: 1_000 }
/** Whose units are brought into memory. */
const RESIDENT: WorldSize = { ...SIZE, agencies: Math.min(1_000, SIZE.agencies) }
/**
 * Ten times what 1,000 units sell in a day: 200 stays (2 of 3 nights sold, 3.5 nights a stay), with 99 requests for each, as in the mixed
 * load: 90 for availability and 9 for a quote.
 */
const DAY = { requests: 200_000, connections: 32 }
/** Over all agencies, two units of each. */
const SALES = { units: 2 * SIZE.agencies, connections: 256 }
const ROOMY = { RESIDENT_UNITS_MAX: '1100000' }
const SETTINGS = ['shared_buffers=4GB', 'max_wal_size=8GB', 'maintenance_work_mem=512MB', 'max_connections=100']
const ROUNDS = 5
/** Comments on the database of the world: while it is seeded, and after that. */
const MADE_BY = 'made by bench/scale.ts'
const COMPLETE = `${MADE_BY}: ${JSON.stringify({ ...SIZE, largest: LARGEST })}`

const began = performance.now()
const say = (text: string) => console.log(`${((performance.now() - began) / 1_000).toFixed(0).padStart(5)} s  ${text}`)

const programs = systemPostgres()
if (programs === null) throw new Error('Cannot measure: install PostgreSQL with pg_dump and pg_restore')
const server =
  given['database-url'] === undefined
    ? await startSystemPostgres(programs, SETTINGS)
    : { url: given['database-url'], stop: async () => {} }
const admin = connect(server.url, { purpose: 'admin' })
const WORLD = 'nightledger_bench_world'
const RESTORED = 'nightledger_bench_restored'
const url = databaseUrl(WORLD)
/** The CPU of all its processes is counted. */
let postmasterPid = 0
const results: Record<string, unknown> = {}
const folder = mkdtempSync(join(tmpdir(), 'nightledger-bench-world-'))
/** What is measured is the program as it is deployed. */
let binary = ''

interface Cost {
  readonly seconds: number
  readonly serviceCpuS: number
  readonly postgresCpuS: number
}

/** Runs `work` and measures it. @param pid of the service; null when none runs all the time */
async function costOf<T>(pid: number | null, work: () => Promise<T>): Promise<Cost & { readonly made: T }> {
  const ownCpuS = () => (pid === null ? 0 : cpuSecondsOf(pid))
  const [own, postgres] = [ownCpuS(), cpuSecondsOfFamily(postmasterPid)]
  const since = performance.now()
  const made = await work()
  return {
    seconds: rounded((performance.now() - since) / 1_000, 4),
    serviceCpuS: rounded(ownCpuS() - own, 2),
    postgresCpuS: rounded(cpuSecondsOfFamily(postmasterPid) - postgres, 2),
    made,
  }
}

const STEPS: Record<string, () => Promise<unknown>> = {
  start: measureStart,
  checkpoints: measureCheckpoints,
  reads: measureReads,
  page: measurePage,
  memory: measureMemory,
  day: measureDay,
  bookings: measureBookings,
  retention: measureRetention,
  dump: measureDump,
  verify: measureVerify,
}

try {
  const [row] = await admin<{ pid: number; version: string }[]>`
    select split_part(pg_read_file('postmaster.pid'), e'\n', 1)::int as pid, current_setting('server_version') as version`
  postmasterPid = row?.pid ?? 0
  binary = await compileProgram(folder)
  process.env[BINARY_VARIABLE] = binary
  if (!(await isSeeded())) results['seed'] = await seed()
  results['stored'] = await stored()
  for (const [name, measure] of Object.entries(STEPS)) {
    if (given.only !== undefined && given.only !== name) continue
    say(`${name}:`)
    results[name] = await measure()
    say(JSON.stringify(results[name]))
  }
  await writeResult(given.only === undefined ? 'scale' : `scale-${given.only}`, {
    postgres: row?.version,
    world: SIZE,
    largest: LARGEST,
    ...results,
  })
} finally {
  await admin.end({ timeout: 1 })
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}
process.exit()

function databaseUrl(name: string): string {
  const of = new URL(server.url)
  of.pathname = `/${name}`
  return of.href
}

/** @throws Error when there is a database of the name that this has not made */
async function isSeeded(): Promise<boolean> {
  const [row] = await admin<{ comment: string | null }[]>`
    select shobj_description(oid, 'pg_database') as comment from pg_database where datname = ${WORLD}`
  if (row === undefined) return false
  if (!row.comment?.startsWith(MADE_BY))
    throw new Error(`Cannot seed: the database ${WORLD} was not made by this benchmark`)
  return row.comment === COMPLETE
}

/** Two writers, each with half of the shards. */
async function seed(): Promise<Cost> {
  await admin.unsafe(`drop database if exists ${WORLD}`)
  await admin.unsafe(`create database ${WORLD}`)
  await admin.unsafe(`comment on database ${WORLD} is '${MADE_BY}'`)
  const { made: _, ...cost } = await withWorld(async (sql) => {
    await migrate(sql)
    return costOf(null, async () => {
      await Promise.all([0, 1].map(seedHalf))
      say('vacuum analyze')
      await sql`vacuum analyze`
      await sql`checkpoint`
    })
  })
  await admin.unsafe(`comment on database ${WORLD} is '${COMPLETE}'`)
  say(`seeded: ${JSON.stringify(cost)}`)
  return cost
}

async function seedHalf(half: number): Promise<void> {
  const sql = connect(url, { purpose: 'admin' })
  const store = new PostgresAgencyStore(sql, () => EPOCH)
  const agencies = Array.from({ length: SIZE.agencies }, (_, agency) => agency).filter(
    (agency) => shardOf(agencyIdOf(agency)) % 2 === half,
  )
  for (const agency of agencies) await seedAgency(store, agency)
  say(`${agencies.length} agencies are stored`)
  const writer = await BatchWriter.open(sql)
  for (const [n, agency] of agencies.entries()) {
    const size = agency === 0 ? LARGEST : SIZE
    for (let unit = 0; unit < size.unitsPerAgency; unit++) await writer.add(unitSetOf(agency, unit))
    for (let unit = 0; unit < size.unitsPerAgency; unit++)
      for (const booking of calendarOf(size, agency, unit)) await writer.add(bookedOf(agencyIdOf(agency), booking))
    for (let booking = 0; agency === 0 && booking < LARGEST.bookingsOfFirst; booking++)
      await writer.add({ ...bookedOf(agencyIdOf(0), listedBookingOf(LARGEST, booking)), guest: guestOf(booking) })
    if (n % 500 === 499 || n === agencies.length - 1) say(`the units and bookings of ${n + 1} agencies are stored`)
  }
  await writer.end()
  await sql.end()
}

async function withWorld<T>(use: (sql: Sql) => Promise<T>): Promise<T> {
  const sql = connect(url, { purpose: 'admin' })
  try {
    return await use(sql)
  } finally {
    await sql.end({ timeout: 1 })
  }
}

async function stored(): Promise<unknown> {
  const [row] = await withWorld(
    (sql) => sql`
      select (select count(*)::int from agency) as agencies, (select count(*)::int from unit) as units,
             (select count(*)::int from booking) as bookings, (select count(*)::int from journal) as entries,
             round(pg_database_size(current_database()) / 1e9, 2)::float8 as gigabytes`,
  )
  say(JSON.stringify(row))
  return row
}

async function withService<T>(
  use: (service: ServiceHandle) => Promise<T>,
  env: Record<string, string> = {},
): Promise<T> {
  const service = await startService(url, env, [binary])
  try {
    return await use(service)
  } finally {
    await service.stop()
  }
}

async function measureStart() {
  const starts: Record<'readyMs' | 'cpuS' | 'mb' | 'postgresCpuS', number>[] = []
  for (let round = 0; round < 3; round++) {
    const { made, ...cost } = await costOf(null, () => startService(url, {}, [binary]))
    const figures = { readyMs: made.readyMs, cpuS: cpuSecondsOf(made.pid), mb: residentMbOf(made.pid) }
    starts.push({ ...figures, postgresCpuS: cost.postgresCpuS })
    await made.stop()
  }
  const of = (figure: 'readyMs' | 'cpuS' | 'mb' | 'postgresCpuS') =>
    rounded(medianOf(starts.map((start) => start[figure])), 2)
  return { readyMs: of('readyMs'), serviceCpuS: of('cpuS'), postgresCpuS: of('postgresCpuS'), residentMb: of('mb') }
}

/** Until every entry has its leaf in the Merkle tree of its agency, only what the seed has left to do; up to 14 s too long. */
function measureCheckpoints() {
  return withService(async (service) => {
    const { made: _, ...cost } = await costOf(service.pid, () =>
      eventually(
        'every entry has its leaf',
        async () => {
          await Bun.sleep(2_000)
          const page = await scrape(service.baseUrl)
          // Rounds are 10 s apart; the first one takes as long as it takes.
          const behindS = page.value('nightledger_checkpoints_behind_seconds') ?? Number.POSITIVE_INFINITY
          return behindS < 12 && (await withoutLeaves()) === 0
        },
        3_600_000,
      ),
    )
    return cost
  })
}

/** Agencies without any. */
async function withoutLeaves(): Promise<number> {
  return withWorld(async (sql) => {
    const [row] = await sql<{ agencies: number }[]>`
      select ((select count(*) from agency) - (select count(distinct agency_id) from checkpoint))::int as agencies`
    return row?.agencies ?? 0
  })
}

/** The largest agency's requests, each for the first time, when none of its units is in memory, and again. */
function measureReads() {
  const portal = '/portal/v1/agencies/agency-0'
  const partner = '/partner/v1'
  const bookingPages = (LARGEST.unitsPerAgency * LARGEST.bookingsPerUnit + LARGEST.bookingsOfFirst) / 50
  const guestPages = LARGEST.bookingsOfFirst / 50
  // In this order, because the search brings all units into memory.
  const requests: Record<string, string> = {
    'availability of a unit': `${partner}/availability?unit=unit-500&from=2026-12-01&to=2027-01-01`,
    'calendar of the page, 90 days of 1,000 units': `${portal}/tape?from=2026-12-01&to=2027-03-01`,
    'units of the page': `${portal}/units`,
    'bookings, first page': `${partner}/bookings?page=1&pageSize=50`,
    'bookings, in the middle': `${partner}/bookings?page=${bookingPages / 2}&pageSize=50`,
    'bookings, last page': `${partner}/bookings?page=${bookingPages}&pageSize=50`,
    'guests, a name of one in eleven': `${partner}/guests?search=silva&pageSize=20`,
    'guests, one address': `${partner}/guests?search=guest77777%40&pageSize=20`,
    'guests, three letters of none': `${partner}/guests?search=xqz&pageSize=20`,
    'guests, last page': `${partner}/guests?page=${guestPages}&pageSize=50`,
    'audit trail, first page': `${portal}/audit`,
    'search, a week in one month': `${partner}/search?from=2026-12-01&to=2027-01-07&nights=7`,
  }
  return withService(async (service) => {
    const ask = (path: string) =>
      costOf(service.pid, async () => {
        const token = path.startsWith('/portal') ? TEST_PORTAL_TOKEN : secretOf(0)
        const { status, text } = await send(service.baseUrl + path, { token })
        if (status !== 200) throw new Error(`Cannot measure ${path}: ${status} ${text}`)
        return text.length
      })
    const figures: Record<string, object> = {}
    for (const [name, path] of Object.entries(requests)) {
      const first = await ask(path)
      const again = []
      for (let round = 0; round < ROUNDS; round++) again.push(await ask(path))
      figures[name] = {
        firstMs: rounded(first.seconds * 1_000, 1),
        againMs: rounded(medianOf(again.map(({ seconds }) => seconds)) * 1_000, 1),
        kilobytes: rounded(first.made / 1_000, 0),
      }
      say(`${name}: ${JSON.stringify(figures[name])}`)
    }
    const { made: changes, ...cost } = await costOf(service.pid, () => readChanges(service.baseUrl))
    figures['changes from the start'] = { changes, ...cost }
    return figures
  })
}

/** All of the largest agency. @returns how many */
async function readChanges(baseUrl: string): Promise<number> {
  let [cursor, changes] = ['start', 0]
  for (;;) {
    const path = `/partner/v1/changes?after=${encodeURIComponent(cursor)}&limit=500`
    const { status, body, text } = await send(baseUrl + path, { token: secretOf(0) })
    if (status !== 200) throw new Error(`Cannot measure ${path}: ${status} ${text}`)
    changes += body.changes.length
    if (body.hasMore !== true) return changes
    cursor = body.cursor
  }
}

/** The largest agency's screens, with an empty cache: first on a service that has just started, and again. */
function measurePage() {
  const screens = {
    'calendar, 90 days of 1,000 units': ['#/calendar?zoom=quarter', BAR],
    overview: ['#/overview', '.overview-lists'],
    bookings: ['#/bookings', 'tbody tr'],
    guests: ['#/guests', 'tbody tr'],
    units: ['#/units', 'tbody tr'],
  } as const
  return withService(async ({ baseUrl }) => {
    const token = await accessToken(baseUrl, 'agency-0')
    const browser = await launchBrowser()
    const view = async ([hash, selector]: readonly [string, string]) => {
      const context = await openContext(browser, baseUrl, { selector, token })
      const { ms } = await draw(await context.newPage(), `${baseUrl}/portal/${hash}`)
      await context.close()
      return ms
    }
    try {
      const figures: Record<string, object> = {}
      for (const [name, screen] of Object.entries(screens)) {
        const first = await view(screen)
        const again = []
        for (let round = 0; round < ROUNDS; round++) again.push(await view(screen))
        figures[name] = { firstMs: rounded(first, 0), againMs: rounded(medianOf(again), 0) }
      }
      return figures
    } finally {
      await browser.close()
    }
  })
}

function measureMemory() {
  return withService(async (service) => {
    const before = residentMbOf(service.pid)
    const { made, ...cost } = await costOf(service.pid, () =>
      load(service, {
        kind: 'availability-31',
        size: RESIDENT,
        requestsMax: RESIDENT.agencies * RESIDENT.unitsPerAgency,
      }),
    )
    const mb = residentMbOf(service.pid)
    return {
      mbAtStart: rounded(before, 0),
      mbWithUnits: rounded(mb, 0),
      touch: { ...cost, perSecond: made.perSecond },
    }
  }, ROOMY)
}

function measureDay() {
  return withService(async (service) => {
    const firstSale = await soldBefore(uuidOf(agencyIdOf(0)))
    const { made, ...cost } = await costOf(service.pid, () =>
      load(service, { kind: 'mix', size: LARGEST, requestsMax: DAY.requests, firstSale }),
    )
    return { ...cost, bookings: made.sold - firstSale, ...figuresOf(made) }
  })
}

async function measureBookings() {
  return { default: await bookingsWith({}), 'with room for all units': await bookingsWith(ROOMY) }
}

/** Stays sold as fast as they are: the first of each unit, which is not in memory, and four more. */
function bookingsWith(env: Record<string, string>) {
  return withService(async (service) => {
    const measured = async (sales: number) => {
      // Above all that a day sells of agency 0.
      const firstSale = 100 * SALES.units + (await soldBefore(null))
      const { made, serviceCpuS, postgresCpuS } = await costOf(service.pid, () =>
        load(service, { kind: 'create', size: SIZE, requestsMax: sales, firstSale, ...SALES }),
      )
      const us = (cpuS: number) => rounded((cpuS * 1e6) / sales, 0)
      return { serviceUs: us(serviceCpuS), postgresUs: us(postgresCpuS), ...figuresOf(made) }
    }
    const first = await measured(SALES.units)
    const again = await measured(4 * SALES.units)
    return { first, again, mb: rounded(residentMbOf(service.pid), 0) }
  }, env)
}

function figuresOf({ perSecond, p50Ms, p99Ms }: LoadResult) {
  return { perSecond: rounded(perSecond, 0), p50Ms: rounded(p50Ms, 2), p99Ms: rounded(p99Ms, 2) }
}

async function load(
  { baseUrl }: ServiceHandle,
  params: Omit<LoadAsked, 'url' | 'connections' | 'warmMs' | 'runMs' | 'firstSale'> & Partial<LoadAsked>,
): Promise<LoadResult> {
  const child = JsonChild.start(join(import.meta.dir, 'load/load-process.ts'))
  try {
    const timing = { connections: DAY.connections, warmMs: 0, runMs: 900_000, firstSale: 0 }
    const result = await child.ask<LoadResult>({ ...timing, ...params, url: baseUrl })
    if (result.fault !== null) throw new Error(`Cannot measure: ${result.fault}`)
    return result
  } finally {
    await child.stop()
  }
}

/** What earlier runs have sold stays sold. @param agency only of it; null: of all */
function soldBefore(agency: string | null): Promise<number> {
  return withWorld(async (sql) => {
    const [row] = await sql<{ sold: number }[]>`
      select count(*)::int as sold from booking
      where (agency_id = ${agency} or ${agency}::uuid is null) and arrival >= '2033-01-01' and source_ref like 'B-%'`
    return row?.sold ?? 0
  })
}

function measureRetention() {
  return withService(async (service) => {
    const { made, ...cost } = await costOf(service.pid, () =>
      send(`${service.baseUrl}/portal/v1/retention/run`, { method: 'POST', token: TEST_PORTAL_TOKEN }),
    )
    if (made.status !== 200) throw new Error(`Cannot measure the retention: ${made.status} ${made.text}`)
    return { ...cost, ...made.body.removed }
  })
}

async function measureDump() {
  const run = (program: string, ...args: string[]) =>
    costOf(null, async () => {
      execFileSync(join(programs as string, program), args, { stdio: ['ignore', 'ignore', 'inherit'] })
    }).then(({ seconds, postgresCpuS }) => ({ seconds: rounded(seconds, 1), postgresCpuS }))
  try {
    const file = join(folder, 'dump')
    const dump = await run('pg_dump', '-Fd', '-j2', '-f', file, url)
    const size = execFileSync('du', ['-sb', file], { encoding: 'utf8' })
    await admin.unsafe(`drop database if exists ${RESTORED}`)
    await admin.unsafe(`create database ${RESTORED}`)
    const restore = await run('pg_restore', '-j2', '-d', databaseUrl(RESTORED), file)
    await admin.unsafe(`drop database ${RESTORED}`)
    return { dump, gigabytes: rounded(Number.parseInt(size, 10) / 1e9, 2), restore }
  } finally {
    rmSync(join(folder, 'dump'), { recursive: true, force: true })
  }
}

async function measureVerify() {
  const { made, ...cost } = await costOf(null, () =>
    runCliProcess(['verify', '--database'], { env: credentialsFor(url) }),
  )
  if (made.code !== 0) throw new Error(`Cannot measure: ${made.stdout}${made.stderr}`)
  return { seconds: cost.seconds, postgresCpuS: cost.postgresCpuS, said: made.stdout.trim().split('\n').at(-1) }
}
