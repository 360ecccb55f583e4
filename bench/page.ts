/*
 * `bun bench/page.ts`: the agency's page in headless Chromium, against the service on loopback with 500 units and 10,000 stays in 90 days:
 * how much is sent, how long it is until the first view and until the chart is drawn, and how long the frames of a scroll are. The main
 * thread's CPU time stands beside the frames: on a busy machine, the time that passed says how long others ran.
 */
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { type Browser, type CDPSession, chromium, type Page } from 'playwright-core'
import type { Sql } from '../src/postgres/client/connect.ts'
import { TEST_PORTAL_TOKEN } from '../test/support/service-process.ts'
import { medianOf } from './compare.ts'
import { writeResult } from './report.ts'
import { type ServiceHandle, startPostgres, startService } from './support/processes.ts'
import { seedLedger } from './world/seed.ts'
import { agencyIdOf } from './world/world.ts'

const UNITS = 500
const DAYS = 90
const STAYS_PER_UNIT = 20
const ROUNDS = 4
const FRAMES = 80
/** A steady scroll, and one as with the scroll bar. */
const STEPS_PX = { steady: 60, fast: 400 } as const
const VIEWPORT = { width: 1440, height: 900 }
const EXECUTABLE = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium'

/** Scripts of the browser are texts: the benchmarks know no document. The second frame begins when the first has been drawn. */
const MARK_WHEN_DRAWN = `
  const send = window.fetch
  window.fetch = async (request) => {
    const answer = await send(request)
    if (answer.url.includes('/tape?')) performance.mark('answered')
    return answer
  }
  const observer = new MutationObserver(() => {
    if (document.querySelector('.chart-row .chart-bar') === null) return
    observer.disconnect()
    requestAnimationFrame(() => requestAnimationFrame(() => performance.mark('drawn')))
  })
  observer.observe(document, { childList: true, subtree: true })`

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

