/** The overview stays true while it is left open. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { dayOf, dayText, isoOf } from '../../src/page/format/days.ts'
import { sheetWindow } from '../../src/page/screens/overview/day-sheet.ts'
import { describeInBrowser, openPortalInBrowser, type PortalInBrowser } from '../support/browser.ts'

const A = '/portal/v1/agencies/demo'

describeInBrowser('the overview, left open', () => {
  let portal: PortalInBrowser
  beforeAll(async () => {
    portal = await openPortalInBrowser()
  })
  afterAll(() => portal.close())

  /** Calls the portal API as a colleague does. */
  async function ask(path: string, method = 'GET', json?: object) {
    const token = portal.database.tokens.owner
    const answer = await portal.service.ask(`${A}${path}`, { token, method, ...(json === undefined ? {} : { json }) })
    expect([path, answer.status < 300]).toEqual([path, true])
    return answer.body
  }

  const tape = ({ from, to }: { from: number; to: number }) => ask(`/tape?from=${isoOf(from)}&to=${isoOf(to)}`)
  const today = async () => dayOf((await tape(sheetWindow(Math.floor(Date.now() / 86_400_000)))).today)

  test('shows what a colleague books, and how it continues', async () => {
    // All its nights are free.
    await ask('/units', 'POST', { slug: 'attic', name: 'Attic', basePrice: 10_000, cleaningFee: 4_000 })
    const day = await today()
    const stay = { unit: 'attic', arrival: isoOf(day + 30), departure: isoOf(day + 32) }
    await portal.visit({ as: 'viewer' }, async (page) => {
      await page.getByRole('heading', { name: 'Revenue' }).waitFor()
      const guest = { firstName: 'Mary', lastName: 'Jackson' }
      // The next hold to expire, and so the first one.
      const { booking } = await ask('/bookings', 'POST', { ...stay, guest, status: 'option', holdHours: 1 })
      const hold = page.getByRole('link', { name: 'Mary Jackson' })
      await hold.waitFor()
      await ask(`/bookings/${booking.id}`, 'PATCH', { status: 'confirmed' })
      await hold.waitFor({ state: 'detached' })
    })
  })

  test('continues to the next day by itself', async () => {
    const tomorrow = (await today()) + 1
    // The service's own clock stays where it is.
    const json = { ...(await tape(sheetWindow(tomorrow))), today: isoOf(tomorrow) }
    await portal.visit({ as: 'viewer' }, async (page) => {
      await page.clock.install()
      // The page would go by it.
      await page.route(/\/portal\/v1\/(?!.*changes\?after)/, async (route) => {
        const response = await route.fetch()
        const { date, ...headers } = response.headers()
        await route.fulfill({ response, headers })
      })
      await page.reload()
      await page.getByRole('heading', { name: 'Revenue' }).waitFor()
      await page.route(/\/tape\?/, (route) => route.fulfill({ json }))
      // To its noon: whatever time it is now, and however many hours the day has.
      await page.clock.fastForward((tomorrow + 0.5) * 86_400_000 - Date.now())
      await page.getByText(dayText(tomorrow, 'long', 'en-GB')).waitFor()
    })
  })
})
