/** The calendar stays true while nobody looks at it, and after the session has ended. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { isoOf } from '../../src/page/format/days.ts'
import { describeInBrowser, openPortalInBrowser, type PortalInBrowser, signInWithToken } from '../support/browser.ts'

/** Far enough ahead that the demo has nothing there. */
const FIRST = Math.floor(Date.now() / 86_400_000) + 420

const STREAMS = /^nightledger_feed_streams_open (\d+)$/m

describeInBrowser('the calendar follows what others do', () => {
  let portal: PortalInBrowser
  beforeAll(async () => {
    portal = await openPortalInBrowser()
  })
  afterAll(() => portal.close())

  /** A colleague books two nights in the loft. */
  async function book(day: number, lastName: string): Promise<void> {
    const stay = { unit: 'alfama-loft', arrival: isoOf(FIRST + day), departure: isoOf(FIRST + day + 2) }
    const answer = await fetch(`${portal.service.baseUrl}/portal/v1/agencies/demo/bookings`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${portal.database.tokens.owner}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ ...stay, guest: { firstName: 'Test', lastName } }),
    })
    expect(answer.status).toBe(201)
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