const postgres = await startPostgres()
let service: ServiceHandle | null = null
let browser: Browser | null = null
try {
  const { url, sql } = await postgres.createDatabase('page')
  await seedLedger(sql, { agencies: 1, unitsPerAgency: UNITS, bookingsPerUnit: 0, bookingsOfFirst: 0 }, console.log)
  await addStays(sql)
  service = await startService(url)
  browser = await chromium.launch({ executablePath: EXECUTABLE, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
  const figures = { ...(await sizes(service.baseUrl)), ...(await chartFigures(browser, service.baseUrl)) }
  console.log(JSON.stringify(figures, null, 2))
  await writeResult('page', figures)
} finally {
  await browser?.close()
  await service?.stop()
  await postgres.stop()
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

async function chartFigures(browser: Browser, baseUrl: string) {
  const token = await accessToken(baseUrl)
  const draws: Draw[] = []
  const scrolls: Record<string, Frames[]> = {}
  for (let round = 0; round < ROUNDS; round++) {
    const context = await browser.newContext({ viewport: VIEWPORT })
    await context.request.post(`${baseUrl}/portal/session`, {
      data: { token },
      headers: { Origin: baseUrl, 'X-Nightledger-Page': '1' },
    })
    const page = await context.newPage()
    const session = await context.newCDPSession(page)
    await session.send('Performance.enable')
    draws.push(await draw(page, session, `${baseUrl}/portal/#/calendar?zoom=quarter`))
    await page.waitForTimeout(500)
    for (const axis of ['down', 'across'] as const)
      for (const speed of ['steady', 'fast'] as const) {
        const name = `${axis}, ${speed}`
        scrolls[name] = [...(scrolls[name] ?? []), await scroll(page, session, axis, STEPS_PX[speed])]
      }
    await context.close()
  }
  return {
    ...{ units: UNITS, stays: UNITS * STAYS_PER_UNIT, days: DAYS, rounds: ROUNDS },
    firstViewMs: spread(draws.map(({ firstViewMs }) => firstViewMs)),
    /** From the beginning of the tape's answer to the frame with the bars. */
    drawMs: spread(draws.map(({ drawMs }) => drawMs)),
    drawBusyMs: spread(draws.map(({ cpuMs }) => cpuMs)),
    nodes: draws.at(-1)?.nodes,
    bars: draws.at(-1)?.bars,
    frames: Object.fromEntries(
      Object.entries(scrolls).map(([name, rounds]) => [
        name,
        {
          medianMs: spread(rounds.map(({ medianMs }) => medianMs)),
          longestMs: spread(rounds.map(({ longestMs }) => longestMs)),
          over50Ms: spread(rounds.map(({ over50 }) => over50)),
          busyMsPerFrame: spread(rounds.map(({ cpuMs }) => cpuMs)),
          taskCpuMsPerFrame: spread(rounds.map(({ taskCpuMs }) => taskCpuMs)),
          longestTaskCpuMs: spread(rounds.map(({ longestTaskMs }) => longestTaskMs)),
        },
      ]),
    ),
  }
}

interface Draw {
  readonly firstViewMs: number
  readonly drawMs: number
  readonly cpuMs: number
  readonly nodes: number
  readonly bars: number
}

async function draw(page: Page, session: CDPSession, url: string): Promise<Draw> {
  await page.addInitScript({ content: MARK_WHEN_DRAWN })
  await page.goto(url)
  await page.waitForFunction(() => performance.getEntriesByName('drawn').length > 0)
  const cpuMs = await taskMs(session)
  const measured = await page.evaluate(() => {
    const at = (name: string) => performance.getEntriesByName(name)[0]?.startTime ?? Number.NaN
    return { firstViewMs: at('drawn'), drawMs: at('drawn') - at('answered') }
  })
  const count = (selector: string) => page.evaluate<number>(`document.querySelectorAll('${selector}').length`)
  return { ...measured, cpuMs, nodes: await count('*'), bars: await count('.chart-row .chart-bar') }
}

interface Frames {
  readonly medianMs: number
  readonly longestMs: number
  readonly over50: number
  /** How long the main thread was busy, for each frame. */
  readonly cpuMs: number
  /** CPU time of the main thread's tasks, for each frame. */
  readonly taskCpuMs: number
  /** CPU time of the longest task: what the longest frame would be with a core to itself. */
  readonly longestTaskMs: number
}

async function scroll(page: Page, session: CDPSession, axis: 'down' | 'across', stepPx: number): Promise<Frames> {
  const before = await taskMs(session)
  await browser?.startTracing(page, { categories: ['toplevel', 'disabled-by-default-devtools.timeline'] })
  const frames = await page.evaluate<number[]>(scrollScript(axis === 'down' ? 'top' : 'left', stepPx))
  const cpuMs = ((await taskMs(session)) - before) / FRAMES
  const tasks = tasksOf((await browser?.stopTracing())?.toString() ?? '')
  const taskCpuMs = tasks.reduce((sum, { name, ms }) => sum + (name === 'RunTask' ? ms : 0), 0) / FRAMES
  const longestTaskMs = Math.max(...tasks.map(({ ms }) => ms))
  const over50 = frames.filter((ms) => ms > 50).length
  return { medianMs: medianOf(frames), longestMs: Math.max(...frames), over50, cpuMs, taskCpuMs, longestTaskMs }
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

/** Time that the page's main thread was busy so far, milliseconds. */
async function taskMs(session: CDPSession): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics')
  return (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN) * 1_000
}

async function accessToken(baseUrl: string): Promise<string> {
  const headers = { Authorization: `Bearer ${TEST_PORTAL_TOKEN}`, 'Content-Type': 'application/json' }
  const list = (await (await fetch(`${baseUrl}/portal/v1/agencies`, { headers })).json()) as {
    agencies: { slug: string }[]
  }
  const path = `${baseUrl}/portal/v1/agencies/${list.agencies[0]?.slug}/access-tokens`
  const body = JSON.stringify({ name: 'Bench', role: 'desk' })
  const answer = await fetch(path, { method: 'POST', headers, body })
  const { secret } = (await answer.json()) as { secret: string }
  return secret
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

function spread(values: readonly number[]): { min: number; median: number; max: number } {
  const rounded = (value: number) => Math.round(value * 10) / 10
  return {
    min: rounded(Math.min(...values)),
    median: rounded(medianOf([...values])),
    max: rounded(Math.max(...values)),
  }
}
