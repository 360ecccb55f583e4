/** People sign in with passkeys: links, devices, lost and copied ones, in a browser with virtual authenticators. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { version } from '../../package.json'
import { idOf, uuidOf } from '../../src/lib/ids.ts'
import {
  describeInBrowser,
  expectAccessible,
  openPortalInBrowser,
  PHONE,
  type PortalInBrowser,
  snapshot,
} from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'
import { TEST_LINKS } from '../support/people.ts'
import { addAuthenticator } from '../support/virtual-authenticator.ts'

const PEOPLE = '/agencies/demo/people'
const NOT_VALID = 'This link is no longer valid'

describeInBrowser('people with passkeys', () => {
  let portal: PortalInBrowser
  beforeAll(async () => {
    portal = await openPortalInBrowser()
  })
  afterAll(() => portal.close())

  const visit = (at: string, test: (page: Page) => Promise<void>) => portal.visit({ host: 'localhost', at }, test)
  const fragmentOf = (link: string) => link.slice(link.indexOf('#'))
  /** By the operator, as the command line does it. */
  const invite = async (name: string, role = 'desk') => {
    const { status, body } = await portal.service.portal(PEOPLE, { name, role })
    if (status !== 201) throw new Error(`Cannot invite a person in a test: ${JSON.stringify(body)}`)
    return { id: body.person.id as string, at: fragmentOf(body.invitation.link) }
  }
  const inviteAgain = async (id: string) => {
    const { body } = await portal.service.portal(`${PEOPLE}/${id}/invitations`, {})
    return fragmentOf(body.invitation.link)
  }
  const overview = (page: Page) => page.getByRole('heading', { level: 1, name: 'Overview' })
  const createPasskey = (page: Page) => page.getByRole('button', { name: 'Create passkey and sign in' })
  const signInButton = (page: Page) => page.getByRole('button', { name: 'Sign in with a passkey' })
  const join = async (page: Page) => {
    await createPasskey(page).click()
    await overview(page).waitFor()
  }
  /** To the screen where the one before signed out. */
  const signIn = async (page: Page) => {
    await signInButton(page).click()
    await page.locator('.account').waitFor()
  }
  const openMenu = async (page: Page, item: string) => {
    await page.locator('.account button').first().click()
    await page.getByRole('menuitem', { name: item }).click()
  }
  const signOut = async (page: Page) => {
    await openMenu(page, 'Sign out')
    await signInButton(page).waitFor()
  }
  const focused = (page: Page) => page.locator(':focus').textContent()
  const refused = async (page: Page, text: string) => {
    await signInButton(page).click()
    await page.getByRole('alert').getByText(text).waitFor()
  }

  test('an owner adds a person, who opens the link, makes a passkey with the keyboard alone, and is in', async () => {
    let link = ''
    await portal.visit({ host: 'localhost', as: 'owner', at: '#/people' }, async (page) => {
      await page.getByRole('button', { name: 'Add person' }).first().click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('button', { name: 'Add person' }).click()
      await dialog.getByText('Enter a name.').waitFor()
      await dialog.getByLabel('Name').fill('Maria Duarte')
      await dialog.getByLabel('E-mail').fill('maria@example.com')
      await dialog.getByRole('radio', { name: 'Manager' }).check()
      await expectAccessible(page)
      await snapshot(page, 'new-person')
      await dialog.getByRole('button', { name: 'Add person' }).click()
      const shown = page.getByRole('dialog', { name: 'Maria Duarte has been added' })
      link = (await shown.locator('pre').textContent()) ?? ''
      await expectAccessible(page)
      await snapshot(page, 'new-person-link')
      await shown.getByRole('button', { name: 'Done' }).click()
      expect(await page.getByText(link).count()).toBe(0)
      await page.getByRole('row', { name: /Maria Duarte.*Manager.*Invited.*Never/ }).waitFor()
    })
    expect(link).toStartWith(`${portal.service.baseUrl.replace('127.0.0.1', 'localhost')}/portal/#/join/hl_`)

    await visit(fragmentOf(link), async (page) => {
      const device = await addAuthenticator(page)
      await page.getByRole('heading', { name: 'Welcome, Maria Duarte' }).waitFor()
      // The secret is in neither the address nor the history.
      expect(page.url()).toEndWith('/portal/#/')
      expect(await page.evaluate('navigation.entries().map(({ url }) => url).join()')).not.toContain('hl_')
      expect(await page.getByLabel('Name of this device').inputValue()).toBe('Chrome on Linux')
      await expectAccessible(page)
      await snapshot(page, 'join')
      await page.keyboard.press('Enter')
      await overview(page).waitFor()
      expect(await device.passkeys()).toHaveLength(1)
      await page.locator('.account').getByText('Maria Duarte').waitFor()
      expect(await page.getByRole('link', { name: 'People' }).count()).toBe(0)
    })
    await visit(fragmentOf(link), async (page) => {
      await page.getByRole('heading', { name: NOT_VALID }).waitFor()
      await expectAccessible(page)
      await snapshot(page, 'link-not-valid')
      await page.getByRole('button', { name: 'Go to sign-in' }).click()
      await signInButton(page).waitFor()
    })
  })

  test('who gets no answer when the passkey is stored is told to sign in with it, not to ask for another link', async () => {
    const { at } = await invite('Joana')
    await portal.visit({ host: 'localhost', at, mayFail: true }, async (page) => {
      await addAuthenticator(page)
      let isLost = false
      await page.route('**/portal/session', async (route) => {
        if (isLost) return route.continue()
        isLost = true
        await route.fetch()
        await route.abort()
      })
      await createPasskey(page).click()
      await page.getByRole('alert').getByText('could not be reached').waitFor()
      await createPasskey(page).click()
      await page.getByRole('heading', { name: NOT_VALID }).waitFor()
      await page.getByText('the passkey that you have just created').waitFor()
      await page.getByRole('button', { name: 'Go to sign-in' }).click()
      await signIn(page)
      await page.locator('.account').getByText('Joana').waitFor()
    })
  })

  test('the passkey signs in again after signing out, and where there is none, the page says so', async () => {
    const { at } = await invite('Tomas')
    await visit(at, async (page) => {
      const device = await addAuthenticator(page)
      await join(page)
      await signOut(page)
      await expectAccessible(page)
      // The button has the focus.
      await page.keyboard.press('Enter')
      await overview(page).waitFor()
      await page.locator('.account').getByText('Tomas').waitFor()
      await signOut(page)
      await device.remove()
      await addAuthenticator(page)
      await refused(page, 'No passkey was used')
      expect(await focused(page)).toBe('Sign in with a passkey')
      await expectAccessible(page)
      await snapshot(page, 'no-passkey')
    })
  })

  test('a second passkey is added to one’s own account, renamed, and signs in without the first, which is removed', async () => {
    const { at } = await invite('Rita')
    await visit(at, async (page) => {
      const first = await addAuthenticator(page)
      await join(page)
      await openMenu(page, 'Your account')
      await page
        .getByRole('row', { name: /Chrome on Linux.*just now/ })
        .first()
        .waitFor()
      await page.getByText(`nightledger ${version} (source)`).waitFor()
      const add = page.getByRole('button', { name: 'Add passkey' })
      await add.click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('button', { name: 'Create passkey' }).click()
      await dialog.getByText('You already have a passkey on this device.').waitFor()
      await expectAccessible(page)
      await snapshot(page, 'add-passkey')

      const second = await addAuthenticator(page, 'usb')
      await dialog.getByLabel('Name').fill('Security key')
      await page.keyboard.press('Enter')
      await page.getByText('The passkey Security key has been added').waitFor()
      expect(await focused(page)).toBe('Add passkey')
      expect(await second.passkeys()).toHaveLength(1)
      await page.getByRole('button', { name: 'Actions for Security key' }).click()
      await page.getByRole('menuitem', { name: 'Rename' }).click()
      await dialog.getByLabel('Name').fill('Blue key')
      await page.keyboard.press('Enter')
      await page.getByRole('row', { name: /Blue key/ }).waitFor()
      await expectAccessible(page)
      await snapshot(page, 'account', { isWhole: true })

      await page.getByRole('button', { name: 'Actions for Chrome on Linux' }).click()
      await page.getByRole('menuitem', { name: 'Remove' }).click()
      await expectAccessible(page)
      await snapshot(page, 'remove-passkey')
      await dialog.getByRole('button', { name: 'Remove passkey' }).click()
      await page.getByText('The passkey Chrome on Linux has been removed').waitFor()
      await page.getByRole('button', { name: 'Actions for Blue key' }).click()
      expect(await page.getByRole('menuitem', { name: 'Remove (add another first)' }).isDisabled()).toBe(true)
      await page.keyboard.press('Escape')

      const [removed] = await first.passkeys()
      await first.remove()
      await signOut(page)
      await signIn(page)
      await signOut(page)
      await second.remove()
      const copy = await addAuthenticator(page)
      if (removed !== undefined) await copy.put(removed)
      await refused(page, 'passkey')
      expect(await page.locator('.account').count()).toBe(0)
    })
  })

  test('who has lost their devices gets another link, with which the old passkey and its session end', async () => {
    const { id, at } = await invite('Paulo')
    await visit(at, async (lost) => {
      await addAuthenticator(lost)
      await join(lost)
      let again = ''
      await portal.visit({ host: 'localhost', as: 'owner', at: '#/people' }, async (page) => {
        await page.getByRole('row', { name: /Paulo.*just now/ }).waitFor()
        await expectAccessible(page)
        await snapshot(page, 'people', { isWhole: true })
        await page.getByRole('button', { name: 'Actions for Paulo' }).click()
        await page.getByRole('menuitem', { name: 'Send another link' }).click()
        await page.getByText('their old passkeys (1) stop working').waitFor()
        await expectAccessible(page)
        await snapshot(page, 'send-link')
        await page.getByRole('button', { name: 'Create link' }).click()
        again = (await page.getByRole('dialog', { name: 'A link for Paulo' }).locator('pre').textContent()) ?? ''
      })
      // Nothing has ended yet: the old device may turn up again.
      await lost.reload()
      await overview(lost).waitFor()
      await visit(fragmentOf(again), async (page) => {
        await addAuthenticator(page)
        await join(page)
        await signOut(page)
        await signIn(page)
      })
      await lost.reload()
      await refused(lost, 'passkey')
      expect(await lost.locator('.account').count()).toBe(0)
      await lost.goto('about:blank')
      const latest = await inviteAgain(id)
      await lost.goto(`${portal.service.baseUrl.replace('127.0.0.1', 'localhost')}/portal/${fragmentOf(again)}`)
      await lost.getByRole('heading', { name: NOT_VALID }).waitFor()
      await visit(latest, async (page) => createPasskey(page).waitFor())
    })
  })

  test('a copy of a passkey is refused once the other has been used', async () => {
    const { at } = await invite('Carla')
    await visit(at, async (page) => {
      const device = await addAuthenticator(page)
      await join(page)
      const [before] = await device.passkeys()
      for (let times = 0; times < 2; times++) {
        await signOut(page)
        await signIn(page)
      }
      await signOut(page)
      if (before === undefined) throw new Error('The device has no passkey')
      await device.put(before)
      await refused(page, 'passkey')
      expect(await page.locator('.account').count()).toBe(0)
      await snapshot(page, 'passkey-refused')
    })
    // Refused attempts are written within a second, and the audit trail does not refresh by itself.
    await eventually('the audit trail has the attempt', async () => {
      const { body } = await portal.service.portal('/agencies/demo/audit?outcome=PASSKEY_CLONED')
      return body.totalItems === 1
    })
    await portal.visit({ host: 'localhost', as: 'owner', at: '#/audit' }, async (page) => {
      await page.getByRole('row', { name: /Tried to sign in.*copy of the passkey.*Carla.*Copied passkey/ }).waitFor()
      await page.getByLabel('Who').selectOption('Carla')
      await page.getByText('7 entries').waitFor()
    })
  })

  test('at an address that the passkeys do not belong to, the page says where they do', async () => {
    await portal.visit({ host: '127.0.0.1' }, async (page) => {
      await addAuthenticator(page)
      await refused(page, 'Passkeys work at localhost only, but you opened this page at 127.0.0.1.')
      await expectAccessible(page)
      await snapshot(page, 'wrong-origin')
    })
    const { at } = await invite('Nuno')
    await portal.visit({ host: '127.0.0.1', at }, async (page) => {
      await addAuthenticator(page)
      await createPasskey(page).click()
      await page.getByText('Passkeys work at localhost only').waitFor()
    })
    // The link is still good.
    await visit(at, async (page) => {
      await addAuthenticator(page)
      await join(page)
    })
  })

  test('a session of another device is ended from one’s own account; signing in again there costs nothing of what was typed', async () => {
    const { at } = await invite('Vera', 'owner')
    await visit(at, async (page) => {
      const device = await addAuthenticator(page)
      await join(page)
      const [passkey] = await device.passkeys()
      if (passkey === undefined) throw new Error('The device has no passkey')
      await portal.visit({ host: 'localhost', at: '#/keys', viewport: PHONE }, async (phone) => {
        await (await addAuthenticator(phone)).put(passkey)
        await signInButton(phone).click()
        await phone.getByRole('button', { name: 'Create key' }).click()
        await phone.getByLabel('Name').fill('Typed before')

        await openMenu(page, 'Your account')
        await page.getByText('This one').waitFor()
        await expectAccessible(page)
        await page.getByRole('button', { name: 'End the session of Chrome on Linux, this machine' }).click()
        await page.getByText('The session has been ended').waitFor()
        await page.getByRole('button', { name: /^End the session/ }).waitFor({ state: 'detached' })

        await phone.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
        const ended = phone.getByRole('dialog', { name: 'Your session has ended' })
        await ended.waitFor()
        await expectAccessible(phone)
        await snapshot(phone, 'session-ended')
        await ended.getByRole('button', { name: 'Sign in with a passkey' }).click()
        await ended.waitFor({ state: 'detached' })
        expect(await phone.getByLabel('Name').inputValue()).toBe('Typed before')
      })
      await page.reload()
      await page.getByRole('button', { name: 'End all others' }).click()
      await page.getByText('All other sessions have been ended').waitFor()
      await page.getByRole('main').getByRole('button', { name: 'Sign out' }).click()
      await signInButton(page).waitFor()
    })
  })

  test('a new role signs the person out, and one who is removed does not come back', async () => {
    const { at } = await invite('Sara')
    await visit(at, async (page) => {
      await addAuthenticator(page)
      await join(page)
      await portal.visit({ host: 'localhost', as: 'owner', at: '#/people' }, async (owner) => {
        const actOn = async (item: string) => {
          await owner.getByRole('button', { name: 'Actions for Sara' }).click()
          await owner.getByRole('menuitem', { name: item }).click()
        }
        await actOn('Edit')
        await owner.getByRole('dialog').getByRole('radio', { name: 'Viewer' }).check()
        await owner.getByText('A new role signs the person out.').waitFor()
        await expectAccessible(owner)
        await snapshot(owner, 'edit-person')
        await owner.getByRole('button', { name: 'Save' }).click()
        await owner.getByRole('row', { name: /Sara.*Viewer/ }).waitFor()
        await page.reload()
        await signIn(page)
        await page.locator('.account').getByText('Viewer').waitFor()

        await actOn('Remove')
        await expectAccessible(owner)
        await snapshot(owner, 'remove-person')
        await owner.getByRole('button', { name: 'Remove person' }).click()
        await owner.getByText('Sara has been removed').waitFor()
        await owner.getByRole('row', { name: /Sara/ }).waitFor({ state: 'detached' })
      })
      await page.reload()
      await refused(page, 'passkey')
    })
  })

  /** A link that signs in, as an identity provider's answer and `npm start` make it. */
  const linkFor = async (personId: string, agencySlug = 'demo') => {
    const [agency] = await portal.database.sql`select agency_id from agency where slug = ${agencySlug}`
    const of = { agencyId: idOf('agc', agency?.['agency_id']), personId, kind: 'sign_in' } as const
    const { link, secret } = TEST_LINKS.make(of, { now: Date.now(), lifetimeMs: 600_000 })
    await portal.database.sql`
      insert into person_link (secret_sha256, agency_id, person_id, kind, created_at, expires_at)
      values (${link.sha256}, ${uuidOf(of.agencyId)}, ${uuidOf(personId)}, 'sign_in', now(), now() + interval '10 minutes')`
    return secret
  }

  test('a link signs in immediately, but asks where somebody is signed in', async () => {
    const { id } = await invite('Bruno')
    const other = await invite('Olga')
    await visit(`#/join/${await linkFor(id)}`, async (page) => {
      await overview(page).waitFor()
      await page.locator('.account').getByText('Bruno').waitFor()
      // Opened in the same tab: only the fragment differs.
      const open = async () => {
        const secret = await linkFor(other.id)
        await page.evaluate(`location.hash = '#/join/${secret}'`)
        await page.getByRole('heading', { name: 'Sign in as Olga?' }).waitFor()
        expect(page.url()).not.toContain(secret)
      }
      await open()
      await expectAccessible(page)
      await snapshot(page, 'sign-in-link')
      await page.getByRole('button', { name: 'Stay signed in as Bruno' }).click()
      await page.locator('.account').getByText('Bruno').waitFor()
      await open()
      await page.getByRole('button', { name: 'Sign in as Olga' }).click()
      await overview(page).waitFor()
      await page.locator('.account').getByText('Olga').waitFor()
    })
  })

  test('a link is not read again once it has signed somebody in: that would count as a wrong link of the address', async () => {
    const [first, second] = [await invite('Hugo'), await invite('Ines')]
    await visit('', async (page) => {
      const answers: number[] = []
      page.on('response', (response) => {
        if (new URL(response.url()).pathname === '/portal/links') answers.push(response.status())
      })
      for (const [name, id] of [
        ['Hugo', first.id],
        ['Ines', second.id],
      ] as const) {
        await page.evaluate(`location.hash = '#/join/${await linkFor(id)}'`)
        if (name === 'Ines') await page.getByRole('button', { name: 'Sign in as Ines' }).click()
        await page.locator('.account').getByText(name).waitFor()
        await page.waitForLoadState('networkidle')
      }
      expect(answers).toEqual([200, 200])
    })
  })

  test('another tab of the browser shows who has signed in since, and keeps what was typed', async () => {
    const [before, next] = [await invite('Artur', 'owner'), await invite('Lena', 'owner')]
    await visit(`#/join/${await linkFor(before.id)}`, async (page) => {
      await page.getByRole('link', { name: 'API keys' }).click()
      await page.getByRole('button', { name: 'Create key' }).click()
      await page.getByLabel('Name').fill('Typed before')
      const tab = await page.context().newPage()
      await tab.goto(page.url().replace(/#.*/, `#/join/${await linkFor(next.id)}`))
      await tab.getByRole('button', { name: 'Sign in as Lena' }).click()
      await tab.locator('.account').getByText('Lena').waitFor()
      await page.getByText('You are now signed in as Lena').waitFor()
      await page.locator('.account').getByText('Lena').waitFor()
      expect(await page.getByLabel('Name').inputValue()).toBe('Typed before')
    })
  })

  test('who belongs to several agencies chooses one; links that are no longer valid are not offered', async () => {
    const agency = { slug: 'harbour', name: 'Harbour Stays', currency: 'EUR', timezone: 'Europe/Lisbon' }
    await portal.service.portal('/agencies', agency)
    const here = await invite('Ana')
    const { body } = await portal.service.portal('/agencies/harbour/people', { name: 'Ana Reis', role: 'viewer' })
    const secrets = [await linkFor(here.id), await linkFor(body.person.id, 'harbour'), `hl_${'x'.repeat(72)}`]
    await visit(`#/choose/${secrets.join('.')}`, async (page) => {
      await page.getByRole('heading', { name: 'Choose an agency' }).waitFor()
      expect(await page.getByRole('listitem').count()).toBe(2)
      expect(page.url()).toEndWith('/portal/#/')
      await expectAccessible(page)
      await snapshot(page, 'choose-agency')
      await page.getByRole('button', { name: 'Harbour Stays harbour: Ana Reis, Viewer' }).click()
      await page.locator('.account').getByText('Ana Reis').waitFor()
      await page.getByText('No units yet').waitFor()
    })
  })

  test('who takes too long to choose can sign in again', async () => {
    const [first, second] = [await invite('Eva'), await invite('Nuno')]
    const secrets = [await linkFor(first.id), await linkFor(second.id)]
    await visit(`#/choose/${secrets.join('.')}`, async (page) => {
      const choice = page.getByRole('button', { name: /Nuno/ })
      await choice.waitFor()
      await portal.database.sql`delete from person_link where kind = 'sign_in'`
      await choice.click()
      // Whether the link is no longer valid, or many were not before it.
      await page.getByRole('button', { name: 'Go to sign-in' }).click()
      await signInButton(page).waitFor()
    })
  })

  test('who is signed in by a link while the connection breaks is in once it is back, and nobody else’s name is shown', async () => {
    const [before, next] = [await invite('Tiago'), await invite('Vera')]
    await portal.visit({ host: 'localhost', at: `#/join/${await linkFor(before.id)}`, mayFail: true }, async (page) => {
      await page.locator('.account').getByText('Tiago').waitFor()
      await page.evaluate(`location.hash = '#/join/${await linkFor(next.id)}'`)
      const button = page.getByRole('button', { name: 'Sign in as Vera' })
      await button.waitFor()
      await page.route('**/portal/v1/agencies/demo', (route) => route.abort(), { times: 1 })
      await button.click()
      await page.locator('.account').getByText('Vera').waitFor()
    })
  })

  test('the last owner who can sign in is neither removed nor given another role', async () => {
    const agency = { slug: 'lonely', name: 'Lonely Stays', currency: 'EUR', timezone: 'Europe/Lisbon' }
    await portal.service.portal('/agencies', agency)
    const { body } = await portal.service.portal('/agencies/lonely/people', { name: 'Inês', role: 'owner' })
    await visit(fragmentOf(body.invitation.link), async (page) => {
      await addAuthenticator(page)
      await join(page)
      await page.getByRole('link', { name: 'People' }).click()
      await page.getByRole('button', { name: 'Actions for Inês' }).click()
      await page.getByRole('menuitem', { name: 'Remove' }).click()
      await page.getByText('This is you').waitFor()
      await page.getByRole('button', { name: 'Remove person' }).click()
      await page.getByRole('alert').getByText('last owner').waitFor()
      await page.getByRole('button', { name: 'Cancel' }).click()
      await page.getByRole('row', { name: /Inês.*You.*Owner/ }).waitFor()
    })
  })
})
