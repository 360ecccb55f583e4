/** The agency's page in a browser, and when a screen of it shows its data. */
import { type Browser, type BrowserContext, type CDPSession, chromium, type Page } from 'playwright-core'
import { TEST_PORTAL_TOKEN } from '../../test/support/service-process.ts'

const VIEWPORT = { width: 1440, height: 900 }
const EXECUTABLE = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium'
/** A stay in the chart. */
export const BAR = '.chart-row .chart-bar'

/**
 * Browser scripts are strings, because the benchmarks are compiled without the types of a document. `answered` marks the start of the tape's
 * answer. The second frame begins when the first has been drawn.
 */
const markWhenDrawn = (selector: string) => `
  const send = window.fetch
  window.fetch = async (request) => {
    const answer = await send(request)
    if (answer.url.includes('/tape?')) performance.mark('answered')
    return answer
  }
  const observer = new MutationObserver(() => {
    if (document.querySelector('${selector}') === null) return
    observer.disconnect()
    requestAnimationFrame(() => requestAnimationFrame(() => performance.mark('drawn')))
  })
  observer.observe(document, { childList: true, subtree: true })`

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: EXECUTABLE, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
}

/** A context whose pages mark `drawn` once `selector` is on the screen. */
export async function openContext(
  browser: Browser,
  baseUrl: string,
  { selector, token }: { selector: string; token: string | null },
): Promise<BrowserContext> {
  const context = await browser.newContext({ viewport: VIEWPORT })
  const headers = { Origin: baseUrl, 'X-Nightledger-Page': '1' }
  if (token !== null) {
    const answer = await context.request.post(`${baseUrl}/portal/session`, { data: { token }, headers })
    if (!answer.ok()) throw new Error(`Cannot sign in: ${answer.status()}`)
  }
  await context.addInitScript({ content: markWhenDrawn(selector) })
  return context
}

export interface View {
  /** From the beginning of the navigation to the frame that shows the data. */
  readonly ms: number
  /** From the beginning of the tape's answer to that frame; NaN on a screen without a tape. */
  readonly sinceAnswerMs: number
  /** Time that the main thread was busy until then. */
  readonly busyMs: number
}

/** Opens a screen and waits until its data is drawn. */
export async function draw(page: Page, url: string): Promise<View> {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable')
  await page.goto(url)
  await page.waitForFunction(() => performance.getEntriesByName('drawn').length > 0)
  const busyMs = await taskMs(session)
  const times = await page.evaluate(() => {
    const at = (name: string) => performance.getEntriesByName(name)[0]?.startTime ?? Number.NaN
    return { ms: at('drawn'), sinceAnswerMs: at('drawn') - at('answered') }
  })
  return { ...times, busyMs }
}

/** Time that the page's main thread was busy so far, milliseconds. */
async function taskMs(session: CDPSession): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics')
  return (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN) * 1_000
}

/** Makes one with the role `desk`. */
export async function accessToken(baseUrl: string, slug: string): Promise<string> {
  const headers = { Authorization: `Bearer ${TEST_PORTAL_TOKEN}`, 'Content-Type': 'application/json' }
  const path = `${baseUrl}/portal/v1/agencies/${slug}/access-tokens`
  const body = JSON.stringify({ name: 'Bench', role: 'desk' })
  const answer = await fetch(path, { method: 'POST', headers, body })
  if (!answer.ok) throw new Error(`Cannot make an access token: ${answer.status}`)
  const { secret } = (await answer.json()) as { secret: string }
  return secret
}
