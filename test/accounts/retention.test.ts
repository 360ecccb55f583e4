import { describe, expect, test } from 'bun:test'
import { dueAt, longest, type Retention } from '../../src/accounts/retention.ts'
import {
  type GuestPlace,
  type RetainedAgency,
  RetentionJob,
  type RetentionRows,
} from '../../src/accounts/retention-job.ts'
import type { Agency } from '../../src/core/catalogue/agency.ts'
import { formatNight, type Night } from '../../src/core/domain/night.ts'
import { DAY_MS } from '../../src/lib/clock.ts'
import { systemIds } from '../../src/lib/ids.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { AGENCY, sampleId } from '../support/samples.ts'

const DEFAULTS: Retention = { bookingYears: 10, guestMonths: 36, logYears: 10, deliveryDays: 90 }

function dueOn(day: string, own: Partial<Retention> = {}) {
  const due = dueAt(Date.parse(`${day}T12:00:00Z`), { ...DEFAULTS, ...own })
  return [formatNight(due.bookingsBefore), formatNight(due.guestsBefore), due.logBefore, due.deliveriesBefore]
}

describe('what is due', () => {
  test.each([
    ['on an ordinary day', '2036-05-15', {}, ['2026-05-15', '2033-05-15', '2026-05-01', '2036-02-01']],
    [
      'on 29 February, the last day of the shorter one',
      '2036-02-29',
      {},
      ['2026-02-28', '2033-02-28', '2026-02-01', '2035-12-01'],
    ],
    [
      'on the 31st, the last day of a shorter month',
      '2036-03-31',
      { guestMonths: 1 },
      ['2026-03-31', '2036-02-29', '2026-03-01', '2036-01-01'],
    ],
    [
      'over the turn of a year',
      '2036-01-01',
      { guestMonths: 1, deliveryDays: 7 },
      ['2026-01-01', '2035-12-01', '2026-01-01', '2035-12-01'],
    ],
  ])('%s', (_, day, own, expected) => {
    expect(dueOn(day, own)).toEqual(expected)
  })

  test('of months that agencies share is what the last of them no longer keeps, by its own settings or the defaults', () => {
    const short: Retention = { bookingYears: 1, guestMonths: 1, logYears: 1, deliveryDays: 7 }
    expect(longest([short, { ...short, logYears: 12 }], DEFAULTS)).toEqual({ ...short, logYears: 12 })
    expect(longest([short, DEFAULTS], DEFAULTS)).toEqual(DEFAULTS)
    expect(longest([], DEFAULTS)).toEqual(DEFAULTS)
  })
})

/** Guests and bookings by agency, as a fake database has them: all are due. */
class FakeRows implements RetentionRows {
  readonly guests = new Map<string, string[]>()
  readonly bookings = new Map<string, number>()
  readonly forgotten: string[] = []
  failing: string | null = null
  readonly held: { guests?: Promise<void>; bookings?: Promise<void> } = {}
  /** Statements that wait for `held`. */
  waiting = 0

  constructor(readonly all: readonly RetainedAgency[]) {}

  agencies = async () => this.all
  find = async () => ({})
  set = async () => {}
  async dueGuests(agencyId: string, { after, limit }: { before: Night; after: GuestPlace | null; limit: number }) {
    await this.#hold('guests')
    if (agencyId === this.failing) throw new Error('damaged')
    const all = this.guests.get(agencyId) ?? []
    const from = after === null ? 0 : all.indexOf(after.guestId) + 1
    const guestIds = all.slice(from, from + limit)
    const last = guestIds.at(-1)
    return { guestIds, next: last === undefined || guestIds.length < limit ? null : { createdAt: '', guestId: last } }
  }
  countDueBookings = async (agencyId: string) => this.bookings.get(agencyId) ?? 0
  async deleteBookings(agencyId: string, { limit }: { limit: number }) {
    await this.#hold('bookings')
    const left = this.bookings.get(agencyId) ?? 0
    this.bookings.set(agencyId, Math.max(0, left - limit))
    return Math.min(left, limit)
  }
  async #hold(what: 'guests' | 'bookings') {
    this.waiting += 1
    await this.held[what]
    this.waiting -= 1
  }
  countMonths = async () => 3
  forgetDeliveries = async (before: string) => void this.forgotten.push(before)
}

const NOW = Date.parse('2036-05-15T12:00:00Z')
const OTHER: Agency = { ...AGENCY, id: sampleId('agc', 'other') }

