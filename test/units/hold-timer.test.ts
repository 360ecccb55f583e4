import { describe, expect, test } from 'bun:test'
import { HoldTimer, type LapsedHold } from '../../src/units/hold-timer.ts'
import { FakeClock, settle } from '../support/fake-clock.ts'

/** Holds by their expiry; the database's part can be slow, or away. */
class Book {
  readonly clock = new FakeClock()
  readonly holds = new Map<string, number>()
  readonly ended: { bookingId: string; at: number }[] = []
  readonly failures: unknown[] = []
  /** What the next look at the next expiry waits for, after it has looked. */
  gate: Promise<void> = Promise.resolve()
  failing: 'nothing' | 'lapsed' | 'expire' = 'nothing'
  readonly timer = new HoldTimer({
    clock: this.clock,
    onFailure: (error) => this.failures.push(error),
    book: {
      lapsed: async (at, limit) => {
        if (this.failing === 'lapsed') throw new Error('database away')
        const due = [...this.holds].filter(([, expiry]) => expiry <= at).sort((a, b) => a[1] - b[1])
        return due.slice(0, limit).map(([bookingId]) => ({ agencyId: 'agc_a', bookingId }))
      },
      nextExpiry: async () => {
        const next = this.holds.size === 0 ? null : Math.min(...this.holds.values())
        await this.gate
        return next
      },
      expire: async ({ bookingId }: LapsedHold) => {
        if (this.failing === 'expire') throw new Error('mailbox full')
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
    book.gate = promise
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
