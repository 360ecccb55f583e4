/** The page in a browser whose text is half as large again, as people set it who see less well. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import {
  describeInBrowser,
  openBrowser,
  openContext,
  openPortalInBrowser,
  type PortalInBrowser,
} from '../support/browser.ts'
import { boxOf } from '../support/calendar-page.ts'

describeInBrowser('the size of text', () => {
  let portal: PortalInBrowser
  beforeAll(async () => {
    portal = await openPortalInBrowser()
  })
  afterAll(() => portal.close())

  test('is that of the browser, and what it stands in grows along', async () => {
    const browser = await openBrowser(['--blink-settings=defaultFontSize=24'])
    try {
      const context = await openContext(browser, { viewport: { width: 1440, height: 900 } })
      const origin = portal.service.baseUrl
      await context.request.post(`${origin}/portal/session`, {
        data: { token: portal.database.tokens.desk },
        headers: { Origin: origin, 'X-Nightledger-Page': '1' },
      })
      const page = await context.newPage()
      await page.goto(`${origin}/portal/#/calendar`)
      const unit = page.locator('.chart-unit').first()
      expect((await boxOf(unit)).height).toBe(57)
      const clipped = await unit.evaluate(({ scrollHeight, clientHeight }) => scrollHeight - clientHeight)
      expect(clipped).toBe(0)
      // So wide a window has the room of a narrower one: it is laid out as a tablet, and nothing is pushed out of it.
      await page.getByRole('navigation').getByRole('button', { name: 'More' }).waitFor()
      await page.goto(`${origin}/portal/#/bookings`)
      await page.getByRole('columnheader', { name: 'Total' }).waitFor()
      const beyond = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
      expect(beyond).toBe(0)
    } finally {
      await browser.close()
    }
  })
})
