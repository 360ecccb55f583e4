import { afterAll, beforeAll, test } from 'bun:test'
import { describeInBrowser, openPortalInBrowser, type PortalInBrowser, snapshot } from '../support/browser.ts'
describeInBrowser('dev', () => {
  let portal: PortalInBrowser
  beforeAll(async () => { portal = await openPortalInBrowser() })
  afterAll(() => portal.close())
  test('look', async () => {
    await portal.visit({ as: 'owner', at: '#/calendar' }, async (page) => {
      page.on('console', (m) => console.log(m.type(), m.text()))
      page.on('pageerror', (e) => console.log(e.stack))
      page.on('response', (r) => { if (r.status() >= 400) void r.text().then((t) => console.log(r.url(), t.slice(0, 300))) })
      await page.waitForSelector('.chart-bar')
      const shot = (n: string) => page.screenshot({ path: `/tmp/chart-h/png/${n}.png` })
      await page.locator('.chart-bar', { hasText: 'Zuzanna' }).first().click()
      await page.waitForTimeout(800); await shot('d-stay')
      await page.keyboard.press('Escape'); await page.waitForTimeout(300)
      const box = (await page.locator('.chart-bar', { hasText: 'Zuzanna' }).first().boundingBox())!
      const x = box.x + box.width / 2, y = box.y + box.height / 2
      await page.mouse.move(x, y); await page.mouse.down(); await page.mouse.move(x + 20, y + 10, { steps: 3 }); await page.mouse.move(x + 70, y - 38, { steps: 5 })
      await shot('d-drag'); await page.mouse.up(); await page.waitForTimeout(800); await shot('d-change')
      await page.keyboard.press('Escape'); await page.waitForTimeout(300)
      const first = (await page.locator('.chart-row').nth(3).boundingBox())!
      await page.mouse.move(1000, first.y + 15); await page.mouse.down(); await page.mouse.move(1130, first.y + 15, { steps: 5 }); await shot('d-select'); await page.mouse.up()
      await page.waitForTimeout(800); await shot('d-new')
      await page.setViewportSize({ width: 390, height: 844 }); await page.waitForTimeout(300); await shot('d-new-phone')
      await page.keyboard.press('Escape'); await page.getByRole('button', { name: 'Filter' }).click(); await page.waitForTimeout(300); await shot('d-filter-phone')
      await page.setViewportSize({ width: 1440, height: 900 }); await page.waitForTimeout(300); await shot('d-filter')
    })
  })
})
