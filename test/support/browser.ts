/**
 * The page in a real browser: headless Chromium from the operating system's packages, against the service in a process of its own, on
 * a database with the demo agency. An error on the console, a violation of the content security policy or a request to another
 * origin fails the test.
 */
import { describe } from 'bun:test'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Browser,
  type BrowserContext,
  type ConsoleMessage,
  chromium,
  type Locator,
  type Page,
} from 'playwright-core'
import type { Role } from '../../src/core/catalogue/agency.ts'
import { type DemoDatabase, demoDatabase } from './demo-database.ts'
import { rounds } from './long-run.ts'
import { type ServiceProcess, startServiceOn, TEST_PORTAL_TOKEN } from './service-process.ts'

const PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome', '/snap/bin/chromium']
const EXECUTABLE = [process.env['CHROMIUM_PATH'] ?? '', ...PATHS].find((path) => path !== '' && existsSync(path))
const AXE = readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

/** Long enough for a busy machine; a test that passes never waits for it. */
const ACTION_MS_MAX = 60_000

/** Widths of a phone and of a desk. */
export const PHONE = { width: 390, height: 844 } as const
const DESK = { width: 1440, height: 900 } as const

/** Set in CI, and by .ci/run, which installs Chromium. */
const IS_REQUIRED = process.env['CI'] !== undefined || process.env['PAGE_TESTS'] === 'required'

/** `describe` for tests in a browser. Without one they are skipped, and fail in CI. */
export function describeInBrowser(name: string, body: () => void): void {
  if (EXECUTABLE === undefined && IS_REQUIRED)
    throw new Error(`Cannot test the page: no Chromium at ${PATHS.join(', ')}`)
  if (EXECUTABLE === undefined) console.log(`Skipped, for want of Chromium: ${name}`)
  describe.skipIf(EXECUTABLE === undefined)(name, body)
}

interface VisitOptions {
  /** Whose token opens the session; left out: nobody is signed in. */
  readonly as?: Role | 'operator'
  readonly viewport?: { readonly width: number; readonly height: number }
  readonly colorScheme?: 'light' | 'dark'
  /** Where the page is opened: a hash, such as `#/keys`. */
  readonly at?: string
  /** The name under which the page is opened: passkeys belong to `localhost`, unless PUBLIC_URL says otherwise. */
  readonly host?: 'localhost' | '127.0.0.1'
  /** Requests that fail are part of the test: the service is away. */
  readonly mayFail?: boolean
  /** Messages stay until they are closed: on a busy machine they can go before the test presses Undo. */
  readonly keepsMessages?: boolean
  /** Another one that the browser may go to. */
  readonly otherOrigin?: string
}

/** The service and a browser, for one test file. */
export interface PortalInBrowser {
  readonly database: DemoDatabase
  /** Replaced by `restart`. */
  readonly service: ServiceProcess
  /** Opens the page, runs the test, and fails if anything went wrong in the browser meanwhile. */
  visit(options: VisitOptions, test: (page: Page) => Promise<void>): Promise<void>
  close(): Promise<void>
}

/** @param args more arguments of Chromium */
export function openBrowser(args: readonly string[] = []): Promise<Browser> {
  return chromium.launch({
    ...(EXECUTABLE === undefined ? {} : { executablePath: EXECUTABLE }),
    // The tests run as root, in containers with a small /dev/shm.
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--force-color-profile=srgb', ...args],
  })
}

/** A time zone whose midnight is three hours away at least, so that today stays the same day while the tests of a file run. */
export const FAR_FROM_MIDNIGHT = new Date().getUTCHours() < 21 ? 'UTC' : 'Pacific/Auckland'

/** `timezone`: what the demo agency is moved to, for tests of today. */
export async function openPortalInBrowser(
  env: Record<string, string> = {},
  timezone = 'Europe/Lisbon',
): Promise<PortalInBrowser> {
  const database = await demoDatabase()
  await database.sql`update agency set timezone = ${timezone}`
  // Unset: the page's own address, with the port that the service is given.
  const service = await startServiceOn(database.url, { PUBLIC_URL: '', ...env })
  const browser = await openBrowser()
  return {
    database,
    service,
    visit: async (options, test) => {
      const context = await openContext(browser, options)
      try {
        const origin = service.baseUrl.replace('127.0.0.1', options.host ?? '127.0.0.1')
        const faults = watchFaults(context, origin, options)
        await signIn(context, origin, database, options)
        const page = await context.newPage()
        if (options.keepsMessages === true) await page.addInitScript(withoutTimersOf, [5_000, 10_000])
        await page.goto(`${origin}/portal/${options.at ?? ''}`)
        await test(page)
        if (faults.length > 0) throw new Error(`Faults in the browser:\n${faults.join('\n')}`)
      } finally {
        await context.close()
      }
    },
    close: async () => {
      await browser.close()
      service.kill('SIGKILL')
      await service.exited
      await database.drop()
    },
  }
}

export async function openContext(
  browser: Browser,
  options: Pick<VisitOptions, 'viewport' | 'colorScheme'>,
): Promise<BrowserContext> {
  const { viewport = DESK, colorScheme = 'light' } = options
  const context = await browser.newContext({ viewport, colorScheme, locale: 'en-GB', reducedMotion: 'reduce' })
  schemes.set(context, colorScheme)
  context.setDefaultTimeout(ACTION_MS_MAX)
  // As an init script it is not subject to the page's policy.
  await context.addInitScript({ content: AXE })
  return context
}

