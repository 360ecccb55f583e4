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

describeInBrowser('the frame around the screens', () => {
  let portal: PortalInBrowser
  beforeAll(async () => {
    portal = await openPortalInBrowser()
  })
  afterAll(() => portal.close())

  const focused = (page: Page) => page.locator(':focus')
  const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name })

  test('axe, on the overview', async () => {
    await portal.visit({ as: 'owner' }, async (page) => {
      await page.getByRole('heading', { name: 'Revenue' }).waitFor()
      await expectAccessible(page)
      await snapshot(page, 'overview', { isWhole: true })
    })
  })

  test('in forced colours, the present screen, the chosen zoom and the kinds of stays can be told apart', async () => {
    await portal.visit({ as: 'owner', at: '#/calendar' }, async (page) => {
      await page.emulateMedia({ forcedColors: 'active' })
      await page.locator('.chart-unit').first().waitFor()
      const groundOf = (selector: string) =>
        page.evaluate(`getComputedStyle(document.querySelector('${selector}')).backgroundColor`)
      for (const [one, other] of [
        ['.nav-link[aria-current]', '.nav-link:not([aria-current])'],
        ['.segment > :checked + span', '.segment > :not(:checked) + span'],
        ['.calendar-swatch.chart-bar-checked-in', '.calendar-swatch.chart-bar-confirmed'],
      ] as const) {
        expect([one, await groundOf(one)]).not.toEqual([one, await groundOf(other)])
      }
    })
  })

  test('the keyboard alone reaches every screen, and knows where it is', async () => {
    await portal.visit({ as: 'viewer' }, async (page) => {
      await heading(page, 'Overview').waitFor()
      await page.keyboard.press('Tab')
      expect(await focused(page).textContent()).toBe('Skip to content')
      await page.keyboard.press('Enter')
      expect(await focused(page).getAttribute('id')).toBe('main')

      await page.reload()
      await heading(page, 'Overview').waitFor()
      await page.keyboard.press('Tab')
      for (const name of ['Overview', 'Calendar', 'Bookings', 'Guests', 'Units and rates', 'Fees', 'API keys']) {
        await page.keyboard.press('Tab')
        expect(await focused(page).textContent()).toBe(name)
      }
      await page.keyboard.press('Enter')
      await heading(page, 'API keys').waitFor()
      // A screen reader reads the new screen's name.
      expect(await focused(page).textContent()).toBe('API keys')
      expect(await page.getByRole('link', { name: 'API keys' }).getAttribute('aria-current')).toBe('page')
      await page.goBack()
      await heading(page, 'Overview').waitFor()
    })
  })

  test('a booking is printed dark on white, and without what is only pressed', async () => {
    await portal.visit({ as: 'owner', at: '#/bookings', colorScheme: 'dark' }, async (page) => {
      await page.locator('tbody a').first().click()
      const title = page.getByRole('heading', { name: 'Stay', exact: true })
      await title.waitFor()
      // A4, upright.
      await page.setViewportSize({ width: 718, height: 1046 })
      await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
      await page.locator('.bar').waitFor({ state: 'hidden' })
      expect(await page.getByRole('button').filter({ visible: true }).allTextContents()).toEqual([])
      const colour = await title.evaluate((heading) => heading.computedStyleMap().get('color')?.toString())
      // That of the light theme.
      expect(colour).toBe('rgb(23, 26, 33)')
    })
  })

  test('a menu is walked with the arrows, and Escape gives the focus back', async () => {
    await portal.visit({ as: 'viewer' }, async (page) => {
      const button = page.getByRole('button', { name: /Demo viewer/ })
      await button.focus()
      await page.keyboard.press('Enter')
      // The first item is focused once the browser has said that the menu is open.
      await page.locator(':focus', { hasText: 'Your account' }).waitFor()
      await page.keyboard.press('ArrowDown')
      expect(await focused(page).textContent()).toBe('Dark theme')
      await page.keyboard.press('Escape')
      expect(await page.getByRole('menuitem', { name: 'Sign out' }).isVisible()).toBe(false)
      expect(await focused(page).textContent()).toContain('Demo viewer')

      await page.keyboard.press('Enter')
      await page.getByRole('menuitem', { name: 'Dark theme' }).waitFor()
      await expectAccessible(page)
    })
  })

  test('a chosen theme wins over that of the system, and stays', async () => {
    await portal.visit({ as: 'viewer', colorScheme: 'light' }, async (page) => {
      const shown = () => page.locator('html').getAttribute('data-theme')
      await heading(page, 'Overview').waitFor()
      expect(await shown()).toBe('light')
      await page.getByRole('button', { name: /Demo viewer/ }).click()
      await page.getByRole('menuitem', { name: 'Dark theme' }).click()
      expect(await shown()).toBe('dark')
      await page.reload()
      await heading(page, 'Overview').waitFor()
      expect(await shown()).toBe('dark')
    })
  })

  test('on a phone the screens of the day are in a bar, and the others in a sheet', async () => {
    await portal.visit({ as: 'owner', viewport: PHONE }, async (page) => {
      await page.getByRole('link', { name: 'Bookings' }).click()
      await heading(page, 'Bookings').waitFor()
      await page.getByRole('button', { name: 'More' }).click()
      await page.getByRole('dialog', { name: 'Tejo Stays' }).waitFor()
      await snapshot(page, 'more')
      await page.getByRole('link', { name: 'API keys' }).click()
      await heading(page, 'API keys').waitFor()
      expect(await page.getByRole('dialog').count()).toBe(0)
    })
  })

  test('a lost connection is said, and so is that it is back', async () => {
    await portal.visit({ as: 'owner', at: '#/keys', mayFail: true }, async (page) => {
      await page.getByText('Demo key').first().waitFor()
      await page.context().setOffline(true)
      await page.getByText('Reconnecting…').waitFor()
      await snapshot(page, 'reconnecting')
      await page.getByRole('button', { name: 'Create key' }).click()
      await page.getByLabel('Name').fill('Not lost')
      await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
      await page.getByText('The service could not be reached').waitFor()
      await page.context().setOffline(false)
      await page.getByText('Reconnecting…').waitFor({ state: 'detached' })
      await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
      await page.getByRole('dialog', { name: 'Not lost is ready' }).waitFor()
    })
  })

  test('a service that accepts connections and answers nothing is said to be lost, and what was asked for comes when it is back', async () => {
    await portal.visit({ as: 'viewer', at: '#/overview', mayFail: true }, async (page) => {
      await heading(page, 'Overview').waitFor()
      portal.service.kill('SIGSTOP')
      try {
        await page.getByRole('link', { name: 'API keys' }).click()
        await page.getByText('Reconnecting…').waitFor()
      } finally {
        portal.service.kill('SIGCONT')
      }
      await page.getByText('Demo key').first().waitFor()
      await page.getByText('Reconnecting…').waitFor({ state: 'detached' })
    })
  })
})
