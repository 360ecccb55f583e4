import { describe, expect, test } from 'bun:test'
import { CorruptLedgerError } from '../../../src/core/journal/entry-codec.ts'
import { JournalError } from '../../../src/core/journal/journal-error.ts'
import { FAILING_HOLDS_MAX, FailingHolds, HOLD_RETRY_DELAYS_MS } from '../../../src/core/units/failing-holds.ts'
import { HoldTimer } from '../../../src/core/units/hold-timer.ts'
import type { LapsedHold } from '../../../src/core/units/lapsed-hold.ts'
import { MailboxFullError } from '../../../src/core/units/unit-actor.ts'
import { AssertionError } from '../../../src/lib/assert.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'

/** Holds by their expiry; the database's part can be slow, or away. */
class Book {
  readonly clock = new FakeClock()
  readonly holds = new Map<string, number>()
  readonly ended: { bookingId: string; at: number }[] = []
  readonly failures: unknown[] = []
  /** What the next look at the next expiry waits for, after it has looked. */
  access: Promise<void> = Promise.resolve()
  /** What the whole book fails at. */
  failing: 'nothing' | 'lapsed' | 'expire' = 'nothing'
  /** What ending a hold ends in, by its id; undefined: it is ended. */
  failureOf: (bookingId: string) => Error | undefined = () => undefined
  readonly tried: { bookingId: string; at: number }[] = []
  readonly looks: { at: number; after: string | null }[] = []
  readonly holdFailures: string[] = []
  readonly bugs: unknown[] = []
  readonly timer = new HoldTimer({
    clock: this.clock,
    watch: {
      onFailure: (error) => this.failures.push(error),
      onHoldFailure: ({ bookingId }) => this.holdFailures.push(bookingId),
      onBug: (error) => this.bugs.push(error),
    },
    holds: {
      lapsed: async (at, after, limit) => {
        this.looks.push({ at, after: after?.bookingId ?? null })
        if (this.failing === 'lapsed') throw new Error('database away')
        const place = (hold: LapsedHold) => `${hold.expiry} ${hold.bookingId}`
        return [...this.holds]
          .filter(([, expiry]) => expiry <= at)
          .map(([bookingId, expiry]) => ({
            ...{ agencyId: 'agc_a', unitId: bookingId.replace(/_[^_]*$/, ''), bookingId },
            expiry: new Date(expiry).toISOString(),
          }))
          .filter((hold) => after === null || place(hold) > place(after))
          .sort((a, b) => (place(a) < place(b) ? -1 : 1))
          .slice(0, limit)
      },
      isTransient: (error) => error instanceof Error && error.message === 'connection lost',
      nextExpiry: async (at) => {
        const later = [...this.holds.values()].filter((expiry) => expiry > at)
        await this.access
        return later.length === 0 ? null : Math.min(...later)
      },
      expire: async ({ bookingId }: LapsedHold) => {
        this.tried.push({ bookingId, at: this.clock.now() })
        if (this.failing === 'expire') throw new MailboxFullError('mailbox full')
        const failure = this.failureOf(bookingId)
        if (failure !== undefined) throw failure
        this.holds.delete(bookingId)
        this.ended.push({ bookingId, at: this.clock.now() })
      },
    },
  })

  hold(bookingId: string, inMs: number): number {
    const expiry = this.clock.now() + inMs
    this.holds.set(bookingId, expiry)
    return expiry
  }
}

