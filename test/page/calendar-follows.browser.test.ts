/** The calendar stays true while nobody looks at it, and after the session has ended. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { isoOf } from '../../src/page/format/days.ts'
import {
  describeInBrowser,
  FAR_FROM_MIDNIGHT,
  openPortalInBrowser,
  type PortalInBrowser,
  signInWithToken,
} from '../support/browser.ts'

/** Far enough ahead that the demo has nothing there. */
const FIRST = Math.floor(Date.now() / 86_400_000) + 420

const STREAMS = /^nightledger_feed_streams_open (\d+)$/m

describeInBrowser('the calendar follows what others do', () => {
  let portal: PortalInBrowser
  beforeAll(async () => {
    portal = await openPortalInBrowser({}, FAR_FROM_MIDNIGHT)
  })
  afterAll(() => portal.close())

  /** A colleague books two nights in the loft. */
  async function book(day: number, lastName: string, more: object = {}): Promise<{ id: string }> {
    const stay = { unit: 'alfama-loft', arrival: isoOf(FIRST + day), departure: isoOf(FIRST + day + 2) }
    const answer = await fetch(`${portal.service.baseUrl}/portal/v1/agencies/demo/bookings`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${portal.database.tokens.owner}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ ...stay, guest: { firstName: 'Test', lastName }, ...more }),
    })
    expect(answer.status).toBe(201)
    return ((await answer.json()) as { booking: { id: string } }).booking
  }

  async function visit(follow: (page: Page) => Promise<void>): Promise<void> {
    await portal.visit({ as: 'desk', at: `#/calendar?from=${isoOf(FIRST)}&zoom=month` }, async (page) => {
      await page.getByRole('rowheader', { name: 'Alfama Loft' }).waitFor()
      await follow(page)
    })
  }

  async function streamsOpen(count: number): Promise<void> {
    const read = async () => (await (await fetch(`${portal.service.baseUrl}/metrics`)).text()).match(STREAMS)?.[1]
    while ((await read()) !== String(count)) await Bun.sleep(50)
  }

  const bar = (page: Page, guest: string) => page.getByRole('gridcell', { name: `${guest},` })

  test('after signing in again, it shows what was missed and what comes', async () => {
    await visit(async (page) => {
      await book(1, 'Before')
      await bar(page, 'Test Before').waitFor()
      // In another tab of the same browser, which takes the cookie away.
      await page.context().request.delete(`${portal.service.baseUrl}/portal/session`, {
        headers: { Origin: portal.service.baseUrl, 'X-Nightledger-Page': '1' },
      })
      const ended = page.getByRole('dialog', { name: 'Your session has ended' })
      await ended.waitFor()
      await book(5, 'Missed')
      await signInWithToken(ended, portal.database.tokens.desk)
      await ended.waitFor({ state: 'detached' })
      await bar(page, 'Test Missed').waitFor()
      await book(9, 'After')
      await bar(page, 'Test After').waitFor()
    })
  })

  test('in a tab that is not looked at, it holds no connection, and catches up when it is', async () => {
    await visit(async (page) => {
      await streamsOpen(1)
      await setHidden(page, true)
      await streamsOpen(0)
      await book(13, 'Meanwhile')
      await setHidden(page, false)
      await bar(page, 'Test Meanwhile').waitFor()
      await streamsOpen(1)
    })
  })

  test('a stay whose days are not loaded yet is shown all the same', async () => {
    const { id } = await book(24, 'Far')
    await portal.visit({ as: 'desk', at: `#/calendar?booking=${id}` }, async (page) => {
      await page.getByRole('dialog', { name: 'Test Far' }).getByRole('link', { name: 'Booking page' }).waitFor()
    })
  })

  test('a move whose answer is lost, and which was made, is reported as made', async () => {
    const { id } = await book(28, 'Moved')
    const at = `#/calendar?from=${isoOf(FIRST + 26)}&booking=${id}`
    await portal.visit({ as: 'desk', at, mayFail: true, keepsMessages: true }, async (page) => {
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('button', { name: 'Change dates or unit' }).click()
      await dialog.getByLabel('Departure').fill(isoOf(FIRST + 32))
      await dialog.getByText('The nights are free.').waitFor()
      await page.route(
        (url) => url.pathname.endsWith(id) && url.search === '',
        async (route) => {
          await route.fetch()
          await route.abort()
        },
        { times: 1 },
      )
      await dialog.getByRole('button', { name: 'Change dates', exact: true }).click()
      await page.getByText('Test Moved moved').waitFor()
      await page.getByRole('dialog', { name: 'Change dates' }).waitFor({ state: 'detached' })
    })
  })

  test('in a browser whose clock is wrong by 30 hours, today and the time of holds are those of the service', async () => {
    const { id } = await book(20, 'Hold', { status: 'option', holdHours: 48 })
    await portal.visit({ as: 'desk', at: `#/calendar?booking=${id}` }, async (page) => {
      const panel = page.getByRole('dialog', { name: 'Test Hold' })
      const today = () => page.locator('.chart-day.is-today').getAttribute('aria-label')
      await panel.getByText('2 d left').waitFor()
      const before = await today()
      await page.clock.install({ time: Date.now() - 30 * 3_600_000 })
      await page.reload()
      await panel.getByText('2 d left').waitFor()
      await panel.getByRole('button', { name: 'Extend hold…' }).click()
      await panel.getByLabel('New expiry').selectOption('7 days from now')
      await panel.getByRole('button', { name: 'Extend hold', exact: true }).click()
      await panel.getByText('7 d left').waitFor()
      expect(await today()).toBe(before)
    })
  })
})

/** Of the page: the tests' own types have no browser. */
declare const document: EventTarget

/** As the browser does when another tab is chosen, which a headless one never does by itself. */
function setHidden(page: Page, hidden: boolean): Promise<void> {
  return page.evaluate((isHidden) => {
    const { document } = globalThis as unknown as { document: EventTarget }
    Object.defineProperty(document, 'hidden', { configurable: true, value: isHidden })
    document.dispatchEvent(new Event('visibilitychange'))
  }, hidden)
}
