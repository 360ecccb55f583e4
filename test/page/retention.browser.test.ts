import { afterAll, beforeAll, expect, test } from 'bun:test'
import {
  describeInBrowser,
  expectAccessible,
  openPortalInBrowser,
  PHONE,
  type PortalInBrowser,
  snapshot,
} from '../support/browser.ts'

describeInBrowser('data retention', () => {
  let portal: PortalInBrowser
  beforeAll(async () => {
    portal = await openPortalInBrowser()
  })
  afterAll(() => portal.close())

  test('an owner sees what is kept and why, and shortens it after a warning', async () => {
    await portal.visit({ as: 'owner', at: '#/retention' }, async (page) => {
      await page.getByLabel('Keep contact details for').waitFor()
      await page.getByText('They are not legal advice').waitFor()
      await expectAccessible(page)
      await snapshot(page, 'retention', { isWhole: true })
      const save = page.getByRole('button', { name: 'Save', exact: true })
      expect(await save.isDisabled()).toBe(true)

      await page.getByLabel('Keep bookings for').fill('0')
      await page.getByText('Enter a whole number from 1 to 100 years.').waitFor()
      expect(await save.isDisabled()).toBe(true)
      await snapshot(page, 'retention-invalid', { isWhole: true })
      await page.getByLabel('Keep bookings for').fill('12')
      await page.getByLabel('Keep contact details for').fill('24')
      await save.click()
      const dialog = page.getByRole('dialog', { name: 'Keep data for a shorter time?' })
      await dialog.getByText('Guests: 24 instead of 36 months').waitFor()
      expect(await dialog.getByText('Bookings:').count()).toBe(0)
      await expectAccessible(page)
      await snapshot(page, 'retention-shorter')
      await dialog.getByRole('button', { name: 'Keep for a shorter time' }).click()
      await page.getByText('Data retention has been saved').waitFor()
      // Save is disabled once the fields equal the reloaded values.
      await page.getByRole('button', { name: 'Save', exact: true, disabled: true }).waitFor()
      await page.getByText('Default: 36 months').waitFor()

      // Longer again: nothing is lost by it, so nobody is asked.
      await page.getByRole('button', { name: 'Use the defaults' }).click()
      await page.getByLabel('Keep bookings for').fill('15')
      await save.click()
      await page.getByText('Default: 10 years').first().waitFor()
      expect(await page.getByRole('dialog').count()).toBe(0)
    })
  })

  test('others can read it, also on a phone', async () => {
    await portal.visit({ as: 'desk', at: '#/retention', viewport: PHONE }, async (page) => {
      await page.getByText('changing it needs the role Owner').waitFor()
      await page.getByText('24 hours').waitFor()
      expect(await page.getByRole('button', { name: 'Save', exact: true }).count()).toBe(0)
      await expectAccessible(page)
      await snapshot(page, 'retention-read', { isWhole: true })
    })
  })

  test('a guest is kept beyond the time, and can be let go again', async () => {
    await portal.visit({ as: 'desk', at: '#/guests' }, async (page) => {
      await page.locator('table a').first().click()
      await page.getByText('As long as data retention says').waitFor()
      await page.getByRole('button', { name: 'Edit contact details' }).click()
      const keep = page.getByLabel('Keep these contact details')
      await keep.check()
      await expectAccessible(page)
      await snapshot(page, 'guest-keep')
      await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
      await page.getByText('Beyond the retention time').waitFor()
      await page.getByRole('button', { name: 'Edit contact details' }).click()
      await keep.uncheck()
      await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
      await page.getByText('As long as data retention says').waitFor()
    })
  })
})
