import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { type Receiver, startReceiver } from '../events/webhooks/support/receiver.ts'
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
/** As the service counts. */
const FAILURES_IN_A_ROW_MAX = 20

describeInBrowser('webhooks', () => {
  let portal: PortalInBrowser
  let receiver: Receiver
  let url: string
  let booked = 0
  beforeAll(async () => {
    receiver = startReceiver(null)
    url = `http://127.0.0.1:${receiver.port}/hooks`
    portal = await openPortalInBrowser({ WEBHOOK_ALLOW_HOSTS: `127.0.0.1:${receiver.port}` })
  })
  afterAll(async () => {
    await portal.close()
    await receiver.stop()
  })

  /** Far beyond the demo's own stays, one after the other. */
  const book = async (guest: string) => {
    const night = (n: number) => new Date(Date.UTC(2028, 2, 1 + n)).toISOString().slice(0, 10)
    const stay = { arrival: night(booked), departure: night(booked + 1) }
    booked += 1
    const { status, body } = await portal.service.ask(`${A}/bookings`, {
      json: { unit: 'alfama-loft', ...stay, guest: { firstName: guest, lastName: 'Byron' } },
      token: portal.database.tokens.desk,
    })
    expect(status).toBe(201)
    return body.booking
  }
  const register = async (page: Page) => {
    await page.getByRole('button', { name: 'Register endpoint' }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Address').fill('http://example.com/hooks')
    await dialog.getByLabel('Name').fill('Channel manager')
    await dialog.getByRole('button', { name: 'Register endpoint' }).click()
    await dialog.getByText('must begin with https://').last().waitFor()
    expect(await dialog.getByLabel('Name').inputValue()).toBe('Channel manager')
    await expectAccessible(page)
    await snapshot(page, 'webhook-register')
    await dialog.getByLabel('Address').fill(url)
    await dialog.getByRole('button', { name: 'Register endpoint' }).click()
    const shown = page.getByRole('dialog', { name: 'Channel manager is registered' })
    const secret = await shown.locator('pre').textContent()
    expect(secret).toStartWith('whsec_')
    await snapshot(page, 'webhook-secret')
    await shown.getByRole('button', { name: 'I have stored it' }).click()
    return secret
  }

  test('an endpoint is registered, tested, switched off by its failures, seen, and switched on with all that has waited', async () => {
    await portal.visit({ as: 'owner', at: '#/webhooks' }, async (page) => {
      await page.getByText('No endpoints yet').waitFor()
      await snapshot(page, 'webhooks-empty')
      await register(page)
      await page.getByText('Nothing sent yet').waitFor()

      // A test, answered badly and well.
      receiver.answer = () => new Response(null, { status: 404 })
      await page.getByRole('button', { name: 'Send a test' }).click()
      const ping = page.getByRole('dialog')
      await ping.getByText('there is nothing at this address').first().waitFor()
      await snapshot(page, 'webhook-ping')
      receiver.answer = () => new Response(null, { status: 204 })
      await ping.getByRole('button', { name: 'Send another' }).click()
      await ping.getByText('It works.').waitFor()
      await expectAccessible(page)
      await ping.getByRole('button', { name: 'Close' }).last().click()

      // What it is told of a booking.
      await book('Ada')
      const delivered = page.locator('details', { hasText: 'Ada Byron, Alfama Loft, 1 – 2 Mar 2028' })
      await delivered.getByText('Delivered').waitFor()
      await delivered.locator('summary').click()
      await delivered.getByText('answered 204').waitFor()
      await delivered.getByRole('button', { name: 'Send again' }).click()
      await eventually(
        'the delivery is sent again',
        () => receiver.received.filter(({ body }) => body.includes('booking.created')).length === 2,
      )

      // All that was sent today, again.
      await page.getByRole('button', { name: 'Send again…' }).click()
      const again = page.getByRole('dialog')
      await again.getByLabel('Only messages that were given up').uncheck()
      await expectAccessible(page)
      await again.getByRole('button', { name: 'Send again' }).click()
      await again.getByText('1 sent again.').waitFor()
      await snapshot(page, 'webhook-resend')
      // Nothing that was entered is lost.
      await page.keyboard.press('Escape')
      await again.waitFor({ state: 'detached' })
      await eventually(
        'it arrives a third time',
        () => receiver.received.filter(({ body }) => body.includes('booking.created')).length === 3,
      )

      // So many failures in a row switch it off.
      receiver.answer = () => new Response(null, { status: 503 })
      for (let failure = 0; failure < FAILURES_IN_A_ROW_MAX; failure++) await book('Grace')
      await eventually('the endpoint is switched off', async () => {
        const { body } = await portal.service.ask(`${A}/webhook-endpoints`, { token: portal.database.tokens.owner })
        return body.webhookEndpoints[0].status === 'disabled'
      })
      const waiting = await book('Hedy')
      await page.reload()
      await page.getByText('Switched off automatically.').waitFor()
      await page.getByText(/Waiting to be sent: \d+ messages and 1 later event\./).waitFor()
      await page.locator('details').first().locator('summary').click()
      await expectAccessible(page)
      await snapshot(page, 'webhook', { isWhole: true })

      receiver.answer = () => new Response(null, { status: 204 })
      await page.getByRole('button', { name: 'Switch on…' }).click()
      const switchOn = page.getByRole('dialog')
      await switchOn.getByText(/Waiting to be sent: \d+ messages and 1 later event/).waitFor()
      await expectAccessible(page)
      await snapshot(page, 'webhook-switch-on')
      await switchOn.getByRole('button', { name: 'Switch on and send' }).click()
      await page.getByText('waiting messages are being sent').waitFor()
      await eventually('what has waited arrives', () => receiver.received.some(({ body }) => body.includes(waiting.id)))
      await page.locator('details', { hasText: 'Hedy Byron' }).getByText('Delivered').waitFor()
    })
  })

  test('the secret is rotated with an overlap, the address is changed, and the endpoint is deleted', async () => {
    await portal.visit({ as: 'owner', at: '#/webhooks' }, async (page) => {
      await page.getByRole('link', { name: 'Channel manager' }).click()
      await page.getByRole('heading', { name: 'Channel manager' }).waitFor()
      const act = async (item: string) => {
        await page.getByRole('button', { name: 'More actions' }).click()
        await page.getByRole('menuitem', { name: item }).click()
        return page.getByRole('dialog')
      }
      const rotate = await act('Rotate the secret')
      await rotate.getByRole('button', { name: 'Rotate secret' }).click()
      expect(await page.getByRole('dialog').locator('pre').textContent()).toStartWith('whsec_')
      await page.getByRole('button', { name: 'I have stored it' }).click()
      await page.getByText('Also signs until').waitFor()

      const change = await act('Change address, name or events')
      await change.getByLabel('Name').fill('Cleaners’ planner')
      const boxes = await Promise.all((await change.getByRole('checkbox').all()).map((box) => box.isChecked()))
      expect(boxes).toEqual([true, false, false])
      await change.getByLabel('Changes to rates').check()
      await change.getByLabel('Changes to bookings').uncheck()
      await expectAccessible(page)
      await snapshot(page, 'webhook-change')
      await change.getByRole('button', { name: 'Save' }).click()
      await page.getByRole('heading', { name: 'Cleaners’ planner' }).waitFor()
      await page.getByText('Changes to rates').waitFor()
      const rates = { seasons: [{ name: 'May', from: '2029-05-01', to: '2029-06-01', nightlyPrice: 9_900 }] }
      const set = { json: rates, method: 'PUT', token: portal.database.tokens.owner }
      expect((await portal.service.ask(`${A}/units/alfama-loft/rates`, set)).status).toBe(200)
      await eventually('the change of rates arrives', () =>
        receiver.received.some(({ body }) => body.includes('"rates.updated"')),
      )
      await page.reload()
      await page.locator('details', { hasText: 'Rates or restrictions changed' }).getByText('Delivered').waitFor()

      const remove = await act('Delete endpoint')
      await remove.getByRole('button', { name: 'Delete endpoint' }).click()
      await page.getByText('No endpoints yet').waitFor()
      expect(page.url()).toEndWith('#/webhooks')
    })
  })

  test('who is no owner sees the endpoints, and is told who can change them', async () => {
    const register = await portal.service.ask(`${A}/webhook-endpoints`, {
      json: { url, description: 'Channel manager' },
      token: portal.database.tokens.owner,
    })
    expect(register.status).toBe(201)
    await portal.visit({ as: 'viewer', at: '#/webhooks', viewport: PHONE }, async (page) => {
      await page.getByText('Only an owner of the agency can register or change endpoints').waitFor()
      await expectAccessible(page)
      await page.getByRole('link', { name: 'Channel manager' }).click()
      await page.getByText('Managers and owners can send a test').waitFor()
      expect(await page.getByRole('button', { name: 'Send a test' }).count()).toBe(0)
      expect(await page.getByRole('button', { name: 'More actions' }).count()).toBe(0)
    })
  })

  test('the address that a colleague has changed meanwhile stays when the name is changed', async () => {
    const token = portal.database.tokens.owner
    const json = { url, description: 'Locks' }
    const { body } = await portal.service.ask(`${A}/webhook-endpoints`, { json, token })
    const path = `${A}/webhook-endpoints/${body.webhookEndpoint.id}`
    await portal.visit({ as: 'owner', at: `#/webhooks/${body.webhookEndpoint.id}`, mayFail: true }, async (page) => {
      await page.getByRole('button', { name: 'More actions' }).click()
      await page.getByRole('menuitem', { name: 'Change address, name or events' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name').fill('Door locks')
      const { status } = await portal.service.ask(path, { json: { url: `${url}/new` }, method: 'PATCH', token })
      expect(status).toBe(200)
      // The page behind the dialog reads the endpoint again.
      await page.context().setOffline(true)
      await page.context().setOffline(false)
      await page.getByText(`${url}/new`).first().waitFor()
      await dialog.getByRole('button', { name: 'Save' }).click()
      await page.getByText('Door locks has been saved').waitFor()
    })
    const after = await portal.service.ask(path, { token })
    expect(after.body.webhookEndpoint).toMatchObject({ url: `${url}/new`, description: 'Door locks' })
  })
})
