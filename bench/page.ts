/*
 * `bun bench/page.ts`: the agency's page in headless Chromium, with the service on loopback.
 *
 * - The first view of three screens of the demo agency, with an empty cache and when the page is opened again.
 * - The calendar of 500 units with 10,000 stays in 90 days: how much is sent, how long it is until the chart is drawn, and how long the frames
 *   of a scroll are.
 *
 * The main thread's CPU time stands beside the times: on a busy machine, the time that passed says how long others ran.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import type { Browser, Page } from 'playwright-core'
import type { Sql } from '../src/postgres/client/connect.ts'
import { startService as startDemo } from '../test/support/service-process.ts'
import { writeResult } from './report.ts'
import { accessToken, BAR, draw, launchBrowser, openContext, type View } from './support/page-view.ts'
import { startPostgres, startService } from './support/processes.ts'
import { medianOf, spreadOf } from './support/statistics.ts'
import { seedLedger } from './world/seed.ts'
import { agencyIdOf } from './world/world.ts'

const ROUNDS = 5
const UNITS = 500
const DAYS = 90
const STAYS_PER_UNIT = 20
const FRAMES = 80
/** A steady scroll, and one as with the scroll bar. */
const STEPS_PX = { steady: 60, fast: 400 } as const

interface Screen {
  readonly name: string
  readonly hash: string
  readonly isSignedIn: boolean
  /** There as soon as the screen shows its data. */
  readonly selector: string
}

const SCREENS: readonly Screen[] = [
  { name: 'sign-in', hash: '', isSignedIn: false, selector: 'form input' },
  { name: 'overview', hash: '#/overview', isSignedIn: true, selector: '.overview-lists .stay' },
  { name: 'calendar', hash: '#/calendar', isSignedIn: true, selector: BAR },
]

/** There and back, so that the end of the chart is never reached. */
const scrollScript = (side: 'top' | 'left', stepPx: number) => `new Promise((resolve) => {
  const chart = document.querySelector('.chart')
  const frames = []
  let last = performance.now()
  let left = ${FRAMES}
  requestAnimationFrame(function step(now) {
    frames.push(now - last)
    last = now
    left -= 1
    chart.scrollBy({ ${side}: left > ${FRAMES / 2} ? ${stepPx} : -${stepPx}, behavior: 'instant' })
    if (left > 0) requestAnimationFrame(step)
    else resolve(frames.slice(2))
  })
})`

const browser = await launchBrowser()
try {
  const figures = { rounds: ROUNDS, screens: await screenFigures(browser), chart: await chartFigures(browser) }
  console.log(JSON.stringify(figures, null, 2))
  await writeResult('page', figures)
} finally {
  await browser.close()
}

async function screenFigures(browser: Browser): Promise<object> {
  const folder = mkdtempSync(join(tmpdir(), 'nightledger-bench-page-'))
  const service = await startDemo({ DATA_DIR: folder })
  try {
    const token = readFileSync(join(folder, 'demo-owner-token'), 'utf8').trim()
    const views = new Map(SCREENS.map(({ name }) => [name, { first: [] as View[], again: [] as View[] }]))
    for (let round = 0; round < ROUNDS; round++)
      for (const { name, hash, isSignedIn, selector } of SCREENS) {
        const context = await openContext(browser, service.baseUrl, { selector, token: isSignedIn ? token : null })
        for (const kind of ['first', 'again'] as const) {
          const page = await context.newPage()
          views.get(name)?.[kind].push(await draw(page, `${service.baseUrl}/portal/${hash}`))
          await page.close()
        }
        await context.close()
      }
    return Object.fromEntries(
      [...views].map(([name, { first, again }]) => [name, { first: of(first), again: of(again) }]),
    )
  } finally {
    service.kill('SIGTERM')
    await service.exited
    rmSync(folder, { recursive: true, force: true })
  }

  function of(views: readonly View[]) {
    return { ms: spreadOf(views.map(({ ms }) => ms)), busyMs: spreadOf(views.map(({ busyMs }) => busyMs)) }
  }
}

async function chartFigures(browser: Browser): Promise<object> {
  const postgres = await startPostgres()
  try {
    const { url, sql } = await postgres.createDatabase('page')
    await seedLedger(sql, { agencies: 1, unitsPerAgency: UNITS, bookingsPerUnit: 0, bookingsOfFirst: 0 }, console.log)
    await addStays(sql)
    const service = await startService(url)
    try {
      return { ...(await sizes(service.baseUrl)), ...(await chartRounds(browser, service.baseUrl)) }
    } finally {
      await service.stop()
    }
  } finally {
    await postgres.stop()
  }
}

