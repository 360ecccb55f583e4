import { afterAll, beforeAll, expect, test } from 'bun:test'
import {
  describeInBrowser,
  expectAccessible,
  openPortalInBrowser,
  type PortalInBrowser,
  snapshot,
} from '../support/browser.ts'

describeInBrowser('signing in', () => {
  let portal: PortalInBrowser
  beforeAll(async () => {
    portal = await openPortalInBrowser()
  })
  afterAll(() => portal.close())

  test('a token opens the agency, and signing out closes it', async () => {
    await portal.visit({}, async (page) => {
      await snapshot(page, 'sign-in')
      await page.getByLabel('Access token').fill(` ${portal.database.tokens.owner}\n`)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
      expect(await page.title()).toBe('Overview · Tejo Stays')
      await snapshot(page, 'overview')
    })
  })
  test('axe', async () => {
    await portal.visit({}, async (page) => {
      await page.getByLabel('Access token').waitFor()
      await expectAccessible(page)
    })
  })
})
