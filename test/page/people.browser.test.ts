import { afterAll, beforeAll, expect, test } from 'bun:test'
import {
  describeInBrowser,
  expectAccessible,
  openPortalInBrowser,
  PHONE,
  type PortalInBrowser,
  snapshot,
} from '../support/browser.ts'

describeInBrowser('people', () => {
  let portal: PortalInBrowser
  beforeAll(async () => {
    portal = await openPortalInBrowser()
  })
  afterAll(() => portal.close())

  const whoIs = (token: string) => portal.service.ask('/portal/v1/me', { token })

  test('an owner gives a colleague access, who may then do what the role says until it is revoked', async () => {
    await portal.visit({ as: 'owner', at: '#/people' }, async (page) => {
      await page.getByRole('row', { name: /Demo owner.*You/ }).waitFor()
      await page.getByRole('button', { name: 'Add person' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('button', { name: 'Add person' }).click()
      await dialog.getByText('Enter a name.').waitFor()
      await dialog.getByLabel('Name').fill('Maria Duarte')
      await dialog.getByRole('radio', { name: 'Manager' }).check()
      await dialog.getByLabel('Access ends').selectOption('In a year')
      await expectAccessible(page)
      await snapshot(page, 'new-person')
      await dialog.getByRole('button', { name: 'Add person' }).click()

      const shown = page.getByRole('dialog', { name: 'Maria Duarte can now sign in' })
      const secret = (await shown.locator('pre').first().textContent()) ?? ''
      expect(secret).toStartWith('hp_live_')
      expect((await whoIs(secret)).body.actor).toMatchObject({ name: 'Maria Duarte', role: 'manager' })
      await snapshot(page, 'new-person-secret')
      await shown.getByRole('button', { name: 'I have stored it' }).click()
      expect(await page.getByText(secret).count()).toBe(0)

      await page.getByRole('row', { name: /Maria Duarte.*Manager/ }).waitFor()
      await expectAccessible(page)
      await snapshot(page, 'people', { isWhole: true })
      await page.getByRole('button', { name: 'Revoke Maria Duarte’s access' }).click()
      await page.getByRole('button', { name: 'Revoke access', exact: true }).click()
      await page.getByText('Maria Duarte’s access has been revoked').waitFor()
      expect((await whoIs(secret)).status).toBe(401)
      await page.getByLabel('Show revoked and expired access').check()
      await page.getByRole('row', { name: /Maria Duarte.*Revoked/ }).waitFor()
    })
  })

  test('an owner is warned before shutting out the last owner, who is the owner', async () => {
    await portal.visit({ as: 'owner', at: '#/people' }, async (page) => {
      await page.getByRole('button', { name: 'Revoke Demo owner’s access' }).click()
      await page.getByText('This is your own access').waitFor()
      await page.getByText('This is the last owner').waitFor()
      await expectAccessible(page)
      await snapshot(page, 'revoke-person')
      await page.getByRole('button', { name: 'Cancel' }).click()
    })
  })

  test('who is no owner is told why there is nothing to see', async () => {
    await portal.visit({ as: 'manager', at: '#/people', viewport: PHONE }, async (page) => {
      await page.getByText('For owners only').waitFor()
      await page.getByRole('button', { name: 'More' }).click()
      await page.getByRole('link', { name: 'API keys' }).waitFor()
      expect(await page.getByRole('link', { name: 'People' }).count()).toBe(0)
      await expectAccessible(page)
    })
  })
})
