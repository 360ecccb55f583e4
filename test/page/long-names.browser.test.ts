import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { describeInBrowser, openPortalInBrowser, PHONE, type PortalInBrowser } from '../support/browser.ts'

const A = '/portal/v1/agencies/demo'
/** Longer than a phone is wide, in a heading as well. */
const WORD = 'Donaudampfschifffahrtsgesellschaftskapitänswitwenhaus'
const TABLET = { width: 1024, height: 768 }
const UPRIGHT = { width: 820, height: 1180 }

describeInBrowser('names of one long word', () => {
  let portal: PortalInBrowser
  let booking: { id: string; guest: { id: string } }
  beforeAll(async () => {
    portal = await openPortalInBrowser()
    const token = portal.database.tokens.owner
    const create = async (path: string, json: object) => {
      const { status, body } = await portal.service.ask(`${A}${path}`, { token, json })
      expect(status).toBe(201)
      return body
    }
    const unit = { slug: 'long', name: `${WORD} 1`, basePrice: 123_456_789, cleaningFee: 1_234_567, city: WORD }
    await create('/units', unit)
    await create('/fee-types', { label: WORD, kind: 'fixed', amount: 1_234_567 })
    const guest = { firstName: 'Eva', lastName: WORD, email: `${'a'.repeat(60)}@${'b'.repeat(60)}.example` }
    const stay = { unit: 'long', arrival: '2029-03-05', departure: '2029-03-09', sourceRef: 'R'.repeat(100) }
    booking = (await create('/bookings', { ...stay, guest })).booking as typeof booking
  })
  afterAll(() => portal.close())

  /** Amounts and buttons that reach beyond their card, where nobody sees them. */
  const cutOff = (page: Page) =>
    page
      .locator('.card:has(td)')
      .evaluateAll((cards) =>
        cards.flatMap((card) =>
          [...card.querySelectorAll('td')]
            .filter((cell) => cell.getBoundingClientRect().right > card.getBoundingClientRect().right + 1)
            .map((cell) => cell.textContent),
        ),
      )
  const width = (page: Page) => page.locator('html').evaluate(({ scrollWidth }) => scrollWidth)

  test.each([PHONE, UPRIGHT, TABLET])(
    'neither widen a page of $width px nor push amounts out of sight',
    async (viewport) => {
      await portal.visit({ as: 'owner', viewport, at: '#/overview' }, async (page) => {
        for (const at of [
          'fees',
          'guests',
          'units',
          'units/long',
          'bookings?search=Donau',
          `bookings/${booking.id}`,
          `guests/${booking.guest.id}`,
        ]) {
          await page.goto(`${portal.service.baseUrl}/portal/#/${at}`)
          await page.locator('main').getByText(WORD).filter({ visible: true }).first().waitFor()
          // Prices come after the names.
          if (/^fees|\/bkg/.test(at)) await page.locator('.quote-lines tfoot td').waitFor()
          const seen = { at, width: await width(page), cutOff: await cutOff(page) }
          expect(seen).toEqual({ at, width: viewport.width, cutOff: [] })
        }
      })
    },
  )
})
