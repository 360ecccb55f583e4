/*
 * `bun bench/first-view.ts`: how long it takes in headless Chromium, on loopback, from the beginning of the navigation until a screen of the
 * demo agency is drawn with its data; with an empty cache, and when the page is opened again. How long the main thread was busy
 * stands beside it.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, type BrowserContext, chromium } from 'playwright-core'
import { startService } from '../test/support/service-process.ts'
import { medianOf } from './compare.ts'
import { writeResult } from './report.ts'

const ROUNDS = 7
const VIEWPORT = { width: 1440, height: 900 }
const EXECUTABLE = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium'

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
  { name: 'calendar', hash: '#/calendar', isSignedIn: true, selector: '.chart-row .chart-bar' },
]

/** A script of the browser is a text: the benchmarks know no document. The second frame begins when the first has been drawn. */
const markWhenDrawn = (selector: string) => `
  const observer = new MutationObserver(() => {
    if (document.querySelector('${selector}') === null) return
    observer.disconnect()
    requestAnimationFrame(() => requestAnimationFrame(() => performance.mark('drawn')))
  })
  observer.observe(document, { childList: true, subtree: true })`

interface View {
  readonly ms: number
  readonly busyMs: number
}

const folder = mkdtempSync(join(tmpdir(), 'nightledger-first-view-'))
const service = await startService({ DATA_DIR: folder })
let browser: Browser | null = null
try {
  const token = readFileSync(join(folder, 'demo-owner-token'), 'utf8').trim()
  browser = await chromium.launch({ executablePath: EXECUTABLE, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
  const views = new Map(SCREENS.map(({ name }) => [name, { first: [] as View[], again: [] as View[] }]))
  for (let round = 0; round < ROUNDS; round++) {
    for (const screen of SCREENS) {
      const context = await browser.newContext({ viewport: VIEWPORT })
      if (screen.isSignedIn) await signIn(context, token)
      await context.addInitScript({ content: markWhenDrawn(screen.selector) })
      views.get(screen.name)?.first.push(await view(context, screen))
      views.get(screen.name)?.again.push(await view(context, screen))
      await context.close()
    }
  }
  const figures = Object.fromEntries(
    [...views].map(([name, { first, again }]) => [name, { first: spread(first), again: spread(again) }]),
  )
  console.log(JSON.stringify(figures, null, 2))
  await writeResult('first-view', { rounds: ROUNDS, screens: figures })
} finally {
  await browser?.close()
  service.kill('SIGTERM')
  await service.exited
  rmSync(folder, { recursive: true, force: true })
}

async function signIn(context: BrowserContext, token: string): Promise<void> {
  await context.request.post(`${service.baseUrl}/portal/session`, {
    data: { token },
    headers: { Origin: service.baseUrl, 'X-Nightledger-Page': '1' },
  })
}

async function view(context: BrowserContext, { hash }: Screen): Promise<View> {
  const page = await context.newPage()
  const session = await context.newCDPSession(page)
  await session.send('Performance.enable')
  await page.goto(`${service.baseUrl}/portal/${hash}`)
  await page.waitForFunction(() => performance.getEntriesByName('drawn').length > 0)
  const ms = await page.evaluate(() => performance.getEntriesByName('drawn')[0]?.startTime ?? Number.NaN)
  const { metrics } = await session.send('Performance.getMetrics')
  const busyS = metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN
  await page.close()
  return { ms, busyMs: busyS * 1_000 }
}

function spread(views: readonly View[]) {
  const of = (values: readonly number[]) => ({
    min: Math.round(Math.min(...values)),
    median: Math.round(medianOf([...values])),
    max: Math.round(Math.max(...values)),
  })
  return { ms: of(views.map(({ ms }) => ms)), busyMs: of(views.map(({ busyMs }) => busyMs)) }
}
