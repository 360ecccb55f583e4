import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import {
  describeInBrowser,
  expectAccessible,
  openPortalInBrowser,
  PHONE,
  type PortalInBrowser,
  snapshot,
} from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'

describeInBrowser('the sandbox', () => {
  let portal: PortalInBrowser
  beforeAll(async () => {
    portal = await openPortalInBrowser()
  })
  afterAll(() => portal.close())

  const strip = (page: Page) => page.getByRole('region', { name: 'Sandbox' })
  const open = async (page: Page) => {
    await page.locator('.account button').first().click()
    await page.getByRole('menuitem', { name: 'Sandbox' }).click()
    await strip(page).waitFor()
  }
  const timeOf = async (page: Page) => Date.parse((await strip(page).locator('time').getAttribute('datetime')) ?? '')
  const movedBy = async (page: Page, press: () => Promise<void>) => {
    const before = await timeOf(page)
    await press()
    await eventually('the time has moved', async () => (await timeOf(page)) > before)
    return (await timeOf(page)) - before
  }

  test('has a strip with its time, which moves by an hour, a day, and to the next event', async () => {
    await portal.visit({ as: 'owner', at: '#/bookings' }, async (page) => {
      await open(page)
      await page.getByText('(sandbox)').first().waitFor()
      await expectAccessible(page)
      await snapshot(page, 'sandbox')
      const hour = () => strip(page).getByRole('button', { name: '+1 hour' }).click()
      expect(await movedBy(page, hour)).toBe(3_600_000)
      const day = () => strip(page).getByRole('button', { name: '+1 day' }).click()
      expect(await movedBy(page, day)).toBe(86_400_000)
      const next = () => strip(page).getByRole('button', { name: 'To the next event' }).click()
      const ms = await movedBy(page, next)
      // The invented holds last as long as the agency's do: 48 hours.
      expect(ms).toBe(48 * 3_600_000 - 3_600_000 - 86_400_000)
    })
  })

  test('is where a reload leaves it, makes keys for tests, and is left again', async () => {
    await portal.visit({ as: 'owner', at: '#/keys' }, async (page) => {
      await open(page)
      await page.reload()
      await strip(page).waitFor()
      await page.getByRole('button', { name: 'Create key' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name').fill('Test')
      await dialog.getByRole('button', { name: 'Create key' }).click()
      const secret = await page.getByRole('dialog', { name: 'Test is ready' }).locator('pre').first().textContent()
      expect(secret).toStartWith('hr_test_')
      await page.getByRole('button', { name: 'I have stored it' }).click()
      await strip(page).getByRole('button', { name: 'Leave' }).click()
      await strip(page).waitFor({ state: 'detached' })
      expect(await page.getByText('(sandbox)').count()).toBe(0)
    })
  })

  test('is made new after a question, and its time is the present', async () => {
    await portal.visit({ as: 'owner', at: '#/calendar' }, async (page) => {
      await open(page)
      // "Today" is the sandbox's.
      const day = new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/Lisbon', day: 'numeric' }).format(
        await timeOf(page),
      )
      await snapshot(page, 'sandbox-calendar')
      const isToday = async () =>
        (await page.locator('[aria-current="date"]').first().textContent())?.includes(day) === true
      await eventually('today is that of the sandbox', isToday)
      await strip(page).getByRole('button', { name: 'Reset' }).click()
      const dialog = page.getByRole('dialog', { name: 'Reset the sandbox?' })
      await expectAccessible(page)
      await snapshot(page, 'sandbox-reset')
      await dialog.getByRole('button', { name: 'Reset' }).click()
      await page.getByText('The sandbox is new.').waitFor()
      expect(Math.abs((await timeOf(page)) - Date.now())).toBeLessThan(86_400_000)
    })
  })

  test('is not offered to a manager', async () => {
    await portal.visit({ as: 'manager', at: '#/bookings' }, async (page) => {
      await page.locator('.account button').first().click()
      await page.getByRole('menuitem', { name: 'Sign out' }).waitFor()
      expect(await page.getByRole('menuitem', { name: 'Sandbox' }).count()).toBe(0)
    })
  })

  test('fits a phone', async () => {
    await portal.visit({ as: 'owner', at: '#/bookings', viewport: PHONE }, async (page) => {
      await page.getByRole('button', { name: 'More' }).click()
      await page.getByRole('button', { name: 'Sandbox', exact: true }).click()
      await strip(page).waitFor()
      await snapshot(page, 'sandbox-phone')
    })
  })
})
