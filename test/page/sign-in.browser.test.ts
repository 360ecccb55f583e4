import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import {
  describeInBrowser,
  expectAccessible,
  openPortalInBrowser,
  type PortalInBrowser,
  signInWithToken,
  snapshot,
} from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'
import { TEST_PORTAL_TOKEN } from '../support/service-process.ts'

const AGENCY = '/agencies/demo'

describeInBrowser('signing in', () => {
  let portal: PortalInBrowser
  beforeAll(async () => {
    portal = await openPortalInBrowser()
  })
  afterAll(() => portal.close())

  const asked = (page: Page) => page.getByRole('button', { name: 'Sign in with a passkey' })

  /** The title follows a moment after what is drawn. */
  const titled = (page: Page, title: string) =>
    eventually(`the title is ${title}`, async () => (await page.title()) === title)

  test('a token opens the agency until one signs out', async () => {
    await portal.visit({}, async (page) => {
      await asked(page).waitFor()
      await snapshot(page, 'sign-in')
      // As copied from a terminal.
      await signInWithToken(page, ` ${portal.database.tokens.owner}\n`)
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
      await titled(page, 'Overview · Tejo Stays')
      await page.reload()
      await page.getByRole('heading', { name: 'Overview' }).waitFor()

      await page.getByRole('button', { name: /Demo owner/ }).click()
      await page.getByRole('menuitem', { name: 'Sign out' }).click()
      await asked(page).waitFor()
      await page.reload()
      await asked(page).waitFor()
      expect(await page.getByText('Tejo Stays').count()).toBe(0)
    })
  })

  test('a wrong token is refused in words, and stays to be mended', async () => {
    await portal.visit({}, async (page) => {
      await signInWithToken(page, 'hp_live_wrong')
      await page.getByText('This token is not valid').waitFor()
      const field = page.getByLabel('Access token')
      expect(await field.inputValue()).toBe('hp_live_wrong')
      // No browser offers to keep it.
      expect([await field.getAttribute('type'), await field.getAttribute('autocomplete')]).toEqual(['text', 'off'])
      await page.locator(':focus[name=token]').waitFor()
      await expectAccessible(page)
      await snapshot(page, 'sign-in-wrong')
    })
  })

  test('the operator chooses an agency, and may change to another', async () => {
    await portal.service.portal('/agencies', {
      slug: 'harbour',
      name: 'Harbour Stays',
      currency: 'JPY',
      timezone: 'Asia/Tokyo',
    })
    await portal.visit({}, async (page) => {
      await signInWithToken(page, TEST_PORTAL_TOKEN)
      await page.getByRole('button', { name: /Tejo Stays/ }).waitFor()
      await expectAccessible(page)
      await snapshot(page, 'agency-choice')
      await page.getByRole('button', { name: /Tejo Stays/ }).click()
      await page.getByText('In house tonight').first().waitFor()

      await page.getByRole('button', { name: /Operator/ }).click()
      await page.getByRole('menuitem', { name: 'Change agency' }).click()
      await page.getByRole('button', { name: /Harbour Stays/ }).click()
      await page.getByText('No units yet').waitFor()
      await expectAccessible(page)
      await snapshot(page, 'overview-empty')
      // The choice outlives the tab.
      await page.reload()
      await page.getByText('No units yet').waitFor()
      await titled(page, 'Overview · Harbour Stays')
    })
  })

  test('the operator who cannot sign out is told so, also before choosing an agency', async () => {
    await portal.visit({ as: 'operator', mayFail: true }, async (page) => {
      await page.route('**/portal/session', (route) => route.abort())
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByText('Signing out was not completed').waitFor()
      await page.getByRole('heading', { name: 'Choose an agency' }).waitFor()
    })
  })

  test('the operator has another agency in each tab, and a new tab opens the one chosen last', async () => {
    const [first, second] = ['Alcantara', 'Belem']
    for (const name of [first, second])
      await portal.service.portal('/agencies', { slug: name.toLowerCase(), name, currency: 'EUR', timezone: 'UTC' })
    await portal.visit({ as: 'operator' }, async (page) => {
      await page.getByRole('button', { name: first }).click()
      await titled(page, `Overview · ${first}`)
      const inherited = await page.context().newPage()
      await inherited.goto(page.url())
      await titled(inherited, `Overview · ${first}`)

      const other = await page.context().newPage()
      await other.goto(page.url())
      await other.getByRole('button', { name: /Operator/ }).click()
      await other.getByRole('menuitem', { name: 'Change agency' }).click()
      await other.getByRole('button', { name: second }).click()
      await titled(other, `Overview · ${second}`)

      for (const tab of [page, inherited]) {
        await tab.reload()
        await tab.getByText('No units yet').waitFor()
        await titled(tab, `Overview · ${first}`)
      }
      const last = await page.context().newPage()
      await last.goto(page.url())
      await titled(last, `Overview · ${second}`)
    })
  })

  test('a session that ends while someone types costs nothing of what was typed', async () => {
    const made = await portal.service.portal(`${AGENCY}/access-tokens`, { name: 'Rita', role: 'owner' })
    const { accessToken, secret } = made.body
    await portal.visit({ at: '#/keys' }, async (page) => {
      await signInWithToken(page, secret)
      await page.getByRole('button', { name: 'Create key' }).click()
      await page.getByLabel('Name').fill('Typed before')
      await portal.service.ask(`/portal/v1${AGENCY}/access-tokens/${accessToken.id}`, {
        method: 'DELETE',
        token: TEST_PORTAL_TOKEN,
      })
      await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
      await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor()
      await snapshot(page, 'session-ended')
      await signInWithToken(page, portal.database.tokens.owner)
      await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor({ state: 'detached' })
      expect(await page.getByLabel('Name').inputValue()).toBe('Typed before')
      await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
      await page.getByRole('dialog', { name: 'Typed before is ready' }).waitFor()
    })
  })

  test('an identity provider is offered beside the passkey, or instead of it; one that knows nobody is answered in words', async () => {
    const offered = async (only: boolean, test: (page: Page) => Promise<void>, operator = true) =>
      portal.visit({}, async (page) => {
        await page.route('**/portal/sign-in/options', async (route) => {
          const answer = await (await route.fetch()).json()
          await route.fulfill({ json: { ...answer, oidc: { name: 'Tejo ID' }, only, operator } })
        })
        await page.goto('about:blank')
        await page.goto(`${portal.service.baseUrl}/portal/#/sign-in?refused=unknown`)
        const link = page.getByRole('link', { name: 'Sign in with Tejo ID' })
        expect(await link.getAttribute('href')).toBe('/portal/oidc/start')
        await page.getByText('You could not be signed in with this account').waitFor()
        await expectAccessible(page)
        await snapshot(page, only ? 'sign-in-provider-only' : 'sign-in-provider')
        await page.reload()
        await link.waitFor()
        expect(await page.getByText('You could not be signed in').count()).toBe(0)
        await test(page)
      })
    await offered(false, (page) => asked(page).waitFor())
    await offered(true, async (page) => {
      expect(await asked(page).count()).toBe(0)
      await page.getByRole('button', { name: 'Use the operator’s token instead' }).click()
      await page.getByLabel('Operator’s token').fill(TEST_PORTAL_TOKEN)
      await page.keyboard.press('Enter')
      await page.getByText('Choose an agency').waitFor()
    })
    // With ADMIN_PORT.
    await offered(true, async (page) => expect(await page.getByRole('button').count()).toBe(0), false)
    await offered(
      false,
      async (page) => {
        await page.getByRole('button', { name: 'Use an access token instead' }).click()
        await page.getByText('For programs.').waitFor()
      },
      false,
    )
  })
})
