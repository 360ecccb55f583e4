/** Signing in with a real OpenID provider, which is another site to the browser: it decides which cookies are sent on the way back. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { redirectUriOf } from '../../src/api/portal/oidc.ts'
import { describeInBrowser, expectAccessible, openPortalInBrowser, type PortalInBrowser } from '../support/browser.ts'
import { freePort } from '../support/free-port.ts'
import { type IdentityProvider, startIdentityProvider } from '../support/identity-provider.ts'

describeInBrowser('signing in with a provider', () => {
  let provider: IdentityProvider
  let portal: PortalInBrowser
  beforeAll(async () => {
    const port = freePort()
    const pageUrl = `http://localhost:${port}`
    provider = await startIdentityProvider({ redirectUri: redirectUriOf(pageUrl) })
    provider.accounts.set('ana', { email: 'ana@example.com', email_verified: true })
    provider.accounts.set('eve', { email: 'ana@example.com', email_verified: false })
    portal = await openPortalInBrowser({
      PORT: String(port),
      PUBLIC_URL: pageUrl,
      OIDC_ISSUER: provider.issuer,
      OIDC_CLIENT_ID: provider.clientId,
      OIDC_CLIENT_SECRET: provider.clientSecret,
    })
    const ana = { name: 'Ana', email: 'Ana@Example.com', role: 'desk' }
    await portal.service.portal('/agencies/demo/people', ana)
  })
  afterAll(async () => {
    await portal.close()
    await provider.goAway()
  })

  const visit = (test: (page: Page) => Promise<void>) =>
    portal.visit({ host: 'localhost', otherOrigin: provider.issuer }, test)
  const leave = (page: Page) =>
    page.getByRole('link', { name: `Sign in with ${new URL(provider.issuer).host}` }).click()
  const signInAs = async (page: Page, login: string) => {
    await leave(page)
    await page.locator('input[name=login]').fill(login)
    await page.locator('input[name=password]').fill('x')
    await page.locator('button[type=submit]').click()
  }

  test('a verified address opens its person, who comes back without being asked while the provider knows them', async () => {
    await visit(async (page) => {
      await signInAs(page, 'ana')
      await page.locator('.account').getByText('Ana').waitFor()
      expect(page.url()).toEndWith('/portal/#/')
      await page.getByRole('button', { name: /Ana/ }).click()
      await page.getByRole('menuitem', { name: 'Sign out' }).click()
      await leave(page)
      await page.locator('.account').getByText('Ana').waitFor()
      await expectAccessible(page)
    })
  })

  test('of somebody who belongs to several agencies, the agency that they choose is opened', async () => {
    const agency = { slug: 'harbour', name: 'Harbour Stays', currency: 'EUR', timezone: 'Europe/Lisbon' }
    await portal.service.portal('/agencies', agency)
    await portal.service.portal('/agencies/harbour/people', {
      name: 'A. Reis',
      email: 'ana@example.com',
      role: 'viewer',
    })
    await visit(async (page) => {
      await signInAs(page, 'ana')
      await page.getByRole('button', { name: /Harbour Stays/ }).click()
      await page.locator('.account').getByText('A. Reis').waitFor()
    })
  })

  test('an address that the provider has not verified opens nobody, and the page says whom to ask', async () => {
    await visit(async (page) => {
      await signInAs(page, 'eve')
      await page.getByText('You could not be signed in with this account').waitFor()
    })
  })
})