describe('the hold timer', () => {
  test('ends a hold at its moment: not a millisecond early, and not at the next look', async () => {
    const book = new Book()
    const expiry = book.hold('bkg_1', 4_321)
    book.timer.start()
    await book.clock.advance(4_320)
    expect(book.ended).toEqual([])
    await book.clock.advance(1)
    expect(book.ended).toEqual([{ bookingId: 'bkg_1', at: expiry }])
  })

  test('is told of an earlier one, and does not sleep through it', async () => {
    const book = new Book()
    book.hold('bkg_1', 9_000)
    book.timer.start()
    await book.clock.advance(10)
    const expiry = book.hold('bkg_2', 500)
    book.timer.expectExpiry(expiry)
    await book.clock.advance(500)
    expect(book.ended).toEqual([{ bookingId: 'bkg_2', at: expiry }])
  })

  test('is told of one while it looks, after its look, and does not sleep through that either', async () => {
    const book = new Book()
    const { promise, resolve } = Promise.withResolvers<void>()
    book.access = promise
    book.timer.start()
    await book.clock.advance(10)
    const expiry = book.hold('bkg_1', 500)
    book.timer.expectExpiry(expiry)
    resolve()
    await settle()
    await book.clock.advance(500)
    expect(book.ended).toEqual([{ bookingId: 'bkg_1', at: expiry }])
  })

  test('ends more overdue ones than it takes in one look', async () => {
    const book = new Book()
    for (let i = 0; i < 250; i++) book.hold(`bkg_${i}`, -1)
    book.timer.start()
    await book.clock.advance(1)
    expect(book.ended).toHaveLength(250)
  })

  test('does not hold a database that was away against the holds it was tried with', async () => {
    const book = new Book()
    book.hold('unt_1_a', 0)
    book.failureOf = () => new Error('connection lost')
    book.timer.start()
    await book.clock.advance(60_000)
    expect(book.timer.failing).toBe(0)
    book.failureOf = () => undefined
    await book.clock.advance(600)
    expect(book.ended).toHaveLength(1)
  })

  for (const failing of ['lapsed', 'expire'] as const) {
    test(`says what failed (${failing}) and tries again soon`, async () => {
      const book = new Book()
      book.hold('bkg_1', 0)
      book.failing = failing
      book.timer.start()
      await book.clock.advance(1_100)
      expect(book.failures.length).toBeGreaterThanOrEqual(2)
      expect(book.ended).toEqual([])
      book.failing = 'nothing'
      await book.clock.advance(600)
      expect(book.ended).toHaveLength(1)
    })
  }

  test('notices within ten seconds that the wall clock has jumped over an expiry', async () => {
    const book = new Book()
    book.hold('bkg_1', 3_600_000)
    book.timer.start()
    await book.clock.advance(1_000)
    book.clock.jumpWall(3_600_000)
    await book.clock.advance(10_000)
    expect(book.ended).toHaveLength(1)
  })

  test('ends nothing more once it is stopped', async () => {
    const book = new Book()
    book.hold('bkg_1', 100)
    book.timer.start()
    await book.clock.advance(1)
    await book.timer.stop()
    await book.clock.advance(20_000)
    expect(book.ended).toEqual([])
  })
})

