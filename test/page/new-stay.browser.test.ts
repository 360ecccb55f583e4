/** A stay that is made in the calendar, when the service answers late, not at all, or something is missing. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import type { Locator, Page, Request } from 'playwright-core'
import { dayText, isoOf } from '../../src/page/format/days.ts'
import {
  beforeNextWrite,
  describeInBrowser,
  expectAccessible,
  openPortalInBrowser,
  type PortalInBrowser,
  snapshot,
} from '../support/browser.ts'
import { bar, boxOf, cell, drag } from '../support/calendar-page.ts'
import { eventually } from '../support/eventually.ts'

const A = '/portal/v1/agencies/demo'

/** Far enough ahead that the demo has nothing there. */
const FIRST = Math.floor(Date.now() / 86_400_000) + 420

const isDryRun = (request: Request) => request.url().includes('dryRun=true')
const isCreation = (request: Request) =>
  request.method() === 'POST' && request.url().endsWith(`${A}/bookings`) && !isDryRun(request)

describeInBrowser('a new stay in the calendar', () => {
  let portal: PortalInBrowser
  /** A unit of its own for each test, so that all its nights are free. */
  let unit: { slug: string; name: string }
  let units = 0
  beforeAll(async () => {
    portal = await openPortalInBrowser()
  })
  afterAll(() => portal.close())
  beforeEach(async () => {
    units += 1
    // At the top of the chart.
    unit = { slug: `aaa-${units}`, name: `AAA ${String.fromCharCode(90 - units)}` }
    const json = { ...unit, basePrice: 10_000, cleaningFee: 4_000 }
    const { status } = await portal.service.ask(`${A}/units`, { token: portal.database.tokens.owner, json })
    expect(status).toBe(201)
  })

  const bookings = async () => {
    const token = portal.database.tokens.owner
    return (await portal.service.ask(`${A}/bookings?unit=${unit.slug}`, { token })).body.bookings
  }

  /** Opens the panel for three nights of the unit, and waits for their price. */
  async function visit(
    test: (page: Page, panel: Locator) => Promise<void>,
    options: { mayFail?: boolean } = {},
  ): Promise<void> {
    const at = `#/calendar?from=${isoOf(FIRST)}&zoom=month`
    await portal.visit({ as: 'desk', at, keepsMessages: true, ...options }, async (page) => {
      await page.getByRole('rowheader', { name: unit.name }).waitFor()
      await drag(page, await cell(page, unit.name, FIRST + 2), await cell(page, unit.name, FIRST + 5))
      const panel = page.getByRole('dialog')
      await panel.getByText('Total, 3 nights').waitFor()
      await test(page, panel)
    })
  }

  test('what was entered is not lost by Escape, a press beside the form, or Back, unless somebody says so', async () => {
    await visit(async (page, panel) => {
      const question = page.getByRole('dialog', { name: 'Discard what you have entered?' })
      const name = panel.getByLabel('First name')
      // Nothing has been entered: nothing is asked.
      await page.keyboard.press('Escape')
      await panel.waitFor({ state: 'detached' })
      await drag(page, await cell(page, unit.name, FIRST + 2), await cell(page, unit.name, FIRST + 5))
      await name.fill('Katherine')
      await page.keyboard.press('Escape')
      await question.waitFor()
      await expectAccessible(page)
      await page.keyboard.press('Escape')
      await question.waitFor({ state: 'detached' })
      await page.mouse.click(400, 450)
      await question.getByRole('button', { name: 'Keep editing' }).click()
      await question.waitFor({ state: 'detached' })
      const leaving = page.getByRole('dialog', { name: 'Leave without saving?' })
      await page.evaluate("location.hash = '#/guests'")
      await leaving.waitFor()
      await page.keyboard.press('Escape')
      await leaving.waitFor({ state: 'detached' })
      expect(await question.count()).toBe(0)
      await page.evaluate("location.hash = '#/guests'")
      await leaving.getByRole('button', { name: 'Cancel' }).click()
      expect(await name.inputValue()).toBe('Katherine')
      expect(page.url()).toContain('#/calendar')
      await page.keyboard.press('Escape')
      await question.getByRole('button', { name: 'Discard' }).click()
      await panel.waitFor({ state: 'detached' })
      await page.evaluate("location.hash = '#/guests'")
      await page.getByRole('heading', { name: 'Guests', level: 1 }).waitFor()
    })
  })

  test('a field that is refused has the focus, and a refusal is within sight', async () => {
    await visit(async (page, panel) => {
      await panel.getByLabel('Last name').fill('Johnson')
      const email = panel.getByLabel('E-mail')
      await email.fill('k@@example')
      await panel.getByRole('button', { name: 'Create booking' }).click()
      await panel.getByText('Must be an e-mail address').first().waitFor()
      expect(await email.evaluate((field) => field.matches(':focus'))).toBe(true)
      expect(await panel.getByRole('alert').textContent()).not.toContain('guest.email')
      await email.fill('')
      const stay = { unit: unit.slug, arrival: isoOf(FIRST + 3), departure: isoOf(FIRST + 4) }
      await beforeNextWrite(page, `${A}/bookings`, () =>
        portal.service.ask(`${A}/bookings`, { token: portal.database.tokens.desk, json: stay }),
      )
      await panel.getByRole('button', { name: 'Create booking' }).click()
      const refusal = panel.getByRole('alert').getByText('already booked')
      await refusal.waitFor()
      const [note, foot] = [await boxOf(refusal), await boxOf(panel.locator('.dialog-foot'))]
      expect(note.y + note.height).toBeLessThanOrEqual(foot.y)
    })
  })

  test('a booking whose answer is lost is tried again, and made once', async () => {
    await visit(
      async (page, panel) => {
        let isLost = true
        await page.route(
          (url) => url.pathname === `${A}/bookings`,
          async (route) => {
            if (!isLost || !isCreation(route.request())) return route.continue()
            isLost = false
            await route.fetch()
            await route.abort()
          },
        )
        await panel.getByLabel('Last name').fill('Once')
        await panel.getByRole('button', { name: 'Create booking' }).click()
        await panel.getByText('The service could not be reached.').waitFor()
        // The connection is back, and the nights are now taken: by this booking.
        await panel.getByText('Total, 3 nights').waitFor({ state: 'detached' })
        await panel.getByText('The service could not be reached.').waitFor()
        expect(await panel.getByRole('alert').count()).toBe(1)
        await expectAccessible(page)
        await panel.getByRole('button', { name: 'Create booking' }).click()
        await panel.waitFor({ state: 'detached' })
      },
      { mayFail: true },
    )
    expect(await bookings()).toMatchObject([{ arrival: isoOf(FIRST + 2), departure: isoOf(FIRST + 5) }])
  })

  test('after an answer was lost, other nights are booked only at a price that is shown', async () => {
    await visit(
      async (page, panel) => {
        await page.route(
          (url) => url.pathname === `${A}/bookings`,
          async (route) => {
            if (!isCreation(route.request())) return route.continue()
            await route.fetch()
            await route.abort()
          },
        )
        await panel.getByRole('button', { name: 'Create booking' }).click()
        await panel.getByText('The service could not be reached.').waitFor()
        await panel.getByText('Total, 3 nights').waitFor({ state: 'detached' })
        await panel.getByLabel('Departure').fill(isoOf(FIRST + 6))
        await panel.getByText('booked').first().waitFor()
        await panel.locator('button[type=submit]:disabled').waitFor()
      },
      { mayFail: true },
    )
  })

  test('nothing is booked at the price of other nights', async () => {
    await visit(async (page, panel) => {
      const { promise: held, resolve: release } = Promise.withResolvers<void>()
      await page.route(
        (url) => url.pathname === `${A}/bookings`,
        async (route) => {
          if (isDryRun(route.request())) await held
          await route.continue()
        },
      )
      const create = panel.locator('button[type=submit]')
      const before = await create.textContent()
      const pending = page.waitForRequest(isDryRun)
      await panel.getByLabel('Departure').fill(isoOf(FIRST + 7))
      await pending
      expect(await create.isDisabled()).toBe(true)
      release()
      await panel.getByText('Total, 5 nights').waitFor()
      expect(await create.isEnabled()).toBe(true)
      expect(await create.textContent()).not.toBe(before)
    })
  })

  test('a stay can be booked although its price cannot be asked for now', async () => {
    await visit(
      async (page, panel) => {
        await page.route(
          (url) => url.searchParams.get('dryRun') === 'true',
          (route) => route.fulfill({ status: 503, json: { code: 'OVERLOADED', title: 'Too much to do' } }),
        )
        await panel.getByLabel('Departure').fill(isoOf(FIRST + 7))
        await panel.getByText('Too much to do').waitFor()
        await panel.getByRole('button', { name: 'Create booking', exact: true }).click()
        await panel.waitFor({ state: 'detached' })
      },
      { mayFail: true },
    )
    expect(await bookings()).toMatchObject([{ departure: isoOf(FIRST + 7) }])
  })

  test('the address of a guest without a name is not lost: the name is asked for', async () => {
    await visit(async (page, panel) => {
      let creations = 0
      page.on('request', (request) => {
        if (isCreation(request)) creations += 1
      })
      await panel.getByLabel('E-mail').fill('nameless@example.com')
      expect(await panel.getByText('A guest needs a name.').count()).toBe(0)
      await panel.getByRole('button', { name: 'Create booking' }).click()
      await panel.getByText('A guest needs a name.').waitFor()
      expect(creations).toBe(0)
      await expectAccessible(page)
      await panel.getByLabel('Last name').fill('Named')
      await panel.getByText('A guest needs a name.').waitFor({ state: 'detached' })
      await panel.getByRole('button', { name: 'Create booking' }).click()
      await panel.waitFor({ state: 'detached' })
    })
    expect(await bookings()).toMatchObject([{ guest: { lastName: 'Named', email: 'nameless@example.com' } }])
  })

  test('a hold is placed only with the hours after which it expires', async () => {
    await visit(async (page, panel) => {
      await panel.getByText('Hold', { exact: true }).click()
      const place = panel.locator('button[type=submit]')
      await panel.getByRole('button', { name: 'Place hold', disabled: false }).waitFor()
      const pending = page.waitForResponse((response) => isDryRun(response.request()))
      await panel.getByLabel('Expires after').fill('')
      await panel.getByText('Enter the number of hours').waitFor()
      await pending
      await panel.locator('.quote[aria-busy=false]').waitFor()
      expect(await place.isDisabled()).toBe(true)
      await panel.getByLabel('Expires after').fill('24')
      await panel.getByRole('button', { name: 'Place hold', disabled: false }).click()
      await panel.waitFor({ state: 'detached' })
    })
    expect(await bookings()).toMatchObject([{ status: 'option' }])
  })

  test('several units are booked for one guest in one panel, all or none, and are shown as belonging together', async () => {
    const token = portal.database.tokens.owner
    const other = { slug: `aab-${units}`, name: `AAB ${units}` }
    await portal.service.ask(`${A}/units`, { token, json: { ...other, basePrice: 20_000, cleaningFee: 0 } })
    await visit(async (page, panel) => {
      await panel.getByLabel('Last name').fill('Wedding')
      await panel.getByRole('button', { name: 'Add another unit' }).click()
      const second = panel.getByRole('group', { name: 'Stay 2' })
      // Another unit, and one that is free: so the price can be asked for at once.
      expect(await second.getByLabel('Unit').inputValue()).not.toBe(unit.slug)
      await panel.getByText('Total of 2 stays').waitFor()
      await second.getByLabel('Unit').selectOption(other.name)
      await panel.getByText('Total of 2 stays').waitFor()
      const dates = { arrival: isoOf(FIRST + 2), departure: isoOf(FIRST + 5), adults: 2 }
      const json = { stays: [unit, other].map(({ slug }) => ({ unit: slug, ...dates })) }
      const { quotes } = (await portal.service.ask(`${A}/bookings/group?dryRun=true`, { token, json })).body
      const total = new Intl.NumberFormat('en-GB', { minimumFractionDigits: 2 }).format(
        (quotes[0].total + quotes[1].total) / 100,
      )
      await panel.getByRole('button', { name: `€${total}` }).waitFor()
      await expectAccessible(page)
      await snapshot(page, 'new-stays')

      // The same unit twice: the second stay is refused, and shows why.
      await second.getByLabel('Unit').selectOption(unit.name)
      await second.getByText('Already booked, or chosen above').waitFor()
      expect(await panel.getByRole('alert').count()).toBe(1)
      await panel.locator('button[type=submit]:disabled').waitFor()
      await snapshot(page, 'new-stays-refused')
      await second.getByLabel('Unit').selectOption(other.name)
      await second.getByLabel('Adults').fill('1')
      await panel.getByText('Total of 2 stays').waitFor()
      await panel.locator('.stay-prices[aria-busy=false]').waitFor()
      await panel.getByRole('button', { name: /Create bookings/ }).click()
      await page.getByText('Wedding: 2 stays added').waitFor()

      const bars = bar(page, 'Wedding')
      expect(await bars.count()).toBe(2)
      expect(await bars.first().getAttribute('aria-label')).toContain('booked together with other stays')
      await bars.first().click()
      const open = page.getByRole('dialog', { name: 'Wedding' })
      const list = open.getByRole('region', { name: 'Booked together' })
      await list.getByText('Total of 2 stays').waitFor()
      expect(await page.locator('.chart-bar.is-together').count()).toBe(1)
      await expectAccessible(page)
      await snapshot(page, 'stay-together')
      await list.getByRole('link', { name: other.name }).click()
      await list.locator('[aria-current]', { hasText: other.name }).waitFor()

      await list.getByRole('button', { name: 'Cancel all 2 stays…' }).click()
      const dialog = page.getByRole('dialog', { name: 'Cancel 2 stays' })
      await dialog.getByLabel('Reason').fill('Called off')
      // Back to the other stay, whose panel would take the place of this one.
      await page.goBack()
      await page.getByRole('dialog', { name: 'Leave without saving?' }).getByRole('button', { name: 'Cancel' }).click()
      expect(await dialog.getByLabel('Reason').inputValue()).toBe('Called off')
      await snapshot(page, 'cancel-together')
      await dialog.getByRole('button', { name: 'Cancel 2 stays' }).click()
      await page.getByText('2 stays cancelled').waitFor()
      await bars.first().waitFor({ state: 'detached' })
    })
    const made = (await portal.service.ask(`${A}/bookings?from=${isoOf(FIRST)}`, { token })).body.bookings.filter(
      ({ guest }: { guest: { lastName: string } | null }) => guest?.lastName === 'Wedding',
    )
    expect(made).toHaveLength(2)
    expect(new Set(made.map(({ groupId }: { groupId: string }) => groupId)).size).toBe(1)
    expect(made.map(({ unitSlug, adults }: { unitSlug: string; adults: number }) => [unitSlug, adults])).toEqual(
      expect.arrayContaining([
        [unit.slug, 2],
        [other.slug, 1],
      ]),
    )
    expect(made).toMatchObject([
      { status: 'cancelled', cancelReason: 'Called off' },
      { status: 'cancelled', cancelReason: 'Called off' },
    ])
  })

  test('a stay of several can be left out again, and several that nobody pays for are undone with one click', async () => {
    const blocks = async () => {
      const { body } = await portal.service.ask(`${A}/bookings?type=block&from=${isoOf(FIRST)}`, {
        token: portal.database.tokens.owner,
      })
      return body.bookings.map(({ status }: { status: string }) => status)
    }
    await visit(async (page, panel) => {
      await panel.getByText('Block', { exact: true }).click()
      const add = panel.getByRole('button', { name: 'Add another unit' })
      await add.click()
      await add.click()
      await panel.getByRole('button', { name: 'Remove stay 3' }).click()
      await panel.getByRole('group', { name: 'Stay 3' }).waitFor({ state: 'detached' })
      await panel.getByRole('button', { name: 'Block nights', disabled: false }).click()
      await page.getByText('Block: 2 stays added').waitFor()
      expect(await blocks()).toEqual(['confirmed', 'confirmed'])
      await page.getByRole('button', { name: 'Undo' }).click()
      await page.getByText('Block removed from 2 units').waitFor()
      expect(await blocks()).toEqual(['cancelled', 'cancelled'])
    })
  })

  test('a stay that restrictions refuse to partners is shown with a warning and alternatives, and can be booked anyway', async () => {
    const closed = { from: isoOf(FIRST + 2), to: isoOf(FIRST + 4), rule: 'closedToArrival', value: true }
    const path = `${A}/units/${unit.slug}/restrictions`
    const token = portal.database.tokens.owner
    await portal.service.ask(path, { method: 'PUT', token, json: { restrictions: [closed] } })
    await visit(async (page, panel) => {
      await panel.getByText('Partners could not book this stay.').waitFor()
      await panel.getByText(`${dayText(FIRST + 2, 'short', 'en-GB')} is closed to arrival.`).waitFor()
      const other = (day: number) => panel.getByRole('button', { name: `Arrival ${dayText(day, 'short', 'en-GB')}` })
      await other(FIRST + 1).waitFor()
      await expectAccessible(page)
      await snapshot(page, 'new-stay-restricted')
      // On another day there is no warning.
      await other(FIRST + 4).click()
      await panel.getByText('Partners could not book this stay.').waitFor({ state: 'detached' })
      expect(await panel.getByLabel('Arrival').inputValue()).toBe(isoOf(FIRST + 4))
      expect(await panel.getByLabel('Departure').inputValue()).toBe(isoOf(FIRST + 7))
      await panel.getByLabel('Arrival').fill(isoOf(FIRST + 2))
      await panel.getByText('Partners could not book this stay.').waitFor()
      await panel.getByRole('button', { name: 'Create booking' }).click()
      await panel.waitFor({ state: 'detached' })

      await drag(page, await cell(page, unit.name, FIRST + 3), await cell(page, unit.name, FIRST + 4))
      const dialog = page.getByRole('dialog', { name: /Change dates/ })
      await dialog.getByText(`${dayText(FIRST + 3, 'short', 'en-GB')} is closed to arrival.`).waitFor()
      await snapshot(page, 'move-restricted')
      await dialog.getByRole('button', { name: 'Change dates' }).click()
      await dialog.waitFor({ state: 'detached' })
      await eventually('the stay at its new dates', async () => (await bookings())[0].arrival === isoOf(FIRST + 3))
    })
  })
})
