import { afterAll, beforeAll, test } from 'bun:test'
import { describeInBrowser, openPortalInBrowser, type PortalInBrowser, snapshot, PHONE } from '../support/browser.ts'
describeInBrowser('dev', () => {
  let portal: PortalInBrowser
  beforeAll(async () => { portal = await openPortalInBrowser() })
  afterAll(() => portal.close())
  test('look', async () => {
    await portal.visit({ as: 'owner', at: '#/calendar' }, async (page) => {
      page.on('console', (m) => console.log(m.type(), m.text()))
      page.on('pageerror', (e) => console.log(e.stack))
      await page.waitForSelector('.chart-bar')
      await page.waitForTimeout(500)
      await snapshot(page, 'cal')
      await page.setViewportSize({ width: 1440, height: 900 })
      await page.locator('.chart-bar').nth(6).click()
      await page.waitForTimeout(600)
      await snapshot(page, 'cal-stay')
    })
    await portal.visit({ as: 'owner', viewport: PHONE, at: '#/calendar' }, async (page) => {
      await page.waitForSelector('.chart-bar')
      await page.waitForTimeout(500)
      await snapshot(page, 'cal-phone')
    })
  })
})