function openJob({ own = [AGENCY, OTHER], owner = true }: { own?: Agency[]; owner?: boolean } = {}) {
  const clock = new FakeClock(NOW)
  const rows = new FakeRows([AGENCY, OTHER].map(({ id }) => ({ agencyId: id, own: {} })))
  const erased: string[] = []
  const finished: string[] = []
  const failures: unknown[] = []
  const failing = { guestId: '', until: Promise.resolve(), finish: async () => {} }
  const job = new RetentionJob({
    rows,
    defaults: DEFAULTS,
    agencyById: (agencyId) => own.find(({ id }) => id === agencyId) ?? null,
    ownsDeliveries: () => owner,
    erasures: {
      eraseIfDue: async (agency, guestId, before, { actor, route }) => {
        if (guestId === failing.guestId) throw new Error('damaged guest')
        await failing.until
        erased.push(`${agency.id} ${guestId} ${formatNight(before)} ${actor.kind} ${route}`)
        return true
      },
      finish: (agencyId, guestIds) => {
        finished.push(`${agencyId} ${guestIds.length}`)
        return failing.finish()
      },
    },
    clock,
    newId: systemIds,
    onFailure: (error) => void failures.push(error),
  })
  return { clock, rows, job, erased, finished, failing, failures }
}

const guestIds = (count: number) => Array.from({ length: count }, (_, n) => sampleId('gst', `${n}`))

describe('a round', () => {
  test('erases the guests that are due page by page, as the system, deletes bookings, and forgets deliveries', async () => {
    const { rows, job, erased, finished, clock } = openJob()
    const ids = guestIds(250)
    rows.guests.set(AGENCY.id, ids)
    rows.bookings.set(OTHER.id, 1_200)
    const round = job.run({ isDryRun: false })
    let isOver = false
    void round.finally(() => {
      isOver = true
    })
    while (!isOver) await clock.advance(1_000)
    expect(await round).toEqual({ guests: 250, bookings: 1_200, deliveriesBefore: '2036-02-01', monthsToArchive: 3 })
    expect(erased).toEqual(ids.map((id) => `${AGENCY.id} ${id} 2033-05-15 system retention`))
    // Kept answers are cleaned once for a page.
    expect(finished).toEqual([100, 100, 50].map((count) => `${AGENCY.id} ${count}`))
    expect(rows.bookings.get(OTHER.id)).toBe(0)
    expect(rows.forgotten).toEqual(['2036-02-01'])
    expect(job.stats).toMatchObject({ guests: 250, bookings: 1_200, monthsToArchive: 3 })
  })

  test('that is a dry run says the same, and removes nothing', async () => {
    const { rows, job, erased } = openJob()
    rows.guests.set(AGENCY.id, guestIds(2))
    rows.bookings.set(OTHER.id, 7)
    const round = await job.run({ isDryRun: true })
    expect(round).toEqual({ guests: 2, bookings: 7, deliveriesBefore: '2036-02-01', monthsToArchive: 3 })
    expect([erased, rows.forgotten, rows.bookings.get(OTHER.id)]).toEqual([[], [], 7])
    expect(job.stats).toMatchObject({ guests: 0, bookings: 0 })
  })

  test('leaves the agencies of other processes, and deliveries that another process removes, to them', async () => {
    const { rows, job, erased } = openJob({ own: [OTHER], owner: false })
    rows.guests.set(AGENCY.id, guestIds(2))
    rows.bookings.set(AGENCY.id, 7)
    expect(await job.run({ isDryRun: false })).toMatchObject({ guests: 0, bookings: 0 })
    expect([erased, rows.forgotten, rows.bookings.get(AGENCY.id)]).toEqual([[], [], 7])
  })

  test('that fails for one agency has removed what is due of the others, and has not succeeded', async () => {
    const { rows, job, clock } = openJob()
    rows.failing = AGENCY.id
    rows.bookings.set(OTHER.id, 7)
    await clock.advance(DAY_MS)
    expect(await job.run({ isDryRun: false }).catch(String)).toBe('Error: damaged')
    expect(rows.bookings.get(OTHER.id)).toBe(0)
    expect(job.stats.sinceSuccessMs).toBe(DAY_MS)
    rows.failing = null
    await job.run({ isDryRun: true })
    expect(job.stats.sinceSuccessMs).toBe(DAY_MS)
    await job.run({ isDryRun: false })
    expect(job.stats.sinceSuccessMs).toBe(0)
  })

  test('in which a guest cannot be erased erases those after it, deletes bookings, and has not succeeded', async () => {
    const { rows, job, erased, failing, clock } = openJob()
    const ids = guestIds(6)
    rows.guests.set(AGENCY.id, ids)
    rows.bookings.set(AGENCY.id, 7)
    failing.guestId = ids[1] ?? ''
    await clock.advance(DAY_MS)
    expect(await job.run({ isDryRun: false }).catch(String)).toBe('Error: damaged guest')
    expect(erased.map((line) => line.split(' ')[1])).toEqual(ids.filter((id) => id !== failing.guestId))
    expect(rows.bookings.get(AGENCY.id)).toBe(0)
    expect(job.stats).toMatchObject({ guests: 5, bookings: 7, sinceSuccessMs: DAY_MS })
  })
})

