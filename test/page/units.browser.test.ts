import { afterAll, beforeAll, expect, test } from 'bun:test'
import {
  describeInBrowser,
  expectAccessible,
  openPortalInBrowser,
  PHONE,
  type PortalInBrowser,
  snapshot,
} from '../support/browser.ts'

describeInBrowser('units', () => {
  let portal: PortalInBrowser
  beforeAll(async () => {
    portal = await openPortalInBrowser()
  })
  afterAll(() => portal.close())

  const partnerUnits = async () => {
    const { body } = await portal.service.ask('/partner/v1/units', { token: portal.database.key })
    return (body.units as { slug: string; name: string; bedrooms: number }[]) ?? []
  }
  const partnerUnit = async (slug: string) => (await partnerUnits()).find((unit) => unit.slug === slug)

  test('a unit is added, edited, archived and brought back, and partners see it', async () => {
    await portal.visit({ as: 'manager', at: '#/units', keepsMessages: true }, async (page) => {
      await page.getByRole('row', { name: /Alfama Loft/ }).waitFor()
      await expectAccessible(page)
      await snapshot(page, 'units')
      await page.getByRole('button', { name: 'Add unit' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('button', { name: 'Add unit' }).click()
      await dialog.getByText('Enter a name.').waitFor()
      await dialog.getByText('Enter a price.').waitFor()
      await dialog.getByLabel('Name', { exact: true }).fill('Alfama Loft')
      await dialog.getByLabel('Base price per night').fill('120')
      await dialog.getByLabel('Bedrooms').fill('2')
      await dialog.getByLabel('City').fill('Lisbon')
      await dialog.getByLabel('Registration number').fill('48213/AL')
      expect(await dialog.getByLabel('Slug').inputValue()).toBe('alfama-loft')
      await dialog.getByRole('button', { name: 'Add unit' }).click()
      await dialog.getByText('The slug alfama-loft is already in use').waitFor()
      await expectAccessible(page)
      await snapshot(page, 'new-unit')
      await dialog.getByLabel('Name', { exact: true }).fill('São Bento Attic')
      await dialog.getByRole('button', { name: 'Add unit' }).click()

      await page.getByRole('heading', { level: 1, name: 'São Bento Attic' }).waitFor()
      expect(page.url()).toEndWith('#/units/sao-bento-attic')
      await page.getByText('No seasons yet').waitFor()
      expect(await partnerUnit('sao-bento-attic')).toMatchObject({
        name: 'São Bento Attic',
        bedrooms: 2,
        registrationNumber: '48213/AL',
      })

      await page.getByRole('button', { name: 'Edit details' }).click()
      await dialog.getByLabel('Bedrooms').fill('3')
      await dialog.getByLabel('Registration number').fill('61907/AL')
      await dialog.getByRole('button', { name: 'Save unit' }).click()
      await page.getByText('São Bento Attic has been saved').waitFor()
      expect(await partnerUnit('sao-bento-attic')).toMatchObject({ bedrooms: 3, registrationNumber: '61907/AL' })
      await page.getByRole('link', { name: 'Details' }).click()
      await page.getByText('61907/AL').waitFor()

      await page.getByRole('button', { name: 'Archive' }).click()
      await page.getByRole('button', { name: 'Archive unit' }).click()
      await page.getByText('São Bento Attic is archived').waitFor()
      expect(await partnerUnit('sao-bento-attic')).toBeUndefined()
      await page.getByRole('button', { name: 'Undo' }).click()
      await page.getByText('São Bento Attic is active').waitFor()
      expect(await partnerUnit('sao-bento-attic')).toMatchObject({ bedrooms: 3 })
    })
  })

  test('the list finds units by name and place, and says what to do when none fits', async () => {
    await portal.visit({ as: 'viewer', at: '#/units', viewport: PHONE }, async (page) => {
      await page.getByText('Alfama Loft').waitFor()
      await page.getByLabel('Search').fill('graca')
      await page.getByText('Graça View').waitFor()
      expect(await page.getByText('Alfama Loft').count()).toBe(0)
      await page.getByLabel('Search').fill('nowhere')
      await page.getByText('No units match').waitFor()
      await page.getByRole('button', { name: 'Show all units' }).click()
      await page.getByText('Alfama Loft').waitFor()
      expect(await page.getByRole('button', { name: 'Add unit' }).count()).toBe(0)
    })
  })

  test("a calendar's address opens it until it is replaced, and is for managers", async () => {
    await portal.visit({ as: 'manager', at: '#/units/alfama-loft?tab=details' }, async (page) => {
      const address = page.locator('pre')
      await address.waitFor()
      const before = (await address.textContent()) ?? ''
      expect(await (await fetch(before)).text()).toContain('BEGIN:VCALENDAR')
      await expectAccessible(page)
      await snapshot(page, 'unit-details')
      await page.getByRole('button', { name: 'Replace address' }).click()
      await page.getByText('The old address stops working immediately.').waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'Replace address' }).click()
      await page.getByText('The old address no longer works.').waitFor()
      expect(await address.textContent()).not.toBe(before)
      expect((await fetch(before)).status).toBe(404)
      expect((await fetch((await address.textContent()) ?? '')).status).toBe(200)
    })
    await portal.visit({ as: 'desk', at: '#/units/alfama-loft?tab=details' }, async (page) => {
      await page.getByText('Only managers and owners can see the address').waitFor()
      expect(await page.locator('pre').count()).toBe(0)
    })
  })

  test('an address without a unit says so', async () => {
    await portal.visit({ as: 'viewer', at: '#/units/gone' }, async (page) => {
      await page.getByText('Unit not found').waitFor()
      await page.getByRole('link', { name: 'All units' }).click()
      await page.getByText('Alfama Loft').waitFor()
    })
  })
})
