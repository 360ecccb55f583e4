/** The first day of an agency as docs/agency-guide.md#the-first-day-with-the-page tells it, from an empty agency on. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { describeInBrowser, expectAccessible, openPortalInBrowser, type PortalInBrowser } from '../support/browser.ts'
import { addAuthenticator } from '../support/virtual-authenticator.ts'

describeInBrowser('the first day of an agency', () => {
  let portal: PortalInBrowser
  let link: string
  beforeAll(async () => {
    portal = await openPortalInBrowser()
    const agency = { slug: 'harbour', name: 'Harbour Stays', currency: 'EUR', timezone: 'Europe/Lisbon' }
    await portal.service.portal('/agencies', agency)
    const { body } = await portal.service.portal('/agencies/harbour/people', { name: 'Ines Costa', role: 'owner' })
    link = body.invitation.link
  })
  afterAll(() => portal.close())

  const open = async (page: Page, screen: string) => {
    await page.getByRole('link', { name: screen, exact: true }).first().click()
    await page.getByRole('heading', { level: 1, name: screen }).waitFor()
  }
  const dialog = (page: Page) => page.getByRole('dialog')

  test('from the link to the first booking of a partner', async () => {
    await portal.visit({ host: 'localhost', at: link.slice(link.indexOf('#')) }, async (page) => {
      await addAuthenticator(page)
      await page.getByRole('button', { name: 'Create passkey and sign in' }).click()
      await page.getByText('No units yet').waitFor()
      await expectAccessible(page)

      // Add a unit and set its prices.
      await open(page, 'Units and rates')
      await page.getByRole('button', { name: 'Add unit' }).first().click()
      await dialog(page).getByLabel('Name').fill('Sea View')
      await dialog(page).getByLabel('Base price per night').fill('120')
      await dialog(page).getByRole('button', { name: 'Add unit' }).click()
      await page.getByRole('heading', { level: 1, name: 'Sea View' }).waitFor()
      await page.getByRole('button', { name: 'Add season' }).click()
      await page.getByLabel('Name').fill('Summer')
      await page.getByLabel('First night').fill('2031-06-01')
      await page.getByLabel('Last night').fill('2031-08-31')
      await page.getByLabel('Price per night', { exact: true }).fill('180')
      await page.getByRole('button', { name: 'Save rates' }).click()
      await page.getByText('Rates saved.').waitFor()
      await open(page, 'Fees')
      await page.getByRole('button', { name: 'Add fee' }).first().click()
      await dialog(page).getByLabel('Name').fill('City tax')
      await dialog(page).getByLabel('Amount').fill('8')
      await dialog(page).getByRole('button', { name: 'Add fee' }).click()
      await page.getByText('City tax has been added').waitFor()

      // Take the first booking.
      await open(page, 'Calendar')
      const row = page.getByRole('row', { name: /Sea View/ }).last()
      const box = await row.boundingBox()
      const y = (box?.y ?? 0) + (box?.height ?? 0) / 2
      await page.mouse.move(760, y)
      await page.mouse.down()
      await page.mouse.move(900, y, { steps: 8 })
      await page.mouse.up()
      await dialog(page).getByLabel('First name').fill('Ana')
      await dialog(page).getByLabel('Last name').fill('Reis')
      await dialog(page).getByText('City tax').first().waitFor()
      await dialog(page)
        .getByRole('button', { name: /Create booking/ })
        .click()
      await page.getByText(/Ana Reis added/).waitFor()

      // Give a partner a key, and see what they book.
      await open(page, 'API keys')
      await page.getByRole('button', { name: 'Create key' }).first().click()
      await dialog(page).getByLabel('Name').fill('Website')
      await dialog(page).getByLabel('Make bookings').check()
      await dialog(page).getByRole('button', { name: 'Create key' }).click()
      const key = (await dialog(page).locator('pre').first().textContent()) ?? ''
      await dialog(page).getByRole('button', { name: 'I have stored it' }).click()
      const booked = await portal.service.ask('/partner/v1/bookings', {
        token: key,
        json: {
          unit: 'sea-view',
          arrival: '2031-06-10',
          departure: '2031-06-14',
          sourceRef: 'W-1',
          guest: { firstName: 'Nora', lastName: 'Lund', email: 'nora@example.com' },
        },
      })
      // Four nights of the season, and the fee.
      expect([booked.status, booked.body.booking.totalAmount]).toEqual([201, 4 * 18_000 + 800])
      await open(page, 'Bookings')
      await page.getByRole('row', { name: /Nora Lund/ }).waitFor()
      await open(page, 'Audit and usage')
      await page.getByRole('row', { name: /Made a booking.*Website/ }).waitFor()
      await page.getByRole('row', { name: /Signed in.*Ines Costa/ }).waitFor()

      // Invite the others.
      await open(page, 'People')
      await page.getByRole('button', { name: 'Add person' }).click()
      await dialog(page).getByLabel('Name').fill('Maria')
      await dialog(page).getByRole('button', { name: 'Add person' }).click()
      await dialog(page).getByText('Maria has been added').waitFor()
      await dialog(page).getByRole('button', { name: 'Done' }).click()
      await page.getByRole('row', { name: /Maria.*Desk.*Invited/ }).waitFor()
    })
  })
})
