import { afterAll, beforeAll, expect, test } from 'bun:test'
import {
  describeInBrowser,
  expectAccessible,
  openPortalInBrowser,
  type PortalInBrowser,
  snapshot,
} from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'

const A = '/portal/v1/agencies/demo'

/** What a busy agency is answered with. */
const BUSY_DAYS = Array.from({ length: 20 }, (_, i) => ({
  day: new Date(Date.UTC(2026, 10, 22 - i)).toISOString().slice(0, 10),
  used: i === 9 ? 2_750 : 700 + ((i * 397) % 900),
}))
const BUSY_USED = 4_000 + BUSY_DAYS.reduce((sum, { used }) => sum + used, 0)
const BUSY = {
  usage: [
    {
      month: '2026-11',
      used: BUSY_USED,
      quota: 50_000,
      remaining: 50_000 - BUSY_USED,
      resetsAt: '2026-12-01T00:00:00.000Z',
    },
    { month: '2026-10', used: 31_250, quota: null, remaining: null, resetsAt: null },
  ],
  page: 1,
  pageSize: 12,
  totalItems: 2,
  pageCount: 1,
  days: BUSY_DAYS,
}

describeInBrowser('audit and usage', () => {
  let portal: PortalInBrowser
  beforeAll(async () => {
    portal = await openPortalInBrowser()
  })
  afterAll(() => portal.close())

  const ask = (path: string, json: object, method = 'POST') =>
    portal.service.ask(`${A}${path}`, { json, method, token: portal.database.tokens.desk })

  test('it tells in words who did what, and what was refused and why; the filters are in the address', async () => {
    const stay = { unit: 'alfama-loft', arrival: '2028-03-01', departure: '2028-03-05' }
    const { booking } = (await ask('/bookings', stay)).body
    await ask(`/bookings/${booking.id}`, { unit: 'graca-view' }, 'PATCH')
    expect((await ask('/bookings', { ...stay, unit: 'graca-view' })).status).toBe(409)
    expect((await ask('/keys', {})).status).toBe(403)
    await portal.visit({ as: 'viewer', at: '#/audit' }, async (page) => {
      await page.getByText('Tried to create an API key, but the role does not allow it').waitFor()
      await page.getByText('Tried to make a booking, but the nights were already booked').waitFor()
      const moved = page.getByRole('row', { name: 'Moved a booking to another unit' })
      await moved.getByText('Unit: Alfama Loft → Graça View').waitFor()
      await expectAccessible(page)
      await snapshot(page, 'audit')

      await page.getByLabel('Outcome').selectOption('Nights taken')
      await page.getByText('1 entry').waitFor()
      expect(page.url()).toContain('outcome=BOOKING_CONFLICT')
      await page.getByLabel('Who').selectOption('Demo viewer (token)')
      await page.getByText('No entries match').waitFor()
      const clear = page.getByRole('button', { name: 'Clear all filters' })
      await clear.click()
      await clear.waitFor({ state: 'detached' })
      await page.getByLabel('Who').selectOption('Demo desk (token)')
      await page.getByText('4 entries').waitFor()

      await page.goto(`${portal.service.baseUrl}/portal/#/audit?booking=${booking.id}`)
      await page.getByText('Only entries about').waitFor()
      await page.getByText('2 entries').waitFor()
      await page
        .getByRole('link', { name: /^Graça View, 1 – 5 Mar 2028$/ })
        .first()
        .click()
      await page.getByRole('heading', { name: 'History' }).waitFor()
    })
  })

  test('a partner’s requests are counted against the quota of the month', async () => {
    for (let i = 0; i < 3; i++) await portal.service.ask('/partner/v1/units', { token: portal.database.key })
    await portal.visit({ as: 'viewer', at: '#/audit?tab=usage' }, async (page) => {
      await page.getByText('Requests by month').first().waitFor()
      await eventually('the requests are shown', async () => {
        await page.reload()
        const shown = await page.getByText(/^\d+ of 50,000 requests/).textContent()
        return Number.parseInt(shown ?? '', 10) >= 3
      })
      const days = page.getByRole('table', { name: 'Requests by day' }).getByRole('row')
      expect(await days.count()).toBe(1 + 35)
      expect(Number.parseInt((await days.last().getByRole('cell').textContent()) ?? '', 10)).toBeGreaterThanOrEqual(3)
      await page.getByText('requests every day would use up the month’s quota of 50,000').waitFor()
      await expectAccessible(page)
      await snapshot(page, 'usage')
    })
  })

  test('days that come near what the quota allows a day are compared with it, and what has no day is said', async () => {
    await portal.visit({ as: 'viewer', at: '#/audit?tab=usage' }, async (page) => {
      await page.route('**/usage?*', (route) => route.fulfill({ json: BUSY }))
      await page.reload()
      await page.getByText('Dashed line: 1,666 requests every day would use up the month’s quota').waitFor()
      await page.getByText('4,000 requests of this month were made before they were counted by day').waitFor()
      await expectAccessible(page)
      await snapshot(page, 'usage-busy')
    })
  })
})
