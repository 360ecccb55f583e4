import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import {
  describeInBrowser,
  expectAccessible,
  openPortalInBrowser,
  PHONE,
  type PortalInBrowser,
  snapshot,
} from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'

const A = '/portal/v1/agencies/demo'

describeInBrowser('guests', () => {
  let portal: PortalInBrowser
  beforeAll(async () => {
    portal = await openPortalInBrowser()
  })
  afterAll(() => portal.close())

  const guestsNamed = async (search: string) => {
    const { body } = await portal.service.ask(`${A}/guests?search=${search}`, { token: portal.database.tokens.viewer })
    return body.guests
  }

  test('a guest is found by a part of the name, and the stays lead to the bookings', async () => {
    await portal.visit({ as: 'viewer', at: '#/guests' }, async (page) => {
      await page.getByRole('row', { name: 'Hana Kobayashi' }).waitFor()
      await snapshot(page, 'guests')
      await page.getByLabel('Search').fill('zuzan')
      await page.getByText('1 guest', { exact: true }).waitFor()
      await expectAccessible(page)
      await page.getByRole('link', { name: 'Zuzanna Nowak' }).click()
      await page.getByRole('heading', { name: 'Zuzanna Nowak' }).waitFor()
      await page.getByText('needs the role Desk').waitFor()
      await page.getByRole('table', { name: 'Stays of the guest' }).waitFor()
      await expectAccessible(page)
      await snapshot(page, 'guest', { isWhole: true })
      await page.getByRole('table').getByRole('link').first().click()
      await page.getByRole('heading', { name: 'Zuzanna Nowak' }).waitFor()
      await page.getByRole('link', { name: 'Contact and stays' }).click()
      await page.getByRole('link', { name: 'Guests' }).first().waitFor()
      await page.getByRole('main').getByRole('link', { name: 'Guests' }).click()
      expect(await page.getByLabel('Search').inputValue()).toBe('zuzan')
      await page.getByLabel('Search').fill('nobody at all')
      await page.getByText('No guest matches').waitFor()
      await expectAccessible(page)
    })
  })

  test('contact details are changed; an address that belongs to another guest is refused at its field, and nothing typed is lost', async () => {
    const [guest] = await guestsNamed('noah')
    await portal.visit({ as: 'desk', at: `#/guests/${guest.id}`, viewport: PHONE }, async (page) => {
      await page.getByRole('button', { name: 'Edit contact details' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Phone').fill('+31 20 000 0000')
      await dialog.getByLabel('E-mail').fill('emma.lindqvist@example.com')
      await dialog.getByRole('button', { name: 'Save' }).click()
      await dialog.getByText('Another guest has this address.').waitFor()
      expect(await dialog.getByLabel('E-mail').getAttribute('aria-invalid')).toBe('true')
      expect(await dialog.getByLabel('Phone').inputValue()).toBe('+31 20 000 0000')
      expect(await dialog.getByRole('link', { name: 'See who has it' }).getAttribute('href')).toBe(
        '#/guests?search=emma.lindqvist%40example.com',
      )
      await expectAccessible(page)
      await snapshot(page, 'guest-edit')
      await dialog.getByLabel('E-mail').fill('noah@example.com')
      await dialog.getByRole('button', { name: 'Save' }).click()
      await page.getByText('Noah de Vries has been saved').waitFor()
      await page.getByRole('link', { name: 'noah@example.com' }).waitFor()
      await eventually('the change is stored', async () => {
        const [changed] = await guestsNamed('noah')
        return changed.email === 'noah@example.com' && changed.phone === '+31 20 000 0000'
      })
    })
  })

  test('contact details that a colleague has changed meanwhile stay', async () => {
    const [guest] = await guestsNamed('emma')
    await portal.visit({ as: 'desk', at: `#/guests/${guest.id}`, mayFail: true }, async (page) => {
      await page.getByRole('button', { name: 'Edit contact details' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Phone').waitFor()
      const { status } = await portal.service.ask(`${A}/guests/${guest.id}`, {
        token: portal.database.tokens.manager,
        method: 'PATCH',
        json: { phone: '+46 8 111 1111' },
      })
      expect(status).toBe(200)
      // The page behind the dialog reads the guest again.
      await page.context().setOffline(true)
      await page.context().setOffline(false)
      await page.locator('a[href="tel:+4681111111"]').waitFor()
      await dialog.getByLabel('Nationality').fill('Sweden')
      await dialog.getByRole('button', { name: 'Save' }).click()
      await page.getByText('Emma Lindqvist has been saved').waitFor()
    })
    const [changed] = await guestsNamed('emma')
    expect(changed).toMatchObject({ phone: '+46 8 111 1111', nationality: 'Sweden' })
  })

  test('an owner hands over what is held about a guest, sees what an erasure takes, and erases', async () => {
    const [guest] = await guestsNamed('kobayashi')
    // The stream says that the guest is gone while their page is still there.
    const visit = { as: 'owner', at: `#/guests/${guest.id}`, mayFail: true } as const
    await portal.visit(visit, async (page) => {
      await page.getByRole('heading', { name: 'Their data' }).waitFor()
      await expectAccessible(page)
      await snapshot(page, 'guest-data', { isWhole: true })
      const fileOf = async (name: string) => {
        const [download] = await Promise.all([
          page.waitForEvent('download'),
          page.getByRole('button', { name }).click(),
        ])
        return [download.suggestedFilename(), readFileSync(await download.path(), 'utf8')] as const
      }
      const [jsonName, json] = await fileOf('Everything (JSON)')
      expect(jsonName).toBe('guest.json')
      const held = JSON.parse(json)
      expect(held).toMatchObject({ agency: { slug: 'demo' }, guest: { id: guest.id, email: guest.email } })
      const [csvName, csv] = await fileOf('Stays (CSV)')
      expect([csvName, csv.trim().split('\n').length]).toEqual(['stays.csv', held.bookings.length + 1])

      await page.getByRole('button', { name: 'Erase this guest' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText('Name, e-mail, phone and nationality').waitFor()
      await expectAccessible(page)
      await snapshot(page, 'guest-erase')
      await dialog.getByRole('button', { name: 'Cancel' }).click()
      expect(await guestsNamed('kobayashi')).toHaveLength(1)

      await page.getByRole('button', { name: 'Erase this guest' }).click()
      await dialog.getByRole('button', { name: 'Erase for good' }).click()
      await page.getByText('The guest has been erased').waitFor()
      await page.getByRole('heading', { name: 'Guests', exact: true }).waitFor()
      await page.getByRole('link', { name: 'Hana Kobayashi' }).waitFor({ state: 'detached' })
    })
    expect(await guestsNamed('kobayashi')).toEqual([])
  })

  test('a guest whom somebody else erases meanwhile is not shown any longer', async () => {
    const [guest] = await guestsNamed('nowak')
    await portal.visit({ as: 'desk', at: `#/guests/${guest.id}`, mayFail: true }, async (page) => {
      await page.getByText('Erasing a guest needs the role Owner.').waitFor()
      const { owner } = portal.database.tokens
      const path = `${A}/guests/${guest.id}/erase`
      expect((await portal.service.ask(path, { token: owner, method: 'POST' })).status).toBe(200)
      await page.getByText('Guest not found').waitFor()
      expect(await page.getByText('Nowak').count()).toBe(0)
    })
  })
})
