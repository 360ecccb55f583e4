import { afterAll, beforeAll, expect, test } from 'bun:test'
import {
  describeInBrowser,
  expectAccessible,
  openPortalInBrowser,
  PHONE,
  type PortalInBrowser,
  snapshot,
} from '../support/browser.ts'

const A = '/portal/v1/agencies/demo'

describeInBrowser('fees', () => {
  let portal: PortalInBrowser
  beforeAll(async () => {
    portal = await openPortalInBrowser()
  })
  afterAll(() => portal.close())

  const quote = async () => {
    const { body } = await portal.service.ask('/partner/v1/quote', {
      token: portal.database.key,
      json: { unit: 'alfama-loft', arrival: '2029-03-05', departure: '2029-03-09', adults: 2 },
    })
    return body.quote as { lines: { kind: string; label: string; amount: number }[] }
  }
  const feesOf = async () => (await quote()).lines.filter(({ kind }) => kind === 'fee').map(({ label }) => label)

  test('a save that is refused leaves the focus on its button, which takes no second press meanwhile', async () => {
    await portal.visit({ as: 'manager', at: '#/fees' }, async (page) => {
      await page.getByRole('button', { name: 'Add fee' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name').fill('Towels')
      await dialog.getByLabel('Amount').fill('5')
      let sent = 0
      const { promise: pressed, resolve } = Promise.withResolvers<void>()
      await page.route(`**${A}/fee-types`, async (route) => {
        if (route.request().method() === 'GET') return await route.continue()
        sent += 1
        await pressed
        await route.fulfill({ status: 422, json: { code: 'LIMIT_REACHED', title: 'Too many fees' } })
      })
      const save = dialog.getByRole('button', { name: 'Add fee' })
      await save.focus()
      await page.keyboard.press('Enter')
      await dialog.locator('[aria-busy=true]').waitFor()
      expect(await page.locator(':focus').textContent()).toBe('Add fee')
      await page.keyboard.press('Enter')
      await dialog.getByLabel('Name').press('Enter')
      resolve()
      await dialog.getByText('Too many fees').waitFor()
      expect(sent).toBe(1)
    })
  })

  test('a fee that is added is in the quotes of partners, and no longer once it is switched off', async () => {
    await portal.visit({ as: 'manager', at: '#/fees', keepsMessages: true }, async (page) => {
      await page
        .getByRole('row', { name: /City tax/ })
        .first()
        .waitFor()
      await page.getByRole('button', { name: 'Add fee' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('button', { name: 'Add fee' }).click()
      await dialog.getByText('Enter a name.').waitFor()
      await dialog.getByLabel('Name').fill('Linen')
      await dialog.getByLabel('Type').selectOption('Percentage of the nights')
      await dialog.getByLabel('Percentage').fill('5')
      await dialog.getByText(/A stay of 4 nights for 2 in .* pays/).waitFor()
      await expectAccessible(page)
      await snapshot(page, 'new-fee')
      await dialog.getByRole('button', { name: 'Add fee' }).click()
      await page.getByText('Linen has been added').waitFor()
      expect(await feesOf()).toEqual(['City tax', 'Service fee', 'Linen'])

      // The list says what the example's quote says.
      const row = page.getByRole('row', { name: /^Linen/ })
      const amount = await row.getByRole('cell').nth(3).textContent()
      const example = page.getByRole('region', { name: 'Price of 4 nights for 2 guests' })
      await example.getByRole('row', { name: /^Linen/ }).waitFor()
      expect(
        await example
          .getByRole('row', { name: /^Linen/ })
          .getByRole('cell')
          .textContent(),
      ).toBe(amount)
      await expectAccessible(page)
      await snapshot(page, 'fees', { isWhole: true })

      await page.getByRole('button', { name: 'Edit Linen' }).click()
      await page.getByRole('dialog').getByLabel('Applies to').selectOption('Only on request')
      await page.getByRole('button', { name: 'Save fee' }).click()
      await page.getByText('Linen has been saved').waitFor()
      expect(await feesOf()).toEqual(['City tax', 'Service fee'])

      await page.getByRole('button', { name: 'Switch off City tax' }).click()
      await page.getByText('City tax is switched off').waitFor()
      expect(await feesOf()).toEqual(['Service fee'])
      await page.getByRole('button', { name: 'Undo' }).click()
      await page.getByText('City tax is switched on').waitFor()
      expect(await feesOf()).toEqual(['City tax', 'Service fee'])
      await page.getByLabel('Show fees that are switched off').check()
      await page.getByRole('row', { name: /Late check-in.*Switched off/ }).waitFor()
    })
  })

  test('a fee that is renamed keeps the price that a colleague has set meanwhile', async () => {
    const fees = async () => {
      const { body } = await portal.service.ask(`${A}/fee-types`, { token: portal.database.tokens.viewer })
      return body.feeTypes as { id: string; label: string; amount: number | null }[]
    }
    const { id, amount } = (await fees()).find(({ label }) => label === 'City tax') ?? { id: '', amount: null }
    const token = portal.database.tokens.manager
    const before = { label: 'City tax', amount }
    await portal.visit({ as: 'manager', at: '#/fees' }, async (page) => {
      await page.getByRole('button', { name: 'Edit City tax' }).click()
      await portal.service.ask(`${A}/fee-types/${id}`, { token, method: 'PATCH', json: { amount: 1_000 } })
      await page.getByRole('dialog').getByLabel('Name').fill('Tourist tax')
      await page.getByRole('button', { name: 'Save fee' }).click()
      await page.getByText('Tourist tax has been saved').waitFor()
      expect((await fees()).find((fee) => fee.id === id)).toMatchObject({ label: 'Tourist tax', amount: 1_000 })
      // What was typed and taken back is no change.
      await page.getByRole('button', { name: 'Edit Tourist tax' }).click()
      await page.getByRole('dialog').getByLabel('Type').selectOption('Percentage of the nights')
      await page.getByRole('dialog').getByLabel('Percentage').fill('5')
      await page.getByRole('dialog').getByLabel('Type').selectOption('Fixed amount per stay')
      await portal.service.ask(`${A}/fee-types/${id}`, { token, method: 'PATCH', json: before })
      await page.getByRole('button', { name: 'Save fee' }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    })
    expect((await fees()).find((fee) => fee.id === id)).toMatchObject(before)
  })

  test('a fee that is refused says why at its field, and keeps what was typed', async () => {
    await portal.visit({ as: 'owner', at: '#/fees' }, async (page) => {
      await page.getByRole('button', { name: 'Add fee' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name').fill('Damage waiver')
      await dialog.getByLabel('Type').selectOption('Percentage of the nights')
      await dialog.getByLabel('Percentage').fill('120')
      await dialog.getByRole('button', { name: 'Add fee' }).click()
      await dialog.locator('.field-error').getByText('Must be').waitFor()
      expect(await dialog.getByLabel('Percentage').evaluate((field) => field.matches(':focus'))).toBe(true)
      expect(await dialog.getByRole('alert').textContent()).not.toContain('pct must be')
      expect(await dialog.getByLabel('Name').inputValue()).toBe('Damage waiver')
      expect(await dialog.getByLabel('Percentage').inputValue()).toBe('120')
    })
  })

  test('who is no manager sees the fees, and who may change them', async () => {
    await portal.visit({ as: 'desk', at: '#/fees', viewport: PHONE }, async (page) => {
      await page.getByText('City tax').first().waitFor()
      await page.getByText('Only managers and owners can change them.').waitFor()
      expect(await page.getByRole('button', { name: 'Add fee' }).count()).toBe(0)
      expect(await page.getByRole('button', { name: /^Switch/ }).count()).toBe(0)
    })
  })
})
