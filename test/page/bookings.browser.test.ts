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

const A = '/portal/v1/agencies/demo'
/** Far beyond the demo's own stays. */
const STAY = { unit: 'alfama-loft', arrival: '2028-03-01', departure: '2028-03-05' }

describeInBrowser('bookings', () => {
  let portal: PortalInBrowser
  beforeAll(async () => {
    portal = await openPortalInBrowser()
  })
  afterAll(() => portal.close())

  /** Calls the portal API as a colleague does. */
  const ask = async (path: string, json?: object, method = json === undefined ? 'GET' : 'POST') => {
    const { status, body } = await portal.service.ask(`${A}${path}`, {
      ...(json === undefined ? {} : { json }),
      ...{ method, token: portal.database.tokens.desk },
    })
    expect([path, status < 300]).toEqual([path, true])
    return body
  }
  const book = async (stay: object) => (await ask('/bookings', { ...STAY, ...stay })).booking
  const open = async (page: Page, id: string) => {
    await page.goto(`${portal.service.baseUrl}/portal/#/bookings/${id}`)
    await page.getByRole('heading', { name: 'History' }).waitFor()
  }

  test('look', async () => {
    await portal.visit({ as: 'desk', at: '#/bookings' }, async (page) => {
      await page.getByText('Newest arrival first').waitFor()
      await snapshot(page, 'bookings')
      const b = await book({
        status: 'option',
        guest: { firstName: 'Ada', lastName: 'Byron', email: 'ada@example.com', phone: '+351 21 000 0000' },
        notes: 'Arrives late, leave the key with the porter.\nAllergic to feathers.',
        sourceRef: 'ADA-77',
        children: 1,
        extraBed: true,
      })
      await ask(`/bookings/${b.id}`, { departure: '2028-03-07' }, 'PATCH')
      await open(page, b.id)
      await page.getByText('moved').or(page.getByText('changed its dates')).first().waitFor()
      await snapshot(page, 'booking', { isWhole: true })
      await page.setViewportSize({ width: 1440, height: 900 })
      await page
        .getByRole('button', { name: 'Extend' })
        .or(page.getByRole('button', { name: 'More actions' }))
        .first()
        .click()
      await page.getByRole('menuitem', { name: 'Extend the hold' }).click()
      await snapshot(page, 'booking-hold')
      await page.getByRole('button', { name: 'Back' }).click()
      await page.setViewportSize({ width: 1440, height: 900 })
      await page.getByRole('button', { name: 'Change dates or unit' }).click()
      await ask(`/bookings/${b.id}`, { unit: 'baixa-studio', status: 'confirmed' }, 'PATCH')
      await page.getByLabel('Arrival').fill('2028-03-02')
      await page.getByRole('button', { name: 'Change the booking' }).click()
      await page.getByText('changed this booking').waitFor()
      await snapshot(page, 'booking-conflict')
      await expectAccessible(page)
    })
  }, 60000)
})