/** What is sent before the first view, bytes. */
async function sizes(baseUrl: string) {
  const html = await (await fetch(`${baseUrl}/portal/`)).text()
  const names = [...html.matchAll(/\/portal\/assets\/[^"]+\.(?:js|css)/g)].map(([name]) => name)
  const sizeOf = async (ending: string) => {
    const files = await Promise.all(
      names.filter((name) => name.endsWith(ending)).map(async (name) => (await fetch(`${baseUrl}${name}`)).bytes()),
    )
    const sum = (compress: (bytes: Uint8Array) => Uint8Array) =>
      files.reduce((total, bytes) => total + compress(bytes).length, 0)
    return { plain: sum((bytes) => bytes), gzip: sum((bytes) => gzipSync(bytes)), brotli: sum(brotliCompressSync) }
  }
  return { script: await sizeOf('.js'), styles: await sizeOf('.css') }
}

async function chartRounds(browser: Browser, baseUrl: string) {
  const token = await accessToken(baseUrl, 'agency-0')
  const views: View[] = []
  const scrolls: Record<string, Frames[]> = {}
  const counts = { nodes: 0, bars: 0 }
  for (let round = 0; round < ROUNDS; round++) {
    const context = await openContext(browser, baseUrl, { selector: BAR, token })
    const page = await context.newPage()
    const view = await draw(page, `${baseUrl}/portal/#/calendar?zoom=quarter`)
    views.push(view)
    const count = (selector: string) => page.evaluate<number>(`document.querySelectorAll('${selector}').length`)
    Object.assign(counts, { nodes: await count('*'), bars: await count(BAR) })
    await page.waitForTimeout(500)
    for (const axis of ['down', 'across'] as const)
      for (const speed of ['steady', 'fast'] as const) {
        const name = `${axis}, ${speed}`
        scrolls[name] = [...(scrolls[name] ?? []), await scroll(browser, page, axis, STEPS_PX[speed])]
      }
    await context.close()
  }
  const spreads = Object.entries(scrolls).map(([name, rounds]) => {
    const of = (figure: keyof Frames) => spreadOf(rounds.map((round) => round[figure]))
    const frames = { medianMs: of('medianMs'), longestMs: of('longestMs'), over50Ms: of('over50') }
    const cpu = {
      taskCpuMsPerFrame: of('taskCpuMs'),
      longestTaskCpuMs: of('longestTaskMs'),
    }
    return [name, { ...frames, ...cpu }]
  })
  return {
    units: UNITS,
    stays: UNITS * STAYS_PER_UNIT,
    days: DAYS,
    ...counts,
    firstViewMs: spreadOf(views.map(({ ms }) => ms)),
    drawMs: spreadOf(views.map(({ sinceAnswerMs }) => sinceAnswerMs)),
    drawBusyMs: spreadOf(views.map(({ busyMs }) => busyMs)),
    frames: Object.fromEntries(spreads),
  }
}

interface Frames {
  readonly medianMs: number
  readonly longestMs: number
  readonly over50: number
  /** CPU time of the main thread's tasks, for each frame. */
  readonly taskCpuMs: number
  /** CPU time of the longest task: what the longest frame would be with a core to itself. */
  readonly longestTaskMs: number
}

async function scroll(browser: Browser, page: Page, axis: 'down' | 'across', stepPx: number): Promise<Frames> {
  await browser.startTracing(page, { categories: ['toplevel', 'disabled-by-default-devtools.timeline'] })
  const frames = await page.evaluate<number[]>(scrollScript(axis === 'down' ? 'top' : 'left', stepPx))
  const tasks = tasksOf((await browser.stopTracing()).toString())
  const taskCpuMs = tasks.reduce((sum, { name, ms }) => sum + (name === 'RunTask' ? ms : 0), 0) / FRAMES
  const longestTaskMs = Math.max(...tasks.map(({ ms }) => ms))
  const over50 = frames.filter((ms) => ms > 50).length
  return { medianMs: medianOf(frames), longestMs: Math.max(...frames), over50, taskCpuMs, longestTaskMs }
}

interface TraceEvent {
  readonly name: string
  readonly ph: string
  readonly pid: number
  readonly tid: number
  /** CPU time of the thread, microseconds. */
  readonly tdur?: number
  readonly args: { readonly name?: string }
}

/** What the main threads of pages did, with the CPU time of each, milliseconds. `RunTask`: the outermost. */
function tasksOf(trace: string): { readonly name: string; readonly ms: number }[] {
  const { traceEvents } = JSON.parse(trace) as { traceEvents: readonly TraceEvent[] }
  const isMain = ({ name, args }: TraceEvent) => name === 'thread_name' && args.name === 'CrRendererMain'
  const threads = new Set(traceEvents.filter(isMain).map(({ pid, tid }) => `${pid} ${tid}`))
  return traceEvents
    .filter(({ ph, pid, tid }) => ph === 'X' && threads.has(`${pid} ${tid}`))
    .map(({ name, tdur }) => ({ name, ms: (tdur ?? 0) / 1_000 }))
}

/** Stays of four nights and a free one now and then, from a month ago. Written past the journal: they are only looked at. */
async function addStays(sql: Sql): Promise<void> {
  const agency = sql`${agencyIdOf(0).slice(4)}::text::uuid`
  await sql`
    insert into guest (agency_id, guest_id, first_name, last_name, created_at)
    select ${agency}, md5(n::text)::uuid, 'Guest', 'No. ' || n, now() from generate_series(0, 9999) n`
  await sql`
    insert into booking (agency_id, booking_id, unit_id, guest_id, arrival, departure, type, status, source, source_ref, total_amount, seq,
      created_at, updated_at, adults, children, version, extra_bed)
    select ${agency}, md5('booking ' || unit || ' ' || n)::uuid, unit_id, md5(((unit * 20 + n) % 10000)::text)::uuid,
      current_date - 10 + ((n * 9 + unit % 4) / 2)::int, current_date - 6 + ((n * 9 + unit % 4) / 2)::int,
      case n % 11 when 3 then 'owner_stay' when 7 then 'maintenance' else 'guest' end,
      case when n < 2 then 'checked_in' else 'confirmed' end, 'portal', 'REF-' || n, 50000, n + 100, now(), now(), 2, 1, 1, false
    from generate_series(0, ${STAYS_PER_UNIT - 1}) n, (select unit_id, row_number() over () as unit from unit where agency_id = ${agency}) units`
  await sql`vacuum analyze`
}
