/** The calendar of a unit as it is and as it was. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { dayOf, isoOf, monthStart } from '../../src/page/format/days.ts'
import {
  describeInBrowser,
  expectAccessible,
  openPortalInBrowser,
  PHONE,
  type PortalInBrowser,
  snapshot,
} from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'

const A = '/portal/v1/agencies/demo'
const DAY_MS = 86_400_000
/** The first of next month: what follows is in the months that are shown, and nobody arrives today. */
const MONTH = monthStart(Math.floor(Date.now() / DAY_MS), 1)
const night = (index: number) => isoOf(MONTH + index)

describeInBrowser('a calendar as it was', () => {
  let portal: PortalInBrowser
  beforeAll(async () => {
    portal = await openPortalInBrowser()
    await ask('/units', 'POST', { slug: 'harbour', name: 'Harbour House', basePrice: 10_000, turnoverNights: 1 })
    const moved = await book(0, 4)
    const cancelled = await book(8, 14)
    // As if all of this had been made ten days ago.
    await portal.database.sql`
      update journal set at = at - interval '10 days'
      where unit_id = (select unit_id from journal where booking_id = ${moved.slice(4)} limit 1)`
    await ask(`/bookings/${moved}`, 'PATCH', { departure: night(6) })
    await ask(`/bookings/${cancelled}/cancel`, 'POST', {})
    await book(20, 23)
  })
  afterAll(() => portal.close())

  async function ask(path: string, method: string, json: object) {
    const { status, body } = await portal.service.ask(`${A}${path}`, {
      method,
      json,
      token: portal.database.tokens.owner,
    })
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(body)}`)
    return body
  }
  const book = async (from: number, to: number): Promise<string> =>
    (await ask('/bookings', 'POST', { unit: 'harbour', arrival: night(from), departure: night(to) })).booking.id
  const cell = (page: Page, index: number) => page.locator(`[data-day="${dayOf(night(index))}"]`)
  const said = (page: Page, index: number) => cell(page, index).locator('.visually-hidden').textContent()
  const slider = (page: Page) => page.getByRole('slider', { name: 'Last four weeks' })
  const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS)
  const AT = '#/units/harbour?tab=calendar'

  test('a viewer sees the nights as they were at a date and time, and what differs from now, and returns to now', async () => {
    await portal.visit({ as: 'viewer', at: AT }, async (page) => {
      await page.getByRole('grid', { name: 'Nights now' }).waitFor()
      expect(await said(page, 5)).toEndWith(': Taken')
      expect(await said(page, 6)).toEndWith(': Cleaning')
      expect(await slider(page).getAttribute('aria-valuetext')).toBe('Now')
      await page.getByLabel('Date').fill(isoOf(Math.floor(daysAgo(5).getTime() / DAY_MS)))
      await page.getByLabel('Time').fill('12:00')
      await page.getByRole('grid', { name: 'Nights as they were' }).waitFor()
      await page.getByText(/^This is the past: .*, 12:00/).waitFor()
      // The longer stay took 2 and a cleaning night, the new one 3 and its own; the cancelled one freed 6 and its own.
      await page.getByText(/14 nights shown differ from now: 6 were free, 7 are free now\./).waitFor()
      expect(await said(page, 3)).toEndWith(': Taken')
      expect(await said(page, 4)).toEndWith(': Cleaning, now taken')
      expect(await said(page, 5)).toEndWith(': Free, now taken')
      expect(await said(page, 10)).toEndWith(': Taken, now free')
      await cell(page, 10).hover()
      await expectAccessible(page)
      await snapshot(page, 'nights-as-they-were', { isWhole: true })

      // The address of the page opens the same moment again.
      await eventually('the moment is in the address', () => page.url().includes('asOf='))
      await page.reload()
      await page.getByText(/^This is the past: .*, 12:00/).waitFor()
      await page.getByRole('button', { name: 'Back to now' }).click()
      await page.getByRole('grid', { name: 'Nights now' }).waitFor()
      expect(await page.getByText('This is the past').count()).toBe(0)
      await eventually('the address is that of now', () => !page.url().includes('asOf='))
      await snapshot(page, 'nights-now', { isWhole: true })
    })
  })

  test('the slider moves with the keyboard and announces the moment; the old picture stays while the new one is read', async () => {
    await portal.visit({ as: 'desk', at: AT }, async (page) => {
      await page.getByRole('grid', { name: 'Nights now' }).waitFor()
      let asked = 0
      let go = () => {}
      const held = new Promise<void>((resolve) => {
        go = resolve
      })
      await page.route(/calendar\?.*asOf/, async (route) => {
        asked += 1
        await held
        await route.continue()
      })
      await slider(page).focus()
      for (let day = 0; day < 3; day++) await page.keyboard.press('PageDown')
      const byDays = await slider(page).getAttribute('aria-valuetext')
      await page.keyboard.press('ArrowLeft')
      const byHour = await slider(page).getAttribute('aria-valuetext')
      expect(byHour).toMatch(/, \d\d:00$/)
      expect(byHour).not.toBe(byDays)
      await eventually('it is asked for', () => asked > 0)
      await page.getByRole('grid', { name: 'Nights now' }).waitFor()
      expect(await page.getByText('This is the past').count()).toBe(0)
      go()
      await page.getByText(`This is the past: ${byHour}`).waitFor()
      await page.keyboard.press('End')
      await page.getByRole('grid', { name: 'Nights now' }).waitFor()
      // What a colleague books in the meantime is shown.
      await book(26, 27)
      await eventually('the new stay', async () => (await said(page, 26))?.endsWith(': Taken') === true)
    })
  })

  test('a moment before the unit, one that is no longer kept and one in the future are explained', async () => {
    await portal.visit({ as: 'viewer', at: AT, viewport: PHONE }, async (page) => {
      await page.getByRole('grid', { name: 'Nights now' }).waitFor()
      await page.getByLabel('Date').fill(isoOf(Math.floor(daysAgo(-3).getTime() / DAY_MS)))
      await page.getByText('That is in the future.').waitFor()
      await page.getByRole('grid', { name: 'Nights now' }).waitFor()
      await page.getByLabel('Date').fill(isoOf(Math.floor(daysAgo(20).getTime() / DAY_MS)))
      await page.getByText('Before this unit existed').waitFor()
      await expectAccessible(page)
      await snapshot(page, 'nights-before', { isWhole: true })
      await page.route(/calendar\?.*asOf/, (route) =>
        route.fulfill({ status: 410, json: { code: 'HISTORY_EXPIRED', title: 'No longer kept', requestId: 'req_1' } }),
      )
      await slider(page).focus()
      await page.keyboard.press('Home')
      await page.getByText('This unit’s history does not go back that far').waitFor()
      const overflow = await page.locator('html').evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)
      expect(overflow).toBe(0)
      await page.getByRole('button', { name: 'Back to now' }).click()
      await page.getByRole('grid', { name: 'Nights now' }).waitFor()
    })
  })
})
