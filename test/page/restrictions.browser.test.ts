import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { dayOf, isoOf, monthStart } from '../../src/page/format/days.ts'
import {
  beforeNextWrite,
  describeInBrowser,
  expectAccessible,
  openPortalInBrowser,
  PHONE,
  type PortalInBrowser,
  snapshot,
} from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'

/** Far enough ahead that the demo has no stays there, and near enough to be in the year that a preview covers. */
const YEAR = 2031
const day = (monthDay: string) => `${YEAR}-${monthDay}`

describeInBrowser('restrictions', () => {
  let portal: PortalInBrowser
  beforeAll(async () => {
    portal = await openPortalInBrowser()
  })
  afterAll(() => portal.close())

  const at = (unit: string) => `#/units/${unit}?tab=restrictions&from=${day('07-01')}`
  const path = (unit: string) => `/portal/v1/agencies/demo/units/${unit}/restrictions`
  const saved = async (unit: string) =>
    (await portal.service.ask(path(unit), { token: portal.database.tokens.viewer })).body
  const set = (unit: string, json: object) =>
    portal.service.ask(path(unit), { method: 'PUT', token: portal.database.tokens.manager, json })
  const cell = (page: Page, monthDay: string) => page.locator(`[data-day="${dayOf(day(monthDay))}"]`)
  const saveBar = (page: Page) => page.getByRole('region', { name: 'Unsaved changes' })
  const newRule = (page: Page) => page.getByRole('region', { name: 'New rule' })
  const outcome = (page: Page) => page.getByRole('region', { name: 'What changes for partners' })

  test('dragging over days sets a rule for them, and its effect is shown before it is saved', async () => {
    await portal.visit({ as: 'manager', at: at('alfama-loft') }, async (page) => {
      await outcome(page)
        .getByText(/can be booked for/)
        .waitFor()
      await cell(page, '07-05').hover()
      await page.mouse.down()
      await cell(page, '07-18').hover()
      await page.mouse.up()
      await newRule(page).getByText('5 – 18 Jul 2031').waitFor()
      for (const name of ['Sat', 'Sun']) await newRule(page).getByText(name, { exact: true }).click()
      await newRule(page).getByRole('button', { name: 'Set rule' }).click()
      await outcome(page).getByText('No longer bookable: 10 arrivals').waitFor()
      await newRule(page).getByLabel('Rule').selectOption('Minimum stay through')
      await newRule(page).getByLabel('Length').fill('5')
      await newRule(page).getByRole('button', { name: 'Set rule' }).click()
      await cell(page, '08-11').click()
      await cell(page, '08-13').click({ modifiers: ['Shift'] })
      // A new selection begins with every day of the week.
      await newRule(page).getByLabel('Rule').selectOption('Not for sale')
      await newRule(page).getByRole('button', { name: 'Set rule' }).click()
      await outcome(page).getByText('a night is not for sale').first().waitFor()
      expect(await cell(page, '07-07').textContent()).toContain(
        'Monday, 7 July 2031: Closed to arrival · Minimum stay through: 5 nights · arrival no longer bookable',
      )
      await expectAccessible(page)
      await snapshot(page, 'restrictions-unsaved', { isWhole: true })

      expect((await saved('alfama-loft')).restrictions).toEqual([])
      await saveBar(page).getByRole('button', { name: 'Save restrictions' }).click()
      await page.getByText('Restrictions saved.').waitFor()
      await saveBar(page).waitFor({ state: 'detached' })
      const july = { from: day('07-05'), to: day('07-19') }
      expect((await saved('alfama-loft')).restrictions).toEqual([
        { ...july, weekdays: [1, 2, 3, 4, 5], rule: 'closedToArrival', value: true },
        { ...july, weekdays: [1, 2, 3, 4, 5], rule: 'minStayThrough', value: 5 },
        { from: day('08-11'), to: day('08-14'), weekdays: null, rule: 'stopSell', value: true },
      ])
    })
  })

  test('days are selected with the keyboard, and rules are edited, reordered and removed', async () => {
    await set('graca-view', {
      restrictions: [
        { from: day('07-01'), to: day('08-01'), rule: 'minStayArrival', value: 3 },
        { rule: 'minStayArrival', value: 2 },
      ],
    })
    await portal.visit({ as: 'manager', at: at('graca-view') }, async (page) => {
      await page.getByRole('gridcell').first().focus()
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('Enter')
      await page.keyboard.press('ArrowRight')
      await page.keyboard.press('ArrowRight')
      await page.keyboard.press('Enter')
      await newRule(page).getByText('8 – 10 Jul 2031').waitFor()
      await cell(page, '07-10').focus()
      await page.keyboard.press('Shift+ArrowDown')
      await newRule(page).getByText('8 – 17 Jul 2031').waitFor()
      await page.keyboard.press('Escape')
      await newRule(page).waitFor({ state: 'detached' })

      // The later row wins until it is moved up.
      expect(await cell(page, '07-07').textContent()).toContain('Minimum stay on arrival: 2 nights')
      await page.getByRole('button', { name: /Minimum stay on arrival: 2 nights/ }).click()
      await page.getByRole('button', { name: 'Move up: Minimum stay on arrival: 2 nights' }).click()
      await saveBar(page).getByText('1 change not saved').waitFor()
      expect(await cell(page, '07-07').textContent()).toContain('Minimum stay on arrival: 3 nights')
      await page.getByLabel('Last day').fill(day('06-01'))
      await page.getByLabel('First day').fill(day('06-02'))
      await page.getByText('Must not be before the first day, 2 Jun 2031.').waitFor()
      expect(await saveBar(page).getByRole('button', { name: 'Save restrictions' }).isDisabled()).toBe(true)
      await expectAccessible(page)
      await page.getByRole('button', { name: 'Remove: Minimum stay on arrival: 2 nights' }).click()
      await page.getByLabel('Advance notice').fill('24')
      await saveBar(page).getByRole('button', { name: 'Show' }).click()
      await page.getByText('Removed: Minimum stay on arrival: 2 nights · Always').waitFor()
      await page.getByText('Advance notice: none → 24 hours').waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click()
      await saveBar(page).getByRole('button', { name: 'Save restrictions' }).click()
      await page.getByText('Restrictions saved.').waitFor()
      expect(await saved('graca-view')).toMatchObject({ restrictions: [{ value: 3 }], advanceNoticeHours: 24 })
    })
  })

  test('if two people change the same restrictions, the second is told and loses nothing', async () => {
    await portal.visit({ as: 'manager', at: at('chiado-suite'), mayFail: true }, async (page) => {
      await page.getByLabel('Booking window').fill('365')
      await beforeNextWrite(page, path('chiado-suite'), () =>
        set('chiado-suite', { restrictions: [{ rule: 'maxStay', value: 28 }] }),
      )
      await saveBar(page).getByRole('button', { name: 'Save restrictions' }).click()
      await page.getByText('Someone else has changed these restrictions in the meantime.').waitFor()
      await page.getByText('New: Maximum stay on arrival: 28 nights · Always').waitFor()
      await expectAccessible(page)
      await page.getByRole('button', { name: 'Use theirs' }).click()
      await page.getByRole('button', { name: /Maximum stay on arrival: 28 nights/ }).waitFor()
      expect(await page.getByLabel('Booking window').inputValue()).toBe('')
    })
  })

  test('a role that may not change anything sees the rules and what can be booked', async () => {
    await set('sintra-cottage', { restrictions: [{ rule: 'closedToDeparture', weekdays: [7], value: true }] })
    await portal.visit({ as: 'desk', at: at('sintra-cottage') }, async (page) => {
      await page.getByText('Only managers and owners can change restrictions.').waitFor()
      await cell(page, '07-06').click()
      expect(await newRule(page).count()).toBe(0)
      expect(await page.getByRole('button', { name: 'Add rule' }).count()).toBe(0)
      await page.getByText('Sunday, 6 July 2031').last().waitFor()
      await expectAccessible(page)
    })
  })

  test('leaving asks first, and switching the tab keeps unsaved changes', async () => {
    await portal.visit({ as: 'owner', at: at('belem-garden') }, async (page) => {
      await page.getByLabel('Booking window').fill('300')
      await page.getByRole('link', { name: 'Rates', exact: true }).click()
      await page.getByRole('group', { name: 'Rates' }).waitFor()
      await page.getByRole('link', { name: 'Restrictions (not saved)' }).click()
      expect(await page.getByLabel('Booking window').inputValue()).toBe('300')
      await page.getByRole('link', { name: 'Overview' }).click()
      await page.getByText('The restrictions of Belém Garden House have unsaved changes').waitFor()
    })
  })

  test('on a phone, two taps select days', async () => {
    await set('ericeira-surf', {
      restrictions: [
        { from: day('07-14'), to: day('07-21'), rule: 'minStayArrival', value: 3 },
        { from: day('07-14'), to: day('07-21'), rule: 'maxStay', value: 14 },
        { from: day('07-14'), to: day('07-18'), rule: 'closedToArrival', value: true },
        { from: day('07-16'), to: day('07-19'), rule: 'closedToDeparture', value: true },
        { from: day('07-22'), to: day('07-25'), rule: 'stopSell', value: true },
      ],
      bookingWindowDays: 365,
    })
    await portal.visit({ as: 'manager', at: at('ericeira-surf'), viewport: PHONE }, async (page) => {
      await cell(page, '08-04').dispatchEvent('click')
      await page.getByText('From Mon 4 Aug. Now choose the last day.').waitFor()
      await cell(page, '08-10').dispatchEvent('click')
      await newRule(page).getByText('4 – 10 Aug 2031').waitFor()
      const overflow = await page.locator('html').evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)
      expect(overflow).toBe(0)
      await expectAccessible(page)
      await snapshot(page, 'restrictions', { isWhole: true })
    })
  })

  test('what a colleague saves is shown immediately', async () => {
    await portal.visit({ as: 'viewer', at: at('baixa-studio') }, async (page) => {
      await page.getByText('No rules yet').waitFor()
      const first = isoOf(monthStart(dayOf(day('07-01'))))
      await set('baixa-studio', { restrictions: [{ from: first, to: null, rule: 'stopSell', value: true }] })
      await eventually('the rule in its day', async () =>
        ((await cell(page, '07-01').textContent()) ?? '').includes('Not for sale'),
      )
    })
  })

  test('the calendar marks closed days where nobody stays, and follows changes by a colleague', async () => {
    const today = Math.floor(Date.now() / 86_400_000)
    const span = (from: number, to: number) => ({ from: isoOf(today + from), to: isoOf(today + to) })
    await set('cascais-villa', {
      restrictions: [
        { weekdays: [1, 2, 3, 4, 5, 7], rule: 'closedToArrival', value: true },
        { weekdays: [1, 2, 3, 4, 5, 7], rule: 'closedToDeparture', value: true },
      ],
    })
    await set('oriente-flat', { restrictions: [{ ...span(5, 25), rule: 'closedToArrival', value: true }] })
    await set('principe-attic', { restrictions: [{ ...span(5, 25), rule: 'closedToDeparture', value: true }] })
    await set('sesimbra-beach', { restrictions: [{ ...span(0, 40), rule: 'stopSell', value: true }] })
    await set('alfama-loft', {})
    await portal.visit({ as: 'desk', at: '#/calendar' }, async (page) => {
      const marks = (name: string) =>
        page
          .getByRole('row')
          .filter({ has: page.getByRole('rowheader', { name }) })
          .locator('.chart-closed')
      await marks('Sesimbra Beach Flat').first().waitFor()
      await page.getByRole('list', { name: 'Legend' }).getByText('Not for sale').waitFor()
      expect(await marks('Alfama Loft').count()).toBe(0)
      await expectAccessible(page)
      await snapshot(page, 'calendar-restrictions')
      await set('alfama-loft', { restrictions: [{ rule: 'stopSell', value: true }] })
      await marks('Alfama Loft').first().waitFor()
      await set('alfama-loft', {})
      await marks('Alfama Loft').first().waitFor({ state: 'detached' })
    })
  })
})
