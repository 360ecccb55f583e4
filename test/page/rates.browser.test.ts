import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
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

/** Far enough ahead that the demo has no season there. */
const YEAR = 2031
const AT = `#/units/alfama-loft?from=${YEAR}-01-01`

describeInBrowser('rates', () => {
  let portal: PortalInBrowser
  beforeAll(async () => {
    portal = await openPortalInBrowser()
  })
  afterAll(() => portal.close())

  const path = (unit: string) => `/agencies/demo/units/${unit}`
  const setRates = (unit: string, json: object) =>
    portal.service.ask(`/portal/v1${path(unit)}/rates`, { method: 'PUT', token: portal.database.tokens.manager, json })
  const partnerQuote = async (unit: string, arrival: string, departure: string) => {
    const { body } = await portal.service.ask('/partner/v1/quote', {
      token: portal.database.key,
      json: { unit, arrival, departure },
    })
    return body.quote as { total: number; lines: { label: string; amount: number }[] }
  }
  const fields = (page: Page) => page.getByRole('group', { name: 'Rates' })
  const saveBar = (page: Page) => page.getByRole('region', { name: 'Unsaved changes' })
  const quoteCard = (page: Page) => page.getByRole('region', { name: 'Price of a stay' })
  const addSeason = async (page: Page, season: { name: string; from: string; to: string; price: string }) => {
    await page.getByRole('button', { name: 'Add season' }).click()
    const { name, from, to, price } = season
    await fields(page).getByLabel('Name').fill(name)
    await fields(page).getByLabel('First night').fill(from)
    await fields(page).getByLabel('Last night').fill(to)
    await fields(page).getByLabel('Price per night', { exact: true }).fill(price)
  }
  /** Labels and amounts of a quote as the page shows it. */
  const shownQuote = async (page: Page) => {
    const rows = await quoteCard(page).getByRole('row').all()
    return Promise.all(
      rows.map(async (row) => [
        await row
          .locator('.quote-line-label')
          .or(row.getByRole('rowheader', { name: 'Total' }))
          .first()
          .textContent(),
        await row.getByRole('cell').textContent(),
      ]),
    )
  }
  const inEuros = (cents: number) =>
    new Intl.NumberFormat('en-GB', { style: 'currency', currency: 'EUR' }).format(cents / 100)

  test('the price of a stay in the preview is what partners quote once the rates are saved', async () => {
    await portal.visit({ as: 'manager', at: `${AT}&arrival=${YEAR}-07-30&departure=${YEAR}-08-08` }, async (page) => {
      await page.getByText('Length-of-stay discount').waitFor()
      await snapshot(page, 'rates', { isWhole: true })
      await addSeason(page, { name: 'Regatta', from: `${YEAR}-07-28`, to: `${YEAR}-08-03`, price: '150,50' })
      await fields(page).getByLabel('Sun', { exact: true }).fill('-12.5')
      await fields(page).getByLabel('Base price per night').fill('99')
      await fields(page).getByLabel('Cleaning', { exact: true }).fill('47')
      await page.getByRole('button', { name: 'Add discount' }).click()
      await fields(page).getByLabel('From', { exact: true }).last().fill('9')
      await fields(page).getByLabel('Discount', { exact: true }).last().fill('12')
      await quoteCard(page)
        .getByRole('row', { name: /Regatta/ })
        .first()
        .waitFor()
      await quoteCard(page).getByText('12% off the nights').waitFor()
      await quoteCard(page)
        .getByText(/At the saved rates/)
        .waitFor()
      await page.getByRole('gridcell', { name: /1 August 2031: €150.50 · Regatta|1 August 2031: .*Regatta/ }).waitFor()
      await expectAccessible(page)
      await snapshot(page, 'rates-unsaved', { isWhole: true })

      // Nothing is written yet.
      const before = await partnerQuote('alfama-loft', `${YEAR}-07-30`, `${YEAR}-08-08`)
      const shown = await shownQuote(page)
      expect(shown.at(-1)).not.toEqual(['Total', inEuros(before.total)])

      await saveBar(page).getByRole('button', { name: 'Save rates' }).click()
      await page.getByText('Rates saved.').waitFor()
      await saveBar(page).waitFor({ state: 'detached' })
      const after = await partnerQuote('alfama-loft', `${YEAR}-07-30`, `${YEAR}-08-08`)
      expect(shown).toEqual([
        ...after.lines.map(({ label, amount }) => [label, inEuros(amount).replace('−', '-')]),
        ['Total', inEuros(after.total)],
      ])
    })
  })

  test('a season that overlaps another is explained at its field, and cannot be saved', async () => {
    await setRates('graca-view', {
      seasons: [{ name: 'Easter', from: `${YEAR}-04-06`, to: `${YEAR}-04-20`, nightlyPrice: 14_000 }],
    })
    await portal.visit({ as: 'manager', at: `#/units/graca-view?from=${YEAR}-01-01` }, async (page) => {
      await page.getByRole('gridcell').first().waitFor()
      await addSeason(page, { name: 'Spring', from: `${YEAR}-04-15`, to: `${YEAR}-05-15`, price: '130' })
      await page
        .getByText(/Overlaps “Easter”, whose last night is 19 Apr 2031. Start on 20 Apr 2031 or later/)
        .waitFor()
      expect(await saveBar(page).getByRole('button', { name: 'Save rates' }).isDisabled()).toBe(true)
      await expectAccessible(page)
      await snapshot(page, 'rates-overlap')
      await fields(page).getByLabel('First night').fill(`${YEAR}-04-20`)
      await saveBar(page).getByText('1 change not saved').waitFor()
      await saveBar(page).getByRole('button', { name: 'Save rates' }).click()
      await page.getByText('Rates saved.').waitFor()
    })
  })

  test('nights are chosen with the keyboard, and a stay that is too short is explained', async () => {
    await portal.visit({ as: 'desk', at: `#/units/cascais-villa?from=${YEAR}-01-01` }, async (page) => {
      const grid = page.getByRole('grid')
      await grid.getByRole('gridcell').first().focus()
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('ArrowRight')
      await page.keyboard.press('Enter')
      for (let night = 0; night < 3; night++) await page.keyboard.press('ArrowRight')
      await page.keyboard.press('Enter')
      await page.getByText('Too short. Minimum stay for this arrival: 5 nights.').waitFor()
      for (let night = 0; night < 4; night++) await page.keyboard.press('ArrowLeft')
      await page.keyboard.press('Enter')
      for (let night = 0; night < 6; night++) await page.keyboard.press('ArrowRight')
      await page.keyboard.press('Enter')
      await quoteCard(page).getByRole('rowheader', { name: 'Total' }).waitFor()
      // A role that may not change anything is told so, and still may look.
      await page.getByText('Only managers and owners can change rates.').waitFor()
      expect(await page.getByLabel('Base price per night').isDisabled()).toBe(true)
      await page.getByRole('button', { name: 'Show month' }).click()
      await grid.getByRole('gridcell').nth(27).waitFor()
      await expectAccessible(page)
      await snapshot(page, 'rates-month', { isWhole: true })
    })
  })

  const savedRates = async (unit: string) =>
    (await portal.service.ask(`/portal/v1${path(unit)}/rates`, { token: portal.database.tokens.viewer })).body.rates

  test('what a colleague saves is shown at once, and asked about where something is not saved', async () => {
    await portal.visit({ as: 'manager', at: `#/units/sintra-cottage?from=${YEAR}-01-01` }, async (page) => {
      await page.getByRole('gridcell').first().waitFor()
      await setRates('sintra-cottage', { weekdayAdjustments: [{ weekday: 1, pct: 3 }] })
      const monday = fields(page).getByLabel('Mon', { exact: true })
      await eventually('the new percentage in its field', async () => (await monday.inputValue()) === '3')
      await fields(page).getByLabel('Sat', { exact: true }).fill('20')
      await setRates('sintra-cottage', { weekdayAdjustments: [{ weekday: 1, pct: 4 }] })
      await page.getByText('Mon: +3% → +4%').waitFor()
      expect(await monday.inputValue()).toBe('3')
      await page.getByRole('button', { name: 'Use theirs' }).click()
      await saveBar(page).waitFor({ state: 'detached' })
      expect(await monday.inputValue()).toBe('4')
    })
  })

  test('of two who change the same rates the second is told, and loses nothing', async () => {
    const saved = () => savedRates('chiado-suite')
    const at = `#/units/chiado-suite?from=${YEAR}-01-01`
    await portal.visit({ as: 'manager', at, mayFail: true }, async (page) => {
      await page.getByRole('gridcell').first().waitFor()
      await fields(page).getByLabel('Sat', { exact: true }).fill('20')
      await saveBar(page).getByText('1 change not saved').waitFor()
      const before = await saved()
      await beforeNextWrite(page, `/portal/v1${path('chiado-suite')}/rates`, () =>
        setRates('chiado-suite', { ...before, lengthOfStayDiscounts: [{ minNights: 5, pct: 5 }] }),
      )
      await saveBar(page).getByRole('button', { name: 'Save rates' }).click()
      await page.getByText('Someone else has changed these rates in the meantime.').waitFor()
      await page.getByText('From 5 nights: no discount → 5% off').waitFor()
      expect(await fields(page).getByLabel('Sat', { exact: true }).inputValue()).toBe('20')
      expect((await saved()).weekdayAdjustments).toEqual(before.weekdayAdjustments)
      await expectAccessible(page)
      await snapshot(page, 'rates-conflict')
      await page.getByRole('button', { name: 'Keep mine' }).click()
      await saveBar(page).getByRole('button', { name: 'Save rates' }).click()
      await page.getByText('Rates saved.').waitFor()
      expect((await saved()).weekdayAdjustments).toContainEqual({ weekday: 6, pct: 20 })
    })
  })

  test('a unit with hundreds of seasons is saved like any other', async () => {
    const day = (n: number) => new Date(Date.UTC(YEAR, 0, 1 + n)).toISOString().slice(0, 10)
    const seasons = Array.from({ length: 400 }, (_, n) => ({
      name: `Night ${n} of the long list`,
      from: day(n),
      to: day(n + 1),
      nightlyPrice: 10_000 + n,
    }))
    expect((await setRates('baixa-studio', { seasons })).status).toBe(200)
    await portal.visit({ as: 'manager', at: `#/units/baixa-studio?from=${YEAR}-01-01` }, async (page) => {
      await fields(page).getByLabel('Sat', { exact: true }).fill('20')
      await saveBar(page).getByRole('button', { name: 'Save rates' }).click()
      await page.getByText('Rates saved.').waitFor()
      const saved = await savedRates('baixa-studio')
      expect(saved.seasons).toHaveLength(400)
      expect(saved.weekdayAdjustments).toContainEqual({ weekday: 6, pct: 20 })
    })
  })

  test('leaving with unsaved changes asks first', async () => {
    await portal.visit({ as: 'owner', at: '#/units' }, async (page) => {
      await page.getByRole('link', { name: /Belém Garden House/ }).click()
      await page.getByRole('heading', { level: 1, name: 'Belém Garden House' }).waitFor()
      await fields(page).getByLabel('Minimum stay').fill('4')
      await saveBar(page).waitFor()
      // Another tab of the unit keeps them.
      await page.getByRole('link', { name: 'Details' }).click()
      await page.getByRole('heading', { name: 'Details' }).waitFor()
      await page.goBack()
      await saveBar(page).waitFor()

      await page.goBack()
      await page.getByRole('dialog', { name: 'Leave without saving?' }).waitFor()
      await snapshot(page, 'rates-leave')
      await page.getByRole('button', { name: 'Cancel' }).click()
      expect(await fields(page).getByLabel('Minimum stay').inputValue()).toBe('4')
      expect(page.url()).toContain('#/units/belem-garden')
      // A form over them does not take them along.
      await page.getByRole('button', { name: 'Edit details' }).click()
      await page.getByRole('dialog').getByLabel('City').fill('Porto')
      await page.goBack()
      await page.getByText('What you have entered in this form').waitFor()
      await page.getByRole('button', { name: 'Discard and leave' }).click()
      await page.getByText('The rates of Belém Garden House have unsaved changes').waitFor()
      await page.getByRole('button', { name: 'Cancel' }).click()
      expect(await fields(page).getByLabel('Minimum stay').inputValue()).toBe('4')
      await page.getByRole('link', { name: 'Overview' }).click()
      await page.getByRole('button', { name: 'Discard and leave' }).click()
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    })
  })

  test('on a phone the fields come first, then the prices', async () => {
    await portal.visit({ as: 'manager', at: `#/units/ericeira-surf`, viewport: PHONE }, async (page) => {
      await page.getByRole('gridcell').first().waitFor()
      await fields(page).getByLabel('Fri', { exact: true }).fill('18')
      await saveBar(page).waitFor()
      const overflow = await page.locator('html').evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)
      expect(overflow).toBe(0)
      await expectAccessible(page)
      await snapshot(page, 'rates-phone', { isWhole: true })
      await saveBar(page).getByRole('button', { name: 'Discard' }).click()
      await saveBar(page).waitFor({ state: 'detached' })
    })
  })
})