describe('rounds', () => {
  test('begin within a minute of the start, then come once a day, and ten minutes after a failure', async () => {
    const { rows, job, clock, failures } = openJob()
    const rounds = async (ms: number) => {
      const before = rows.forgotten.length
      await clock.advance(ms)
      return rows.forgotten.length - before
    }
    job.start()
    expect(await rounds(59_000)).toBe(1)
    expect(await rounds(DAY_MS - 60_000)).toBe(0)
    rows.failing = AGENCY.id
    expect(await rounds(60_000)).toBe(1)
    expect(failures).toHaveLength(1)
    rows.failing = null
    expect(await rounds(600_000)).toBe(1)
    await job.stop()
    expect(await rounds(2 * DAY_MS)).toBe(0)
  })

  test.each(['guests', 'bookings'] as const)(
    'pause after each page of %s, so that writes do not wait',
    async (what) => {
      const { rows, job, clock } = openJob()
      if (what === 'guests') rows.guests.set(AGENCY.id, guestIds(101))
      else rows.bookings.set(AGENCY.id, 501)
      const round = job.run({ isDryRun: false })
      // Nothing is left to run but what the clock starts.
      await new Promise((resolve) => setImmediate(resolve))
      expect(job.stats[what]).toBe(what === 'guests' ? 100 : 500)
      await clock.advance(1_000)
      expect(await round).toMatchObject({ [what]: what === 'guests' ? 101 : 501 })
    },
  )

  test.each(['guests', 'bookings'] as const)(
    'that are stopped wait for the statement about %s in progress, and remove nothing more',
    async (what) => {
      const { rows, job, erased, clock } = openJob()
      if (what === 'guests') rows.guests.set(AGENCY.id, guestIds(5))
      rows.bookings.set(AGENCY.id, 1_200)
      const hold = Promise.withResolvers<void>()
      rows.held[what] = hold.promise
      job.start()
      await clock.advance(60_000)
      expect(rows.waiting).toBe(1)
      const stopped = job.stop()
      hold.resolve()
      await clock.advance(1_000)
      await stopped
      const left = what === 'guests' ? 1_200 : 700
      expect([erased, rows.bookings.get(AGENCY.id), rows.forgotten]).toEqual([[], left, []])
      await clock.advance(2 * DAY_MS)
      expect([rows.bookings.get(AGENCY.id), rows.forgotten]).toEqual([left, []])
    },
  )

  test('are one at a time: one that is asked for begins after the one in progress', async () => {
    const { rows, job } = openJob()
    const hold = Promise.withResolvers<void>()
    rows.held.guests = hold.promise
    const both = [job.run({ isDryRun: false }), job.run({ isDryRun: false })]
    await Bun.sleep(0)
    expect(rows.waiting).toBe(1)
    hold.resolve()
    await Promise.all(both)
    expect(rows.forgotten).toHaveLength(2)
  })

  test('in which kept answers cannot be cleaned have not succeeded, however long that takes', async () => {
    const { rows, job, failing, clock } = openJob()
    rows.guests.set(AGENCY.id, guestIds(1))
    await clock.advance(DAY_MS)
    failing.finish = async () => {
      await new Promise((resolve) => setImmediate(resolve))
      throw new Error('damaged answers')
    }
    expect(await job.run({ isDryRun: false }).catch(String)).toBe('Error: damaged answers')
    expect(job.stats.sinceSuccessMs).toBe(DAY_MS)
  })

  test('that are stopped wait for the erasures in progress, also when one of them has failed', async () => {
    const { rows, job, erased, failing } = openJob()
    rows.guests.set(AGENCY.id, guestIds(9))
    failing.guestId = guestIds(1)[0] ?? ''
    const { promise, resolve } = Promise.withResolvers<void>()
    failing.until = promise
    const round = job.run({ isDryRun: false }).catch(String)
    await Bun.sleep(0)
    const stopped = job.stop().then(() => erased.length)
    await Bun.sleep(0)
    resolve()
    expect(await stopped).toBe(3)
    expect(await round).toBe('Error: damaged guest')
  })
})