describe('holds that cannot be ended', () => {
  /** `count` overdue holds of a damaged unit. */
  function damaged(count: number): Book {
    const book = new Book()
    for (let i = 0; i < count; i++) book.hold(`damaged_${String(i).padStart(4, '0')}`, -1_000)
    book.failureOf = (id) => (id.startsWith('damaged') ? new CorruptLedgerError('Cannot read entry 1') : undefined)
    return book
  }
  const triesOf = (book: Book, id: string) => book.tried.filter(({ bookingId }) => bookingId === id).map(({ at }) => at)

  test('more than a page of them in front do not keep the others: an overdue one ends at once, a later one at its moment', async () => {
    const book = damaged(250)
    const overdue = book.clock.now()
    book.hold('bkg_overdue', -1)
    const later = book.hold('bkg_later', 4_321)
    book.timer.start()
    await book.clock.advance(4_321)
    expect(book.ended).toEqual([
      { bookingId: 'bkg_overdue', at: overdue },
      { bookingId: 'bkg_later', at: later },
    ])
    expect(book.timer.failing).toBe(250)
  })

  test('are told of once for their unit, however often they are tried', async () => {
    const book = damaged(3)
    book.hold('broken_1', -500)
    const { failureOf } = book
    book.failureOf = (id) => (id === 'broken_1' ? new JournalError('poisoned', 'refused') : failureOf(id))
    book.timer.start()
    await book.clock.advance(3_600_000)
    expect(triesOf(book, 'broken_1').length).toBeGreaterThan(10)
    expect(book.holdFailures).toEqual(['damaged_0000', 'broken_1'])
    expect(book.failures).toEqual([])
  })

  test('rest for longer after each failure, from half a second to five minutes, and cost nothing meanwhile', async () => {
    const book = damaged(1)
    book.timer.start()
    await book.clock.advance(2_000_000)
    const tries = triesOf(book, 'damaged_0000')
    const rests = tries.slice(1).map((at, i) => at - (tries[i] as number))
    expect(rests.slice(0, 11)).toEqual([...HOLD_RETRY_DELAYS_MS])
    expect(rests.slice(11)).toEqual(rests.slice(11).map(() => 300_000))
    expect(HOLD_RETRY_DELAYS_MS.at(0)).toBe(500)
    expect(HOLD_RETRY_DELAYS_MS.at(-1)).toBe(300_000)
    // A look at each retry and one every ten seconds: the timer does not spin on what it passes over.
    expect(book.looks.length).toBeLessThanOrEqual(200 + tries.length + 1)
  })

  test('end when the damage is mended, and are then told of anew should it come back', async () => {
    const book = damaged(2)
    book.timer.start()
    await book.clock.advance(20_000)
    const { failureOf } = book
    book.failureOf = () => undefined
    await book.clock.advance(20_000)
    expect(book.ended.map(({ bookingId }) => bookingId)).toEqual(['damaged_0000', 'damaged_0001'])
    expect(book.timer.failing).toBe(0)
    book.failureOf = failureOf
    book.hold('damaged_0002', 0)
    await book.clock.advance(10_000)
    expect(book.holdFailures).toEqual(['damaged_0000', 'damaged_0002'])
  })

  test('are forgotten when somebody else ends them', async () => {
    const book = damaged(2)
    book.timer.start()
    await book.clock.advance(1_000)
    book.holds.clear()
    await book.clock.advance(10_000)
    expect(book.timer.failing).toBe(0)
  })

  test('do not rest for what the journal fails at: they end as soon as it is back, even after an hour', async () => {
    for (const kind of ['held_too_long', 'full', 'outcome_unknown'] as const) {
      const book = new Book()
      book.hold('bkg_1', -1)
      book.failureOf = () => new JournalError(kind, 'database away')
      book.timer.start()
      await book.clock.advance(3_600_000)
      book.failureOf = () => undefined
      const back = book.clock.now()
      await book.clock.advance(500)
      expect(book.ended.map(({ at }) => at - back <= 500)).toEqual([true])
      expect(book.holdFailures).toEqual([])
    }
  })

  test('rest on when the journal is away too', async () => {
    const book = damaged(1)
    book.timer.start()
    await book.clock.advance(100)
    book.failureOf = () => new JournalError('held_too_long', 'database away')
    await book.clock.advance(20_000)
    expect(triesOf(book, 'damaged_0000').length).toBeLessThan(10)
    book.failureOf = () => undefined
    await book.clock.advance(20_000)
    expect(book.ended).toHaveLength(1)
  })

  test('a full mailbox of one unit does not delay the end of another unit by a millisecond', async () => {
    const book = new Book()
    book.hold('busy_1', -1)
    book.failureOf = (id) => (id === 'busy_1' ? new MailboxFullError('mailbox full') : undefined)
    const expiry = book.hold('bkg_1', 777)
    book.timer.start()
    await book.clock.advance(1_000)
    expect(book.ended).toEqual([{ bookingId: 'bkg_1', at: expiry }])
  })

  test('are remembered up to a limit', () => {
    const failing = new FailingHolds()
    const hold = (i: number) => ({ agencyId: 'agc_a', unitId: `unt_${i}`, bookingId: `bkg_${i}`, expiry: '' })
    for (let i = 0; i <= FAILING_HOLDS_MAX; i++) failing.backOff(hold(i), 0)
    expect(failing.size).toBe(FAILING_HOLDS_MAX)
    expect(failing.isBackingOff(hold(FAILING_HOLDS_MAX - 1), 100)).toBe(true)
    expect(failing.isBackingOff(hold(FAILING_HOLDS_MAX), 100)).toBe(false)
  })
})

describe('a broken invariant', () => {
  for (const where of ['lapsed', 'expire'] as const) {
    test(`(${where}) reaches the process, and the timer tries nothing more`, async () => {
      const book = new Book()
      book.hold('bkg_1', -1)
      book.hold('bkg_2', 5_000)
      const bug = new AssertionError('Cannot go on')
      if (where === 'expire') book.failureOf = (id) => (id === 'bkg_1' ? bug : undefined)
      else
        book.holds[Symbol.iterator] = () => {
          throw bug
        }
      book.timer.start()
      await book.clock.advance(60_000)
      expect(book.bugs).toEqual([bug])
      expect(book.failures).toEqual([])
      expect(book.holdFailures).toEqual([])
      expect(book.looks).toHaveLength(1)
    })
  }
})
