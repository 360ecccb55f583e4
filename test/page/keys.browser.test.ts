import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import {
  describeInBrowser,
  expectAccessible,
  openPortalInBrowser,
  PHONE,
  type PortalInBrowser,
  snapshot,
} from '../support/browser.ts'

describeInBrowser('API keys', () => {
  let portal: PortalInBrowser
  beforeAll(async () => {
    portal = await openPortalInBrowser()
  })
  afterAll(() => portal.close())

  const partnerStatus = async (secret: string) => {
    const { status } = await portal.service.ask('/partner/v1/units', { token: secret })
    return status
  }
  const openForm = async (page: Page) => {
    await page.getByRole('button', { name: 'Create key' }).click()
    return page.getByRole('dialog')
  }

  test('a key that was made opens the partner API, and no longer once it is revoked', async () => {
    await portal.visit({ as: 'owner', at: '#/keys' }, async (page) => {
      await page.getByRole('row', { name: 'Demo key' }).waitFor()
      const dialog = await openForm(page)
      await snapshot(page, 'new-key')
      await dialog.getByLabel('Name').fill('Harbour website')
      await dialog.getByLabel('Expires').selectOption('In 90 days')
      await dialog.getByRole('button', { name: 'Create key' }).click()

      const shown = page.getByRole('dialog', { name: 'Harbour website is ready' })
      const secret = (await shown.locator('pre').first().textContent()) ?? ''
      expect(secret).toStartWith('hr_live_')
      expect(await shown.locator('pre').last().textContent()).toContain(`Bearer ${secret}`)
      await expectAccessible(page)
      await snapshot(page, 'new-key-secret')
      expect(await partnerStatus(secret)).toBe(200)

      // Nothing but the button closes it.
      await page.keyboard.press('Escape')
      await page.keyboard.press('Escape')
      await page.mouse.click(5, 5)
      expect(await shown.isVisible()).toBe(true)
      await shown.getByRole('button', { name: 'I have stored it' }).click()
      expect(await page.getByText(secret).count()).toBe(0)

      await page.reload()
      await page.getByRole('row', { name: /Harbour website.*just now/ }).waitFor()
      await page.getByRole('row', { name: /Demo key.*Never/ }).waitFor()
      await snapshot(page, 'keys')
      await page.getByRole('button', { name: 'Revoke Harbour website' }).click()
      await page.getByRole('button', { name: 'Revoke key' }).click()
      await page.getByText('Harbour website has been revoked').waitFor()
      expect(await partnerStatus(secret)).toBe(401)
      await page.getByLabel('Show revoked and expired keys').check()
      await page.getByRole('row', { name: /Harbour website.*Revoked/ }).waitFor()
      expect(page.url()).toEndWith('#/keys?all=true')
      await expectAccessible(page)
    })
  })

  test('a key whose secret was lost on the way is made once, and the page says to revoke it', async () => {
    await portal.visit({ as: 'owner', at: '#/keys', mayFail: true }, async (page) => {
      const dialog = await openForm(page)
      await dialog.getByLabel('Name').fill('Lost')
      let isLost = true
      await page.route(
        (url) => url.pathname.endsWith('/keys'),
        async (route) => {
          if (!isLost || route.request().method() !== 'POST') return route.continue()
          isLost = false
          await route.fetch()
          await route.abort()
        },
      )
      await dialog.getByRole('button', { name: 'Create key' }).click()
      await dialog.getByText('The service could not be reached.').waitFor()
      await dialog.getByRole('button', { name: 'Create key' }).click()
      const lost = page.getByRole('dialog', { name: 'The key was created, but its secret was lost' })
      await lost.getByText('it cannot be shown again. Revoke Lost and create another key.').waitFor()
      await expectAccessible(page)
      await lost.getByRole('button', { name: 'Close', exact: true }).last().click()
      await lost.waitFor({ state: 'detached' })
      // Strict: there is one.
      await page.getByRole('row', { name: 'Lost' }).waitFor()
    })
  })

  test('a form that is refused says why, and keeps what was typed', async () => {
    await portal.visit({ as: 'owner', at: '#/keys' }, async (page) => {
      const dialog = await openForm(page)
      await dialog.getByLabel('Name').fill('x'.repeat(121))
      await dialog.getByRole('button', { name: 'Create key' }).click()
      await dialog.getByText('Must be 1 to 120 characters').first().waitFor()
      expect(await dialog.getByLabel('Name').inputValue()).toBe('x'.repeat(121))
      await expectAccessible(page)
    })
  })

  test('who is no owner sees the keys and makes none', async () => {
    await portal.visit({ as: 'viewer', at: '#/keys', viewport: PHONE }, async (page) => {
      await page.getByText('Demo key').waitFor()
      expect(await page.getByRole('button', { name: 'Create key' }).count()).toBe(0)
      expect(await page.getByRole('button', { name: /^Revoke/ }).count()).toBe(0)
    })
  })
})