/** Runs in the page. @param delays of src/page/design/toast.tsx, ms */
function withoutTimersOf(delays: readonly number[]): void {
  const start = globalThis.setTimeout
  globalThis.setTimeout = ((run: () => void, ms?: number) =>
    delays.includes(ms ?? 0) ? 0 : start(run, ms)) as typeof setTimeout
}

/** Makes `change` once, after the page has sent its next write to `path` and before that arrives: no earlier read can show it. */
export async function beforeNextWrite(page: Page, path: string, change: () => Promise<unknown>): Promise<void> {
  let isMade = false
  await page.route(
    (url) => url.pathname === path,
    async (route) => {
      if (!isMade && route.request().method() !== 'GET') {
        isMade = true
        await change()
      }
      await route.continue()
    },
  )
}

/** Everything that no visit may do, as texts; grows while the visit lasts. */
function watchFaults(
  context: BrowserContext,
  origin: string,
  { mayFail = false, otherOrigin = origin }: VisitOptions,
): string[] {
  const faults: string[] = []
  const isOther = (url = '') => otherOrigin !== origin && url.startsWith(`${otherOrigin}/`)
  context.on('request', (request) => {
    const url = request.url()
    // What a page elsewhere loads is its own affair.
    if (isOther(url) || isOther(request.headers()['referer'])) return
    if (!url.startsWith(`${origin}/`) && !url.startsWith('data:')) faults.push(`request to another origin: ${url}`)
  })
  context.on('console', (message) => {
    const { url } = message.location()
    if (otherOrigin !== origin && !url.startsWith(`${origin}/`)) return
    if (message.type() === 'error' && !isExpected(message, mayFail)) faults.push(`console: ${message.text()} (${url})`)
  })
  context.on('weberror', (error) => void faults.push(`thrown: ${error.error().stack}`))
  return faults
}

/** Chromium reports every answer with an error status: refusals by the portal are the page's daily bread. */
function isExpected(message: ConsoleMessage, mayFail: boolean): boolean {
  const text = message.text()
  if (mayFail && text.startsWith('Failed to load resource')) return true
  return /status of 4\d\d/.test(text) && new URL(message.location().url).pathname.startsWith('/portal/')
}

async function signIn(
  context: BrowserContext,
  origin: string,
  database: DemoDatabase,
  { as }: VisitOptions,
): Promise<void> {
  if (as === undefined) return
  const token = as === 'operator' ? TEST_PORTAL_TOKEN : database.tokens[as]
  const answer = await context.request.post(`${origin}/portal/session`, {
    data: { token },
    headers: { Origin: origin, 'X-Nightledger-Page': '1' },
  })
  if (!answer.ok()) throw new Error(`Cannot sign in as ${as} in a test: ${answer.status()} ${await answer.text()}`)
}

/** Signs in with a token, as programs and the operator do. @param within the page, or the dialog that asks to sign in again */
export async function signInWithToken(within: Page | Locator, token: string): Promise<void> {
  await within.getByRole('button', { name: 'Use an access token instead' }).click()
  await within.getByLabel('Access token').fill(token)
  await within.getByRole('button', { name: 'Sign in', exact: true }).click()
}

declare const axe: {
  run(): Promise<{ violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[] }>
}

interface Look {
  readonly viewport: typeof PHONE | typeof DESK
  readonly colorScheme: 'light' | 'dark'
}

const EACH_LOOK: readonly Look[] = (['light', 'dark'] as const).flatMap((colorScheme) =>
  [PHONE, DESK].map((viewport) => ({ colorScheme, viewport })),
)
/** Both widths and both schemes: few faults need one of each, and axe takes seconds. */
const ACROSS: readonly Look[] = [
  { colorScheme: 'light', viewport: PHONE },
  { colorScheme: 'dark', viewport: DESK },
]

/** Does something in each of these looks; then the page is as it was. */
async function inLooks(
  page: Page,
  looks: readonly Look[],
  look: (viewport: Look['viewport'], colorScheme: Look['colorScheme']) => Promise<void>,
): Promise<void> {
  const before = { viewport: page.viewportSize(), colorScheme: schemes.get(page.context()) ?? 'light' }
  for (const { viewport, colorScheme } of looks) {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize(viewport)
    await look(viewport, colorScheme)
  }
  await page.emulateMedia({ colorScheme: before.colorScheme })
  if (before.viewport !== null) await page.setViewportSize(before.viewport)
}

const schemes = new WeakMap<BrowserContext, 'light' | 'dark'>()

/** @throws Error with what axe finds, on a phone in light and at a desk in dark; in the long run both in both */
export async function expectAccessible(page: Page): Promise<void> {
  const found: string[] = []
  await inLooks(page, rounds({ push: ACROSS, long: EACH_LOOK }), async ({ width }, colorScheme) => {
    const { violations } = await page.evaluate(() => axe.run())
    for (const { id, nodes } of violations)
      for (const { html, failureSummary } of nodes)
        found.push(`${id}, ${colorScheme}, ${width} px: ${html}\n  ${failureSummary}`)
  })
  if (found.length > 0) throw new Error(`axe finds:\n${found.join('\n')}`)
}

/**
 * With `PAGE_SNAPSHOTS=FOLDER`, draws the page as `NAME-WIDTH-THEME.png`, for people to look at.
 * @param options.isWhole beyond the lower edge of the window
 */
export async function snapshot(page: Page, name: string, { isWhole = false } = {}): Promise<void> {
  const folder = process.env['PAGE_SNAPSHOTS']
  if (folder === undefined) return
  mkdirSync(folder, { recursive: true })
  await inLooks(page, EACH_LOOK, async ({ width }, colorScheme) => {
    await page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`), fullPage: isWhole })
  })
}
