import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import {
  describeInBrowser,
  expectAccessible,
  openPortalInBrowser,
  PHONE,
  type PortalInBrowser,
  signInWithToken,
  snapshot,
} from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'

const A = '/portal/v1/agencies/demo'

describeInBrowser('bookings', () => {
  let portal: PortalInBrowser
  let months = 0
  beforeAll(async () => {
    portal = await openPortalInBrowser()
  })
  afterAll(() => portal.close())

  /** Calls the portal API as a colleague does. */
  const ask = async (path: string, json?: object, method = json === undefined ? 'GET' : 'POST') => {
    const { status, body } = await portal.service.ask(`${A}${path}`, {
      ...(json === undefined ? {} : { json }),
      method,
      token: portal.database.tokens.desk,
    })
    expect([path, status < 300]).toEqual([path, true])
    return body
  }
  /** The 1st to the 5th of a month of its own, far beyond the demo's stays. */
  const book = async (stay: object) => {
    const month = new Date(Date.UTC(2028, 2 + months++, 1)).toISOString().slice(0, 7)
    return (await ask('/bookings', { unit: 'alfama-loft', arrival: `${month}-01`, departure: `${month}-05`, ...stay }))
      .booking
  }
  test('the filters stay within the screen of a laptop, whether some are set or not', async () => {
    for (const at of ['#/bookings', '#/bookings?status=confirmed'])
      await portal.visit({ as: 'desk', at }, async (page) => {
        const filters = page.locator('.bookings-filters')
        await filters.waitFor()
        for (const width of [1100, 1240, 1280, 1320, 1366, 1440]) {
          await page.setViewportSize({ width, height: 800 })
          const beyond = await filters.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)
          expect([at, width, beyond]).toEqual([at, width, 0])
        }
      })
  })

  const reload = async (id: string) => (await ask(`/bookings/${id}`)).booking
  const today = () => new Date().toISOString().slice(0, 10)
  const at = ({ id }: { id: string }) => `#/bookings/${id}`
  const more = async (page: Page, item: string) => {
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: item }).click()
    return page.getByRole('dialog')
  }

  test('a booking is found by its status, guest, reference and id, and the filters are in the address', async () => {
    const guest = { firstName: 'Ada', lastName: 'Byron', email: 'ada@example.com' }
    const booking = await book({ guest, sourceRef: 'ADA-77', status: 'option' })
    await portal.visit({ as: 'viewer', at: '#/bookings' }, async (page) => {
      // Who is in house or arrives next comes first; what has ended is one click away, and so is everything.
      await page.getByRole('heading', { name: /bookings in house or upcoming/ }).waitFor()
      await snapshot(page, 'bookings')
      const departures = (await ask(`/bookings?from=${today()}&order=earliest_first&pageSize=3`)).bookings
      const [first] = await page.locator('tbody tr').allTextContents()
      expect(first).toContain(departures[0].unitName)
      await page.getByText('Past', { exact: true }).click()
      await page.getByRole('heading', { name: /past bookings/ }).waitFor()
      expect(page.url()).toContain('when=past')
      await page.goBack()
      await page.getByRole('heading', { name: /in house or upcoming/ }).waitFor()
      await page.getByText('All', { exact: true }).click()
      await page.getByRole('row', { name: /Ada Byron.*Alfama Loft.*Hold/ }).waitFor()
      await page.getByLabel('Status').selectOption('Checked out')
      await page.getByRole('row', { name: 'Checked out' }).first().waitFor()
      expect(page.url()).toContain('status=checked_out')
      expect(await page.getByRole('row', { name: 'Ada Byron' }).count()).toBe(0)
      await page.getByRole('button', { name: 'Clear' }).click()

      for (const search of ['byro', 'ADA-77', booking.id]) {
        await page.getByLabel('Search').fill(search)
        await eventually('the search is in the address', () => page.url().endsWith(`search=${search}`))
        await page.getByText('1 booking found').waitFor()
        await page.getByRole('row', { name: 'Ada Byron' }).waitFor()
      }
      await page.getByLabel('Search').fill('nobody at all')
      await page.getByText('Nothing found for').waitFor()
      await expectAccessible(page)
      await snapshot(page, 'bookings-none')
      await page.getByRole('button', { name: 'Clear all filters' }).click()

      // A page further, into a booking, and back to where one was.
      await page.getByRole('button', { name: 'Next page' }).click()
      await page.getByText('51–').waitFor()
      await page.getByRole('row').nth(1).getByRole('link').click()
      await page.getByRole('heading', { name: 'History' }).waitFor()
      await page.getByRole('main').getByRole('link', { name: 'Bookings' }).click()
      await page.getByText('51–').waitFor()
      await expectAccessible(page)
    })
  })

  test('a hold is extended, confirmed, checked in, expected to stay on, checked out; its history tells who did what', async () => {
    const guest = { firstName: 'Grace', lastName: 'Hopper', phone: '+351 21 000 0000' }
    const notes = 'Arrives late: leave the key with the porter.'
    const booking = await book({ guest, notes, status: 'option', children: 1, extraBed: true })
    await portal.visit({ as: 'desk', at: at(booking) }, async (page) => {
      await page.getByText(notes).waitFor()
      await page.getByRole('row', { name: /Extra bed.*€60\.00/ }).waitFor()
      await page.getByRole('row', { name: /^Total/ }).waitFor()

      const hold = await more(page, 'Extend the hold')
      await hold.getByRole('button', { name: '+ 3 days' }).click()
      await expectAccessible(page)
      await snapshot(page, 'booking-hold')
      await hold.getByRole('button', { name: 'Extend hold' }).click()
      await page.getByText('changed when the hold expires').waitFor()
      const longer = Date.parse((await reload(booking.id)).holdExpiresAt) - Date.parse(booking.holdExpiresAt)
      expect(Math.round(longer / 3_600_000)).toBe(72)
      // The page may have read the audit trail before the booking.
      await page.getByText(/\([45] d.* left\)/).waitFor()

      await page.getByRole('button', { name: 'Confirm' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Confirm' }).click()
      await page.getByRole('button', { name: 'Check in' }).click()
      await page.getByText('Checking in cannot be taken back').waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'Check in' }).click()
      await page.getByText('checked the guest in').waitFor()

      const extension = await more(page, 'Expected extension')
      await extension.getByLabel('Expected to stay until').fill(`${booking.departure.slice(0, 7)}-09`)
      await extension.getByRole('button', { name: 'Save' }).click()
      await page.getByText('noted an expected extension').waitFor()
      await expectAccessible(page)
      await snapshot(page, 'booking', { isWhole: true })

      await page.getByRole('button', { name: 'Check out' }).click()
      const early = page.getByRole('dialog')
      await early.getByLabel('Shorten the stay to').waitFor()
      await early.getByLabel('Keep the price').waitFor()
      await expectAccessible(page)
      await snapshot(page, 'booking-early')
      await early.getByRole('button', { name: 'Check out' }).click()
      // The history is read again with the booking.
      await page.getByText('Checked out', { exact: true }).first().waitFor()
      await page.getByText('checked the guest out').waitFor()
      expect(await reload(booking.id)).toMatchObject({
        status: 'checked_out',
        departure: `${booking.arrival.slice(0, 7)}-02`,
        totalAmount: booking.totalAmount,
      })
      expect(await page.locator('.history-text > p').allTextContents()).toEqual([
        'Demo desk (access token) checked the guest out',
        'The price was kept.',
        'Demo desk (access token) noted an expected extension',
        'Demo desk (access token) checked the guest in',
        'Demo desk (access token) confirmed it',
        'Demo desk (access token) changed when the hold expires',
        'Demo desk (access token) put the nights on hold',
      ])
    })
  })

  test('a move shows its price before it is written, and keeps the old one if asked to', async () => {
    const booking = await book({ guest: { firstName: 'Hedy', lastName: 'Lamarr' } })
    const taken = await book({ unit: 'baixa-studio' })
    const month = booking.arrival.slice(0, 7)
    await portal.visit({ as: 'desk', at: at(booking) }, async (page) => {
      await page.getByRole('button', { name: 'Change dates or unit' }).click()
      const dialog = page.getByRole('dialog')
      // Nights that are taken: the page says so before anything is sent.
      await dialog.getByLabel('Unit').selectOption('Baixa Studio')
      await dialog.getByLabel('Arrival').fill(taken.arrival)
      await dialog.getByText('These nights are already booked').waitFor()
      await dialog.getByLabel('Unit').selectOption('Alfama Loft')
      await dialog.getByLabel('Arrival').fill(`${month}-02`)
      await dialog.getByLabel('Departure').fill(`${month}-09`)
      await dialog.getByText('The nights are free.').waitFor()
      await dialog.getByLabel('New price').waitFor()
      await dialog.getByLabel(/^Keep/).check()
      await expectAccessible(page)
      await snapshot(page, 'booking-move')
      expect((await reload(booking.id)).version).toBe(booking.version)
      await dialog.getByRole('button', { name: 'Change dates' }).click()
      await page.getByText('The price was kept.').waitFor()
      expect(await reload(booking.id)).toMatchObject({
        arrival: `${month}-02`,
        departure: `${month}-09`,
        totalAmount: booking.totalAmount,
      })
      // Seven nights at the price of four: the page does not pretend that the lines add up to it.
      await page.getByText('was agreed when this was booked or last moved').waitFor()
    })
  })

  test('a departure in the next year is typed on the keyboard, however slowly, and the arrival stays', async () => {
    const booking = await book({ arrival: '2030-12-28', departure: '2030-12-30' })
    await portal.visit({ as: 'desk', at: at(booking) }, async (page) => {
      await page.getByRole('button', { name: 'Change dates or unit' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Departure').focus()
      // In either order of day and month the field says 1 January 2030, or 30, on the way.
      await page.keyboard.type('01')
      await dialog.getByText('The nights are free.').waitFor()
      await page.keyboard.type('0')
      // The dialog is drawn again meanwhile, as after a change by a colleague.
      await page.setViewportSize(PHONE)
      await page.keyboard.type('12031')
      expect(await dialog.getByLabel('Departure').inputValue()).toBe('2031-01-01')
      expect(await dialog.getByLabel('Arrival').inputValue()).toBe('2030-12-28')
    })
  })

  test('of two people who change one booking the second sees what the first has done, loses no entry, and applies it again', async () => {
    const booking = await book({ guest: { firstName: 'Mary', lastName: 'Jackson' }, status: 'option' })
    await portal.visit({ as: 'manager', at: at(booking) }, async (page) => {
      const dialog = await more(page, 'Release the hold')
      await dialog.getByLabel('Reason').fill('The guest found another place')
      await ask(`/bookings/${booking.id}`, { status: 'confirmed', unit: 'graca-view' }, 'PATCH')
      await dialog.getByRole('button', { name: 'Release the hold' }).click()
      const note = dialog.getByRole('alert')
      await note.getByText('Demo desk changed this booking just now').waitFor()
      expect(await note.textContent()).toMatch(/StatusHold.*ConfirmedUnitAlfama Loft.*Graça View/)
      await expectAccessible(page)
      await snapshot(page, 'booking-conflict')
      expect((await reload(booking.id)).status).toBe('confirmed')
      expect(await dialog.getByLabel('Reason').inputValue()).toBe('The guest found another place')
      await dialog.getByRole('button', { name: 'anyway' }).click()
      await page.getByText('The nights are free again').waitFor()
      expect(await reload(booking.id)).toMatchObject({
        status: 'cancelled',
        cancelReason: 'The guest found another place',
        unitSlug: 'graca-view',
      })
    })
  })

  test('notes are added, and not over those that a colleague has written meanwhile', async () => {
    const booking = await book({ guest: { firstName: 'Jean', lastName: 'Bartik' } })
    await portal.visit({ as: 'desk', at: at(booking) }, async (page) => {
      await page.getByRole('button', { name: 'Add notes' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Notes').fill('Allergic to feathers')
      await ask(`/bookings/${booking.id}/notes`, { notes: 'Vegetarian' }, 'PUT')
      await dialog.getByRole('button', { name: 'Save notes' }).click()
      await dialog.getByText('Vegetarian').waitFor()
      expect((await reload(booking.id)).notes).toBe('Vegetarian')
      await dialog.getByLabel('Notes').fill('Vegetarian, allergic to feathers')
      await expectAccessible(page)
      await snapshot(page, 'booking-notes')
      await dialog.getByRole('button', { name: 'Save anyway' }).click()
      await page.getByText('Notes saved').waitFor()
      await page.locator('.booking-notes', { hasText: 'Vegetarian, allergic to feathers' }).waitFor()
      await page.getByText('changed the notes').first().waitFor()
      expect((await reload(booking.id)).notes).toBe('Vegetarian, allergic to feathers')
    })
    await portal.visit({ as: 'viewer', at: at(booking) }, async (page) => {
      await page.getByText('Vegetarian, allergic to feathers').waitFor()
      expect(await page.getByRole('button', { name: 'Edit notes' }).count()).toBe(0)
    })
  })

  test('a colleague’s booking and change appear by themselves', async () => {
    await portal.visit({ as: 'viewer', at: '#/fees' }, async (page) => {
      // The booking is made when the list has been read, and what follows the changes has not begun.
      const isBooked = Promise.withResolvers<void>()
      await page.route(/\/changes$/, async (route) => {
        await isBooked.promise
        await route.continue()
      })
      await page.goto(`${portal.service.baseUrl}/portal/#/bookings?when=all`)
      await page.getByRole('row').nth(1).waitFor()
      const booking = await book({ guest: { firstName: 'Radia', lastName: 'Perlman' }, status: 'option' })
      isBooked.resolve()
      await page.getByRole('link', { name: 'Radia Perlman' }).click()
      await page.getByText('put the nights on hold').waitFor()
      await ask(`/bookings/${booking.id}`, { status: 'confirmed' }, 'PATCH')
      await page.getByText('confirmed it').waitFor()
    })
  })

  test('a change is shown while others follow it without a pause', async () => {
    await portal.visit({ as: 'viewer', at: '#/fees' }, async (page) => {
      const follows = page.waitForRequest(/\/changes\?after=/)
      await page.goto(`${portal.service.baseUrl}/portal/#/bookings?when=all&search=Liskov`)
      await follows
      await book({ guest: { firstName: 'Barbara', lastName: 'Liskov' } })
      let isOver = false
      const others = (async () => {
        for (; !isOver; await Bun.sleep(50)) await book({})
      })()
      try {
        await page.getByRole('link', { name: 'Barbara Liskov' }).waitFor()
      } finally {
        isOver = true
        await others
      }
    })
  })

  test('a list that was opened when the session had ended follows changes once somebody has signed in again', async () => {
    await portal.visit({ as: 'viewer', at: '#/fees' }, async (page) => {
      await page.getByRole('heading', { level: 1, name: 'Fees' }).waitFor()
      await page.context().clearCookies()
      await page.goto(`${portal.service.baseUrl}/portal/#/bookings?when=all&search=Hamilton`)
      const ended = page.getByRole('dialog', { name: 'Your session has ended' })
      await signInWithToken(ended, portal.database.tokens.viewer)
      await page.getByText('Nothing found for').waitFor()
      await book({ guest: { firstName: 'Margaret', lastName: 'Hamilton' } })
      await page.getByRole('link', { name: 'Margaret Hamilton' }).waitFor()
    })
  })

  test('a list that takes longer to read than others take to change it is shown', async () => {
    await portal.visit({ as: 'viewer', at: '#/fees' }, async (page) => {
      let booked = 0
      let isOver = false
      // An answer takes until several bookings have been made.
      await page.route(/\/bookings\?/, async (route) => {
        const until = booked + 10
        await eventually('others have booked', () => booked >= until || isOver)
        await route.continue()
      })
      const follows = page.waitForRequest(/\/changes\?after=/)
      await page.goto(`${portal.service.baseUrl}/portal/#/bookings?when=all&search=nobody`)
      await follows
      const others = (async () => {
        for (; !isOver; await Bun.sleep(50), booked++) await book({})
      })()
      try {
        await page.getByText('Nothing found for').waitFor()
      } finally {
        isOver = true
        await others
      }
    })
  })

  test('changes are followed again after an answer that broke off midway', async () => {
    await portal.visit({ as: 'viewer', at: '#/fees', mayFail: true }, async (page) => {
      let reads = 0
      await page.route(/\/changes\?after=/, async (route) => {
        reads++
        if (reads === 1) await route.abort()
        else if (reads === 2) await route.fulfill({ contentType: 'application/json', body: '{"changes":[' })
        else await route.continue()
      })
      await page.goto(`${portal.service.baseUrl}/portal/#/bookings?when=all&search=Booth`)
      await page.getByText('Nothing found for').waitFor()
      await eventually('the answer broke off', () => reads >= 2)
      await book({ guest: { firstName: 'Kathleen', lastName: 'Booth' } })
      await page.getByRole('link', { name: 'Kathleen Booth' }).waitFor()
    })
  })

  test('a viewer sees everything of a booking, and is told which role changes it', async () => {
    const booking = await book({ guest: { firstName: 'Annie', lastName: 'Easley' } })
    await portal.visit({ as: 'viewer', at: at(booking), viewport: PHONE }, async (page) => {
      await page.getByText('changing it needs the role Desk or a higher one').waitFor()
      await page.getByText('booked it').waitFor()
      for (const name of ['Confirm', 'Check in', 'Change dates or unit', 'More actions'])
        expect(await page.getByRole('button', { name }).count()).toBe(0)
      await page.goto(`${portal.service.baseUrl}/portal/#/bookings/bkg_none`)
      await page.getByText('There is no such booking').waitFor()
      await expectAccessible(page)
    })
  })
})
