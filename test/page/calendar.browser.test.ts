/** The calendar, as its people use it: with the mouse, the keyboard and a finger, beside colleagues and partners. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import type { Role } from '../../src/core/catalogue/agency.ts'
import { isoOf } from '../../src/page/format/days.ts'
import {
  describeInBrowser,
  expectAccessible,
  openPortalInBrowser,
  PHONE,
  type PortalInBrowser,
  snapshot,
} from '../support/browser.ts'
import { bar, boxOf, cell, dayName, drag, middle, tap } from '../support/calendar-page.ts'
import { eventually } from '../support/eventually.ts'

/** Far enough ahead that the demo has nothing there. Each test takes nights of its own. */
const DAYS_AHEAD = 420
const FIRST = Math.floor(Date.now() / 86_400_000) + DAYS_AHEAD

interface Booking {
  readonly id: string
  readonly unitSlug: string
  readonly arrival: string
  readonly departure: string
  readonly status: string
  readonly totalAmount: number
}

describeInBrowser('the calendar', () => {
  let portal: PortalInBrowser
  beforeAll(async () => {
    portal = await openPortalInBrowser()
  })
  afterAll(() => portal.close())

  async function call<T>(path: string, token: string, method = 'GET', body?: object): Promise<T> {
    const answer = await fetch(`${portal.service.baseUrl}${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const json = await answer.json()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(json)}`)
    return json as T
  }
  const partner = <T>(path: string, method?: string, body?: object) =>
    call<T>(`/partner/v1${path}`, portal.database.key, method, body)
  const agency = <T>(path: string, method?: string, body?: object) =>
    call<T>(`/portal/v1/agencies/demo${path}`, portal.database.tokens.owner, method, body)

  /** Makes a confirmed stay of `nights` nights in a unit, `day` days after the first. */
  async function aBooking(unit: string, day: number, nights: number, lastName: string): Promise<Booking> {
    const stay = { unit, arrival: isoOf(FIRST + day), departure: isoOf(FIRST + day + nights) }
    const guest = { firstName: 'Test', lastName }
    return (await agency<{ booking: Booking }>('/bookings', 'POST', { ...stay, guest })).booking
  }
  const asPartnersSee = async (id: string) => (await partner<{ booking: Booking }>(`/bookings/${id}`)).booking

  /** Opens the calendar `day` days after the first. */
  async function visit(
    day: number,
    test: (page: Page) => Promise<void>,
    options: { as?: Role; viewport?: typeof PHONE; mayFail?: boolean } = {},
  ): Promise<void> {
    const at = `#/calendar?from=${isoOf(FIRST + day)}&zoom=month`
    await portal.visit({ as: 'desk', at, keepsMessages: true, ...options }, async (page) => {
      await page.getByRole('rowheader', { name: 'Alfama Loft' }).waitFor()
      await page.getByRole('columnheader', { name: dayName(FIRST + day) }).waitFor()
      await test(page)
    })
  }

  test('a drag over free days makes a booking at the price that was shown, and its nights are taken for partners', async () => {
    await visit(0, async (page) => {
      await drag(page, await cell(page, 'Graça View', FIRST + 2), await cell(page, 'Graça View', FIRST + 5))
      const panel = page.getByRole('dialog')
      await panel.getByText('Total, 3 nights').waitFor()
      const price = await panel.getByRole('row', { name: 'Total' }).getByRole('cell').textContent()
      await panel.getByLabel('First name').fill('Inês')
      await panel.getByLabel('Last name').fill('Prado')
      await snapshot(page, 'calendar-new')
      const created = page.waitForResponse(
        (response) => response.request().method() === 'POST' && response.status() === 201,
      )
      await panel.getByRole('button', { name: `Create booking · ${price}` }).click()
      const { booking } = (await (await created).json()) as { booking: Booking }
      await bar(page, 'Inês Prado').waitFor()
      expect(booking).toMatchObject({ arrival: isoOf(FIRST + 2), departure: isoOf(FIRST + 5), status: 'confirmed' })
      expect(await asPartnersSee(booking.id)).toMatchObject({
        unitSlug: 'graca-view',
        totalAmount: booking.totalAmount,
      })
      expect(price?.replace(/\D/g, '')).toBe(String(booking.totalAmount))
    })
  })

  test('a stay that is dragged moves after it is confirmed, partners see it, and Undo moves it back', async () => {
    const before = await aBooking('sintra-cottage', 12, 3, 'Wanderer')
    await visit(10, async (page) => {
      const wanderer = bar(page, 'Test Wanderer')
      await wanderer.waitFor()
      await drag(
        page,
        await cell(page, 'Sintra Cottage', FIRST + 13),
        await cell(page, 'Sesimbra Beach Flat', FIRST + 17),
      )
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('row', { name: 'Unit Sintra Cottage Sesimbra Beach Flat' }).waitFor()
      await dialog.getByRole('radio', { name: /^New price/ }).waitFor()
      await snapshot(page, 'calendar-move')
      expect((await asPartnersSee(before.id)).unitSlug).toBe('sintra-cottage')
      await dialog.getByRole('button', { name: 'Move stay' }).click()
      await page.getByText('Test Wanderer moved to Sesimbra Beach Flat').waitFor()
      const moved = await asPartnersSee(before.id)
      expect(moved.unitSlug).toBe('sesimbra-beach')
      expect(moved.arrival).toBe(isoOf(FIRST + 16))
      await page.getByRole('button', { name: 'Undo' }).click()
      await page.getByText('Test Wanderer is back where it was.').waitFor()
      const { unitSlug, arrival, departure, totalAmount } = before
      expect(await asPartnersSee(before.id)).toMatchObject({ unitSlug, arrival, departure, totalAmount })
    })
  })

  test('an edge that is dragged makes the stay longer, and its price may be kept', async () => {
    const before = await aBooking('alfama-loft', 24, 3, 'Longer')
    await visit(22, async (page) => {
      const box = await boxOf(bar(page, 'Test Longer'))
      const edge = { x: box.x + box.width - 3, y: box.y + box.height / 2 }
      await drag(page, edge, await cell(page, 'Alfama Loft', FIRST + 29))
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('row', { name: 'Nights 3 nights 5 nights' }).waitFor()
      await dialog.getByRole('radio', { name: /^Keep the price/ }).check()
      await dialog.getByRole('button', { name: 'Change dates' }).click()
      await page.getByText('Test Longer moved').waitFor()
      const after = await asPartnersSee(before.id)
      expect(after).toMatchObject({ departure: isoOf(FIRST + 29), totalAmount: before.totalAmount })
    })
  })

  test('Escape gives a drag up, a tremble is no drag, and no stay is displaced', async () => {
    const { id } = await aBooking('baixa-studio', 36, 3, 'Still')
    const before = await asPartnersSee(id)
    await aBooking('baixa-studio', 42, 3, 'Inway')
    await visit(34, async (page) => {
      const from = await middle(bar(page, 'Test Still'))
      await page.mouse.move(from.x, from.y)
      await page.mouse.down()
      await page.mouse.move(from.x + 60, from.y, { steps: 4 })
      await page.getByText(/nights$/).waitFor()
      await page.keyboard.press('Escape')
      await page.mouse.up()
      expect(await page.getByRole('dialog').count()).toBe(0)
      await drag(page, from, await cell(page, 'Baixa Studio', FIRST + 44))
      await page.getByText('Some of these nights are taken. Nothing was changed.').waitFor()
      expect(await page.getByRole('dialog').count()).toBe(0)
      await drag(page, from, { x: from.x + 6, y: from.y })
      await page.getByRole('dialog', { name: 'Test Still' }).waitFor()
    })
    expect(await asPartnersSee(id)).toEqual(before)
  })

  test('of two people who change one booking, the second is told, sees what the first did, and can continue', async () => {
    const stay = await aBooking('chiado-suite', 48, 3, 'Twofold')
    await visit(46, async (page) => {
      // The second person's page does not hear of the change in time.
      await page.route('**/changes?*', () => {})
      await page.reload()
      const shared = bar(page, 'Test Twofold')
      await shared.waitFor()
      await drag(page, await cell(page, 'Chiado Suite', FIRST + 49), await cell(page, 'Chiado Suite', FIRST + 52))
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('button', { name: 'Change dates' }).waitFor()
      await agency(`/bookings/${stay.id}`, 'PATCH', { departure: isoOf(FIRST + 52) })
      await dialog.getByRole('button', { name: 'Change dates' }).click()
      await dialog.getByText('Someone else has changed this stay in the meantime').waitFor()
      await dialog.getByRole('row', { name: 'Nights 4 nights 3 nights' }).waitFor()
      await snapshot(page, 'calendar-changed-by-another')
      expect(await asPartnersSee(stay.id)).toMatchObject({ arrival: stay.arrival, departure: isoOf(FIRST + 52) })
      await dialog.getByRole('button', { name: 'Change dates' }).click()
      await page.getByText('Test Twofold moved').waitFor()
      expect((await asPartnersSee(stay.id)).arrival).toBe(isoOf(FIRST + 51))
    })
  })

  test("a partner's booking appears by itself, and so does everything that was missed while the connection was lost", async () => {
    const book = (day: number, lastName: string) =>
      partner('/bookings', 'POST', {
        unit: 'estrela-family',
        arrival: isoOf(FIRST + day),
        departure: isoOf(FIRST + day + 4),
        adults: 2,
        guest: { firstName: 'Partner', lastName },
      })
    await visit(
      60,
      async (page) => {
        let tapes = 0
        page.on('request', (request) => {
          if (request.url().includes('/tape?')) tapes += 1
        })
        await book(62, 'Live')
        await bar(page, 'Partner Live').waitFor()
        await page.context().setOffline(true)
        await page.getByText('Reconnecting…').waitFor()
        await book(70, 'Missed')
        await page.context().setOffline(false)
        await bar(page, 'Partner Missed').waitFor()
        await page.getByText('Reconnecting…').waitFor({ state: 'detached' })
        expect(tapes).toBe(0)
      },
      { mayFail: true },
    )
  })

  test('when the changes since the last one are no longer kept, the calendar is read again', async () => {
    await aBooking('cascais-villa', 76, 3, 'Anew')
    await visit(
      74,
      async (page) => {
        await bar(page, 'Test Anew').waitFor()
        let isExpired = true
        await page.route('**/changes?*', (route) =>
          isExpired
            ? route.fulfill({ status: 410, json: { code: 'CURSOR_EXPIRED', title: 'No longer kept' } })
            : route.continue(),
        )
        const tape = page.waitForRequest((request) => request.url().includes('/tape?'))
        await page.context().setOffline(true)
        await page.context().setOffline(false)
        await tape
        isExpired = false
        await aBooking('cascais-villa', 82, 3, 'Later')
        await bar(page, 'Test Later').waitFor()
      },
      { mayFail: true },
    )
  })

  test('a viewer sees every stay and its details, and can drag nothing', async () => {
    const { id } = await aBooking('oriente-flat', 86, 4, 'Watched')
    const before = await asPartnersSee(id)
    await visit(
      84,
      async (page) => {
        const watched = bar(page, 'Test Watched')
        await drag(page, await middle(watched), await cell(page, 'Oriente Business Flat', FIRST + 96))
        const panel = page.getByRole('dialog', { name: 'Test Watched' })
        await panel.getByText('Oriente Business Flat').waitFor()
        expect(await panel.getByRole('button', { name: /Check in|Cancel stay|Change dates or unit/ }).count()).toBe(0)
        await page.keyboard.press('Escape')
        await drag(
          page,
          await cell(page, 'Oriente Business Flat', FIRST + 92),
          await cell(page, 'Oriente Business Flat', FIRST + 95),
        )
        expect(await page.getByRole('dialog').count()).toBe(0)
      },
      { as: 'viewer' },
    )
    expect(await asPartnersSee(id)).toEqual(before)
  })

  test('the keyboard alone finds a free week, makes a booking, confirms nothing by mistake, and cancels it', async () => {
    await visit(100, async (page) => {
      const focused = page.locator(':focus')
      await page.getByRole('button', { name: 'Filter' }).focus()
      await page.keyboard.press('Tab')
      expect(await focused.getAttribute('role')).toBe('gridcell')
      await page.keyboard.press('ArrowDown')
      expect(await focused.getAttribute('aria-label')).toMatch(/^Baixa Studio, .*, free/)
      for (let i = 0; i < 7; i++) await page.keyboard.press('Shift+ArrowRight')
      await page.keyboard.press('Enter')
      const panel = page.getByRole('dialog')
      await panel.getByText('Total, 7 nights').waitFor()
      await page.keyboard.press('Escape')
      await panel.waitFor({ state: 'detached' })
      expect(await focused.getAttribute('role')).toBe('gridcell')
      await page.keyboard.press('ArrowLeft')
      await page.keyboard.press('Enter')
      await page.keyboard.press('ArrowRight')
      await page.keyboard.press('ArrowRight')
      await page.keyboard.press('Enter')
      await panel.getByText('Total, 2 nights').waitFor()
      await panel.getByLabel('Last name').focus()
      await page.keyboard.type('Keys')
      await panel.getByLabel('First name').focus()
      await page.keyboard.type('Only')
      await page.keyboard.press('Enter')
      await bar(page, 'Only Keys').waitFor()
      await panel.waitFor({ state: 'detached' })
      await page.keyboard.press('ArrowLeft')
      expect(await focused.getAttribute('aria-label')).toMatch(/^Only Keys, guest stay, confirmed/)
      await page.keyboard.press('Enter')
      await panel.getByRole('button', { name: 'Cancel stay…' }).focus()
      await page.keyboard.press('Enter')
      await page.keyboard.type('A test')
      await page.keyboard.press('Enter')
      await bar(page, 'Only Keys').waitFor({ state: 'detached' })
      await panel.waitFor({ state: 'detached' })
      await page.getByText('Stay cancelled').waitFor()
    })
  })

  test('a panel that was opened with the keyboard gives the focus back to its day, also if the chart has moved meanwhile', async () => {
    await visit(100, async (page) => {
      const focused = page.locator(':focus')
      await page.getByRole('button', { name: 'Filter' }).focus()
      await page.keyboard.press('Tab')
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('Shift+ArrowRight')
      await page.keyboard.press('Enter')
      const panel = page.getByRole('dialog')
      await panel.getByText('Total, ').waitFor()
      // Longer than the chart waits after a scroll; its timer was set first.
      await page.evaluate(`new Promise((resolve) => {
        const chart = document.querySelector('.chart')
        chart.addEventListener('scroll', () => setTimeout(resolve, 400), { once: true })
        chart.scrollBy({ left: 60, behavior: 'instant' })
      })`)
      await page.keyboard.press('Escape')
      await panel.waitFor({ state: 'detached' })
      expect(await page.evaluate<string | null>(`document.activeElement.getAttribute('role')`)).toBe('gridcell')
      expect(await focused.getAttribute('aria-label')).toMatch(/^Baixa Studio/)
    })
  })

  test('on a phone a tap opens the arrival, a second one the departure', async () => {
    await visit(
      120,
      async (page) => {
        await page.goto(`${page.url().split('&')[0]}&zoom=week`)
        await page.locator('input[name=Zoom]:checked + span', { hasText: 'Week' }).waitFor({ state: 'attached' })
        await tap(page, await cell(page, 'Cascais Villa', FIRST + 121))
        await page.getByText('Now choose the day of the departure').waitFor()
        await snapshot(page, 'calendar-tap')
        await page.setViewportSize(PHONE)
        await eventually('the chart has the width of a phone', async () => {
          return (await boxOf(page.locator('.chart-units'))).width < 100
        })
        await tap(page, await cell(page, 'Cascais Villa', FIRST + 124))
        await page.getByRole('dialog').getByText('3 nights', { exact: true }).waitFor()
      },
      { viewport: PHONE },
    )
  })

  test('a search shows the stay wherever it is, and a filter the units that are free', async () => {
    await aBooking('principe-attic', 140, 3, 'Needle')
    await portal.visit({ as: 'viewer', at: '#/calendar' }, async (page) => {
      await page.getByLabel('Search guest or reference').fill('neédle')
      await page.getByText('1 of 1').waitFor()
      await bar(page, 'Test Needle').waitFor()
      await page.getByRole('button', { name: 'Filter' }).click()
      await page.getByLabel('Free from').fill(isoOf(FIRST + 141))
      await page.getByLabel('Free until').fill(isoOf(FIRST + 142))
      await page.getByText('11 of 12 units').waitFor()
      await page.getByRole('rowheader', { name: 'Príncipe Real Attic' }).waitFor({ state: 'detached' })
      expect(page.url()).toContain(`freeFrom=${isoOf(FIRST + 141)}`)
      await page.reload()
      await page.getByText('11 of 12 units').waitFor()
    })
  })

  test('no unit is called free until the days asked for are known, also when they come with the address', async () => {
    await aBooking('principe-attic', 220, 3, 'Unseen')
    await portal.visit({ as: 'viewer', at: '#/calendar' }, async (page) => {
      await page.getByRole('rowheader', { name: 'Alfama Loft' }).waitFor()
      const pending = Promise.withResolvers<void>()
      const answered = Promise.withResolvers<void>()
      // What comes first is about today; that is not held up.
      await page.route('**/tape?*', async (route) => {
        if ((new URL(route.request().url()).searchParams.get('to') ?? '') > isoOf(FIRST)) {
          pending.resolve()
          await answered.promise
        }
        await route.continue()
      })
      await page.goto(
        `${page.url().split('#')[0]}#/calendar?freeFrom=${isoOf(FIRST + 221)}&freeTo=${isoOf(FIRST + 222)}`,
      )
      await page.reload()
      await pending.promise
      await page.getByText('Looking for free units…').waitFor()
      expect(await page.getByText('of 12 units').count()).toBe(0)
      expect(await page.locator('.chart-unit').count()).toBe(0)
      answered.resolve()
      await page.getByText('11 of 12 units').waitFor()
      await page.getByRole('rowheader', { name: 'Alfama Loft' }).waitFor()
      expect(await page.getByRole('rowheader', { name: 'Príncipe Real Attic' }).count()).toBe(0)
    })
  })

  test('Back and a changed address scroll the calendar to where they say', async () => {
    await aBooking('alfama-loft', 200, 3, 'Thither')
    await visit(198, async (page) => {
      const thither = bar(page, 'Test Thither')
      await thither.waitFor()
      const isInSight = (day: number) => () =>
        page.getByRole('columnheader', { name: dayName(FIRST + day) }).evaluate((column) => {
          const { left, right } = (
            column as unknown as { getBoundingClientRect(): { left: number; right: number } }
          ).getBoundingClientRect()
          return left >= 200 && right <= 1440
        })
      await page.getByRole('button', { name: 'Today' }).click()
      await page.getByRole('columnheader', { name: dayName(FIRST - DAYS_AHEAD) }).waitFor()
      await page.goBack()
      await eventually('Back shows where one was', isInSight(198))
      await thither.waitFor()
      const there = page.url()
      await page.goto(there.replace(isoOf(FIRST + 198), isoOf(FIRST + 280)))
      await eventually('the changed address is shown', isInSight(281))
      await page.goBack()
      await eventually('Back shows where one was, again', isInSight(198))
      // A unit in the address comes to the top, as far as there is room.
      await page.setViewportSize({ width: 1440, height: 420 })
      await page.goto(`${there}&unit=sintra-cottage`)
      const first = page.locator('.chart-unit', { hasText: 'Alfama Loft' })
      await eventually('the first unit is scrolled away', async () => {
        const box = (await first.count()) === 0 ? null : await first.boundingBox()
        return box === null || box.y < 100
      })
    })
  })

  test('axe finds nothing on the chart, in the details, in a new booking and in a move', async () => {
    await aBooking('ericeira-surf', 160, 4, 'Axle')
    await visit(158, async (page) => {
      const axle = bar(page, 'Test Axle')
      await axle.waitFor()
      await expectAccessible(page)
      await page.setViewportSize({ width: 1440, height: 900 })
      await axle.click()
      await page.getByRole('dialog').getByText('Total, 4 nights').waitFor()
      await expectAccessible(page)
      await snapshot(page, 'calendar-stay')
      await page.getByRole('button', { name: 'Change dates or unit…' }).click()
      await page.getByRole('dialog', { name: 'Change dates or unit: Test Axle' }).waitFor()
      await expectAccessible(page)
    })
    await portal.visit({ as: 'owner', at: '#/calendar' }, async (page) => {
      await page.locator('.chart-row .chart-bar').first().waitFor()
      await expectAccessible(page)
      await snapshot(page, 'calendar')
    })
  })
})
