/** What one does with a stay in the calendar, and what partners and colleagues see of it. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import type { Locator, Page } from 'playwright-core'
import { isoOf } from '../../src/page/format/days.ts'
import {
  describeInBrowser,
  expectAccessible,
  FAR_FROM_MIDNIGHT,
  openPortalInBrowser,
  type PortalInBrowser,
  signInWithToken,
  snapshot,
} from '../support/browser.ts'
import { bar, cell, drag } from '../support/calendar-page.ts'
import { eventually } from '../support/eventually.ts'

const HOUR_MS = 3_600_000
const A = '/portal/v1/agencies/demo'

const today = (): number =>
  Date.parse(new Intl.DateTimeFormat('en-CA', { timeZone: FAR_FROM_MIDNIGHT, dateStyle: 'short' }).format()) /
  86_400_000

interface Booking {
  readonly id: string
  readonly unitSlug: string
  readonly arrival: string
  readonly departure: string
  readonly status: string
  readonly totalAmount: number
  readonly holdExpiresAt: string | null
  readonly expectedUntil?: string | null
  readonly cancelReason: string | null
}

describeInBrowser('a stay in the calendar', () => {
  let portal: PortalInBrowser
  /** A unit of its own for each test, so that all its nights are free. */
  let unit: { slug: string; name: string }
  let units = 0
  beforeAll(async () => {
    portal = await openPortalInBrowser({}, FAR_FROM_MIDNIGHT)
  })
  afterAll(() => portal.close())
  beforeEach(async () => {
    units += 1
    // At the top of the chart.
    unit = { slug: `aaa-${units}`, name: `AAA ${String.fromCharCode(90 - units)}` }
    await agency('/units', 'POST', { ...unit, basePrice: 10_000, cleaningFee: 4_000 })
  })

  const call = (path: string, token: string, method: string, json: object | undefined) =>
    portal.service.ask(path, { token, method, ...(json === undefined ? {} : { json }) })
  async function agency(path: string, method = 'GET', body?: object) {
    const answer = await call(`${A}${path}`, portal.database.tokens.owner, method, body)
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  /** The status of the partner's attempt to book nights of the unit. */
  const partnerBooks = async (arrival: number, departure: number): Promise<number> => {
    const stay = { unit: unit.slug, arrival: isoOf(arrival), departure: isoOf(departure), adults: 2 }
    const guest = { firstName: 'Partner', lastName: 'Guest' }
    return (await call('/partner/v1/bookings', portal.database.key, 'POST', { ...stay, guest })).status
  }
  const asPartnersSee = async (id: string): Promise<Booking> =>
    (await call(`/partner/v1/bookings/${id}`, portal.database.key, 'GET', undefined)).body.booking
  const asColleaguesSee = async (id: string): Promise<Booking> => (await agency(`/bookings/${id}`)).booking

  async function book(arrival: number, nights: number, lastName: string, more: object = {}): Promise<Booking> {
    const stay = { unit: unit.slug, arrival: isoOf(arrival), departure: isoOf(arrival + nights) }
    return (await agency('/bookings', 'POST', { ...stay, guest: { firstName: 'Test', lastName }, ...more })).booking
  }

  /** Opens the calendar with the stay's details. */
  async function visit(
    stay: Booking,
    test: (page: Page, panel: Locator) => Promise<void>,
    options: { as?: 'viewer'; mayFail?: boolean } = {},
  ): Promise<void> {
    const from = isoOf(Date.parse(stay.arrival) / 86_400_000 - 3)
    const at = `#/calendar?from=${from}&zoom=month&booking=${stay.id}`
    await portal.visit({ as: 'desk', at, keepsMessages: true, ...options }, async (page) => {
      const panel = page.getByRole('dialog')
      await panel.getByRole('link', { name: 'Booking page' }).waitFor()
      await test(page, panel)
    })
  }

  test('a hold that is confirmed is confirmed for partners too, and does not expire', async () => {
    const hold = await book(today() + 20, 3, 'Confirm', { status: 'option' })
    await visit(hold, async (page, panel) => {
      await panel.getByText('left', { exact: false }).first().waitFor()
      await panel.getByRole('button', { name: 'Confirm' }).click()
      await page.getByText('Confirmed: Test Confirm').waitFor()
      await panel.getByText('Confirmed', { exact: true }).waitFor()
      expect(await bar(page, 'Test Confirm').getAttribute('aria-label')).toContain('guest stay, confirmed')
    })
    expect(await asPartnersSee(hold.id)).toMatchObject({ status: 'confirmed', holdExpiresAt: null })
  })

  test('a hold that is extended lasts as long as was chosen', async () => {
    const hold = await book(today() + 20, 3, 'Extend', { status: 'option', holdHours: 2 })
    await visit(hold, async (page, panel) => {
      await panel.getByRole('button', { name: 'Extend hold…' }).click()
      await panel.getByLabel('New expiry').selectOption('7 days from now')
      await panel.getByRole('button', { name: 'Extend hold', exact: true }).click()
      await page.getByText('Hold extended: Test Extend').waitFor()
      await panel.getByText('7 d').or(panel.getByText('6 d')).first().waitFor()
    })
    const { holdExpiresAt } = await asPartnersSee(hold.id)
    expect(Math.abs(Date.parse(holdExpiresAt ?? '') - Date.now() - 168 * HOUR_MS)).toBeLessThan(HOUR_MS)
  })

  test('a draft looks like no hold, and says what it is', async () => {
    const draft = await book(today() + 20, 3, 'Draft', { status: 'draft' })
    await visit(draft, async (page, panel) => {
      await panel.getByText('Draft', { exact: true }).waitFor()
      const drawn = bar(page, 'Test Draft')
      expect(await drawn.getAttribute('class')).toMatch(/chart-bar-draft(?!.*chart-bar-hold)/)
      expect(await drawn.getAttribute('aria-label')).toContain('guest stay, draft')
    })
  })

  test('a guest who arrives is checked in, and one who leaves on the booked day is checked out with one click each', async () => {
    const arriving = await book(today(), 2, 'Arriving')
    await visit(arriving, async (page, panel) => {
      await panel.getByRole('button', { name: 'Check in' }).click()
      await page.getByText('Checked in: Test Arriving').waitFor()
      expect(await bar(page, 'Test Arriving').getAttribute('aria-label')).toContain('checked in')
    })
    expect((await asPartnersSee(arriving.id)).status).toBe('checked_in')
    const leaving = await book(today() - 3, 3, 'Leaving', { status: 'checked_in' })
    await visit(leaving, async (page, panel) => {
      await panel.getByRole('button', { name: 'Check out', exact: true }).click()
      await page.getByText('Checked out: Test Leaving').waitFor()
    })
    const { arrival, departure, totalAmount } = leaving
    expect(await asPartnersSee(leaving.id)).toMatchObject({ status: 'checked_out', arrival, departure, totalAmount })
  })

  test('a guest who leaves early frees the nights that are left, at the new price if that is chosen', async () => {
    const stay = await book(today() - 2, 6, 'Early', { status: 'checked_in' })
    expect(await partnerBooks(today() + 1, today() + 3)).toBe(409)
    const shorter = { status: 'checked_out', departure: isoOf(today()) }
    const { totalAmount } = (await agency(`/bookings/${stay.id}?dryRun=true`, 'PATCH', shorter)).booking
    await visit(stay, async (page, panel) => {
      await panel.getByRole('button', { name: 'Check out early…' }).click()
      await panel.getByRole('group', { name: '4 nights left' }).waitFor()
      await panel.getByLabel('Keep the price').waitFor()
      await expectAccessible(page)
      await snapshot(page, 'calendar-check-out-early')
      await panel.getByLabel(`New price: €${(totalAmount / 100).toFixed(2)}`).check()
      await panel.getByRole('button', { name: 'Check out now' }).click()
      await page.getByText('Checked out: Test Early').waitFor()
    })
    expect(totalAmount).toBeLessThan(stay.totalAmount)
    expect(await asPartnersSee(stay.id)).toMatchObject({ ...shorter, totalAmount })
    expect(await partnerBooks(today() + 1, today() + 3)).toBe(201)
  })

  test('a guest who leaves early may keep dates and price', async () => {
    const stay = await book(today() - 2, 6, 'Unchanged', { status: 'checked_in' })
    await visit(stay, async (page, panel) => {
      await panel.getByRole('button', { name: 'Check out early…' }).click()
      await panel.getByLabel('Keep the booked dates').check()
      expect(await panel.getByLabel('New price').count()).toBe(0)
      await panel.getByRole('button', { name: 'Check out now' }).click()
      await page.getByText('Checked out: Test Unchanged').waitFor()
    })
    const { departure, totalAmount } = stay
    expect(await asPartnersSee(stay.id)).toMatchObject({ status: 'checked_out', departure, totalAmount })
  })

  test('an expected extension keeps partners out of its nights until it is cleared', async () => {
    const stay = await book(today() - 1, 3, 'Staying', { status: 'checked_in' })
    await visit(stay, async (page, panel) => {
      await panel.getByRole('button', { name: 'Expected extension…' }).click()
      await panel.getByLabel('Expected to stay until').fill(isoOf(today() + 5))
      await panel.getByRole('button', { name: 'Save extension' }).click()
      await page.getByText('Expected extension saved: Test Staying').waitFor()
      const extension = page.locator('.chart-row').first().locator('.chart-bar-extension')
      await extension.waitFor()
      expect((await asColleaguesSee(stay.id)).expectedUntil).toBe(isoOf(today() + 5))
      expect(await partnerBooks(today() + 2, today() + 4)).toBe(409)
      await panel.getByRole('button', { name: 'Expected extension…' }).click()
      await panel.getByRole('button', { name: 'Clear extension' }).click()
      await page.getByText('No longer expected to extend: Test Staying').waitFor()
      await extension.waitFor({ state: 'detached' })
    })
    expect((await asColleaguesSee(stay.id)).expectedUntil).toBeNull()
    expect(await partnerBooks(today() + 2, today() + 4)).toBe(201)
  })

  test('the history of a stay is read when it is opened, newest first, also by viewers', async () => {
    const stay = await book(today() + 20, 3, 'History', { status: 'option' })
    await agency(`/bookings/${stay.id}`, 'PATCH', { status: 'confirmed' })
    await agency(`/bookings/${stay.id}`, 'PATCH', { departure: isoOf(today() + 25) })
    await visit(
      stay,
      async (page, panel) => {
        let isAway = true
        // A connection that is lost would be tried again by itself.
        await page.route('**/history', (route) =>
          isAway
            ? route.fulfill({ status: 503, json: { code: 'UNAVAILABLE', title: 'In a moment.' } })
            : route.continue(),
        )
        await panel.getByText('History', { exact: true }).click()
        await panel.getByText('In a moment.').waitFor()
        isAway = false
        await panel.getByRole('button', { name: 'Try again' }).click()
        await panel.getByText('The agency put the nights on hold').waitFor()
        const said = await panel.locator('.history-text').allTextContents()
        expect(said).toEqual([
          expect.stringMatching(/^The agency changed its datesStay.* is now→ .*Price€\S+ is now→ €/),
          expect.stringMatching(/^The agency confirmed itStatusHold is now→ Confirmed/),
          expect.stringMatching(/^The agency put the nights on holdUnitAAA .Stay.*Price€/),
        ])
        await expectAccessible(page)
        await snapshot(page, 'calendar-history')
        await page.route('**/history', (route) => route.fulfill({ json: { history: [] } }))
        await agency(`/bookings/${stay.id}`, 'PATCH', { status: 'checked_in' })
        await panel.getByText('Earlier changes are no longer kept.').waitFor()
      },
      { as: 'viewer', mayFail: true },
    )
  })

  test('a stay that is cancelled is gone, its nights are free, and partners read the reason', async () => {
    const stay = await book(today() + 20, 3, 'Cancel')
    await visit(stay, async (page, panel) => {
      await panel.getByRole('button', { name: 'Cancel stay…' }).click()
      await panel.getByLabel('Reason').fill('The ferry does not run')
      await panel.getByRole('button', { name: 'Cancel stay now' }).click()
      await panel.waitFor({ state: 'detached' })
      await page.getByText('Stay cancelled: Test Cancel').waitFor()
      await bar(page, 'Test Cancel').waitFor({ state: 'detached' })
    })
    expect(await asPartnersSee(stay.id)).toMatchObject({ status: 'cancelled', cancelReason: 'The ferry does not run' })
    expect(await partnerBooks(today() + 20, today() + 23)).toBe(201)
  })

  test('a block that was made by mistake is taken back by Undo', async () => {
    const first = today() + 10
    await portal.visit(
      { as: 'desk', at: `#/calendar?from=${isoOf(first - 2)}&zoom=month`, keepsMessages: true },
      async (page) => {
        await page.getByRole('rowheader', { name: unit.name }).waitFor()
        await drag(page, await cell(page, unit.name, first), await cell(page, unit.name, first + 3))
        const panel = page.getByRole('dialog')
        await panel.getByText('Block', { exact: true }).click()
        await panel.getByRole('button', { name: 'Block nights' }).click()
        await page.getByText('Block added').waitFor()
        expect(await partnerBooks(first, first + 2)).toBe(409)
        const { bookings } = await agency(`/bookings?unit=${unit.slug}&type=block`)
        expect(bookings).toMatchObject([{ status: 'confirmed', arrival: isoOf(first), departure: isoOf(first + 3) }])
        await page.getByRole('button', { name: 'Undo' }).click()
        await page.getByText('Block removed').waitFor()
        expect((await asColleaguesSee(bookings[0].id)).status).toBe('cancelled')
      },
    )
    expect(await partnerBooks(first, first + 2)).toBe(201)
  })

  test('a move is taken back by Undo, even while the details of another stay are open', async () => {
    const first = today() + 10
    const moved = await book(first, 2, 'Moved')
    const other = await book(first + 6, 2, 'Other')
    await portal.visit(
      { as: 'desk', at: `#/calendar?from=${isoOf(first - 2)}&zoom=month`, keepsMessages: true },
      async (page) => {
        await bar(page, 'Test Moved').waitFor()
        await drag(page, await cell(page, unit.name, first + 1), await cell(page, unit.name, first + 4))
        await page.getByRole('dialog').getByRole('button', { name: 'Change dates' }).click()
        await page.getByText('Test Moved moved').waitFor()
        await eventually('the move is stored', async () => (await asPartnersSee(moved.id)).arrival !== moved.arrival)
        await bar(page, 'Test Other').click()
        const panel = page.getByRole('dialog', { name: 'Test Other' })
        await panel.waitFor()
        await page.getByRole('button', { name: 'Undo' }).click()
        await page.getByText('Test Moved is back where it was.').waitFor()
        // The details stay open.
        await panel.waitFor()
        await expectAccessible(page)
      },
    )
    const { arrival, departure, totalAmount, unitSlug } = moved
    expect(await asPartnersSee(moved.id)).toMatchObject({ arrival, departure, totalAmount, unitSlug })
    expect((await asPartnersSee(other.id)).arrival).toBe(other.arrival)
  })

  /** Opens the calendar at the stay, drags it three days further, and waits for the question whether to change it. */
  async function dragged(
    stay: Booking,
    confirm: (page: Page, dialog: Locator) => Promise<void>,
    options: { mayFail?: boolean } = {},
  ): Promise<void> {
    const first = Date.parse(stay.arrival) / 86_400_000
    const at = `#/calendar?from=${isoOf(first - 2)}&zoom=month`
    await portal.visit({ as: 'desk', at, keepsMessages: true, ...options }, async (page) => {
      await page.locator('.chart-row .chart-bar').first().waitFor()
      await drag(page, await cell(page, unit.name, first + 1), await cell(page, unit.name, first + 4))
      const dialog = page.getByRole('dialog', { name: 'Change dates' })
      await dialog.waitFor()
      await confirm(page, dialog)
    })
  }
  /** Holds the next change of a booking up, dry runs excepted, until `refuse` is called. */
  async function refusesLater(page: Page): Promise<{ pending: Promise<void>; refuse: () => void }> {
    const pending = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<void>()
    await page.route(/\/bookings\/[^/?]+$/, async (route) => {
      if (route.request().method() !== 'PATCH') return route.continue()
      pending.resolve()
      await answer.promise
      await route.fulfill({ status: 409, json: { code: 'BOOKING_CONFLICT', title: 'These nights are taken.' } })
    })
    return { pending: pending.promise, refuse: answer.resolve }
  }

  test('a stay that is cancelled while its move is being confirmed is not moved: that is said, and others still open', async () => {
    const gone = await book(today() + 30, 2, 'Gone')
    await book(today() + 40, 2, 'Staying')
    await dragged(gone, async (page, dialog) => {
      await agency(`/bookings/${gone.id}/cancel`, 'POST', {})
      await page.getByText('Test Gone was not moved: it is no longer in the calendar.').waitFor()
      await dialog.waitFor({ state: 'detached' })
      await bar(page, 'Test Staying').click()
      await page.getByRole('dialog', { name: 'Test Staying' }).waitFor()
    })
  })

  test('a move that is refused after the calendar was left is told on the next screen', async () => {
    const stay = await book(today() + 30, 2, 'Left')
    await dragged(
      stay,
      async (page, dialog) => {
        const { pending: requests, refuse } = await refusesLater(page)
        await dialog.getByRole('button', { name: 'Change dates' }).click()
        await requests
        await page.getByRole('link', { name: 'Bookings', exact: true }).click()
        await page.getByRole('heading', { name: 'Bookings', exact: true }).waitFor()
        refuse()
        await page.getByText('Test Left was not moved: These nights are taken.').waitFor()
      },
      { mayFail: true },
    )
  })

  test('a move that is refused while a new booking is typed leaves what was typed', async () => {
    const stay = await book(today() + 30, 2, 'Refused')
    await dragged(
      stay,
      async (page, dialog) => {
        const { pending: requests, refuse } = await refusesLater(page)
        await dialog.getByRole('button', { name: 'Change dates' }).click()
        await requests
        await drag(page, await cell(page, unit.name, today() + 40), await cell(page, unit.name, today() + 42))
        await page.getByLabel('First name').fill('Inês')
        refuse()
        await page.getByText('Test Refused was not moved: These nights are taken.').waitFor()
        expect(await page.getByLabel('First name').inputValue()).toBe('Inês')
      },
      { mayFail: true },
    )
  })

  test('a move for which one has to sign in again can be confirmed once more after that', async () => {
    const stay = await book(today() + 30, 2, 'Again')
    await dragged(
      stay,
      async (page, dialog) => {
        await page.route(/\/bookings\/[^/?]+$/, (route) => route.fulfill({ status: 401, json: { title: 'No' } }), {
          times: 1,
        })
        await dialog.getByRole('button', { name: 'Change dates' }).click()
        const ended = page.getByRole('dialog', { name: 'Your session has ended' })
        await signInWithToken(ended, portal.database.tokens.desk)
        await ended.waitFor({ state: 'detached' })
        await dialog.getByRole('button', { name: 'Change dates' }).click()
        await page.getByText('Test Again moved').waitFor()
      },
      { mayFail: true },
    )
    expect((await asPartnersSee(stay.id)).arrival).toBe(isoOf(today() + 33))
  })

  test('a change can only be confirmed while its own price is shown, and that can be asked for again', async () => {
    const stay = await book(today() + 30, 2, 'Priced')
    await dragged(
      stay,
      async (page, dialog) => {
        const button = dialog.getByRole('button', { name: 'Change dates' })
        await eventually('the first price is there', () => button.isEnabled())
        const pending = Promise.withResolvers<void>()
        const answered = Promise.withResolvers<void>()
        await page.route(
          '**/bookings/*?dryRun=true',
          async (route) => {
            pending.resolve()
            await answered.promise
            await route.fulfill({ status: 503, json: { code: 'UNAVAILABLE', title: 'In a moment.' } })
          },
          { times: 1 },
        )
        await dialog.getByText('Other dates or another unit').click()
        await dialog.getByLabel('Departure').fill(isoOf(today() + 39))
        await pending.promise
        expect(await button.isDisabled()).toBe(true)
        answered.resolve()
        await dialog.getByText('In a moment.').waitFor()
        expect(await button.isDisabled()).toBe(true)
        await dialog.getByRole('button', { name: 'Try again' }).click()
        await button.click()
        await page.getByText('Test Priced moved').waitFor()
      },
      { mayFail: true },
    )
    expect((await asPartnersSee(stay.id)).departure).toBe(isoOf(today() + 39))
  })

  test('a unit that gets another slug keeps its stays and has one row', async () => {
    await book(today() + 30, 2, 'Renamed')
    await portal.visit({ as: 'desk', at: `#/calendar?from=${isoOf(today() + 28)}&zoom=month` }, async (page) => {
      await bar(page, 'Test Renamed').waitFor()
      await agency(`/units/${unit.slug}`, 'PATCH', { slug: `${unit.slug}-new`, name: `${unit.name} new` })
      await page.getByRole('rowheader', { name: `${unit.name} new` }).waitFor()
      await page.getByRole('rowheader', { name: unit.name, exact: true }).waitFor({ state: 'detached' })
      await bar(page, 'Test Renamed').click()
      await page.getByRole('dialog', { name: 'Test Renamed' }).getByText(`${unit.name} new`).waitFor()
    })
  })
})
