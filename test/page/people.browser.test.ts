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

  test('an owner gives a program a token, with which it may do what the role says until it is revoked', async () => {
    await portal.visit({ as: 'owner', at: '#/people' }, async (page) => {
      const programs = page.getByRole('region', { name: 'For programs' })
      await programs.getByRole('row', { name: /Demo owner.*You/ }).waitFor()
      await programs.getByRole('button', { name: 'Create token' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('button', { name: 'Create token' }).click()
      await dialog.getByText('Enter a name.').waitFor()
      await dialog.getByLabel('Name').fill('Nightly export')
      await dialog.getByRole('radio', { name: 'Manager' }).check()
      await dialog.getByLabel('Expires').selectOption('In a year')
      await expectAccessible(page)
      await snapshot(page, 'new-token')
      await dialog.getByRole('button', { name: 'Create token' }).click()

      const shown = page.getByRole('dialog', { name: 'Nightly export is ready' })
      const secret = (await shown.locator('pre').first().textContent()) ?? ''
      expect(secret).toStartWith('hp_live_')
      expect((await whoIs(secret)).body.actor).toMatchObject({ name: 'Nightly export', role: 'manager' })
      await snapshot(page, 'new-token-secret')
      await shown.getByRole('button', { name: 'I have stored it' }).click()
      expect(await page.getByText(secret).count()).toBe(0)

      await programs.getByRole('row', { name: /Nightly export.*Manager/ }).waitFor()
      await expectAccessible(page)
      await page.getByRole('button', { name: 'Revoke Nightly export' }).click()
      await page.getByRole('button', { name: 'Revoke token', exact: true }).click()
      await page.getByText('Nightly export has been revoked').waitFor()
      expect((await whoIs(secret)).status).toBe(401)
      await page.getByLabel('Show revoked and expired tokens').check()
      await programs.getByRole('row', { name: /Nightly export.*Revoked/ }).waitFor()
    })
  })

  test('who is signed in with a token is warned before revoking it', async () => {
    await portal.visit({ as: 'owner', at: '#/people' }, async (page) => {
      await page.getByRole('button', { name: 'Revoke Demo owner' }).click()
      await page.getByText('You are signed in with this token').waitFor()
      await expectAccessible(page)
      await snapshot(page, 'revoke-token')
      await page.getByRole('button', { name: 'Cancel' }).click()
    })
  })

  test('who is signed in with a token has sessions and no passkeys', async () => {
    await portal.visit({ as: 'owner', at: '#/account' }, async (page) => {
      await page.getByText('Only people have passkeys').waitFor()
      await page.getByText('This one').waitFor()
      expect(await page.getByRole('button', { name: 'Add passkey' }).count()).toBe(0)
      await expectAccessible(page)
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
