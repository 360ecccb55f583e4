import { describe, expect, test } from 'bun:test'
import { CorruptLedgerError, JournalError } from '../../../src/core/journal/journal-error.ts'
import type { ExpiredHold } from '../../../src/core/units/hold-timer.ts'
import { FAILING_HOLDS_MAX, FailingHolds, HOLD_RETRY_DELAYS_MS, HoldTimer } from '../../../src/core/units/hold-timer.ts'
import { MailboxFullError } from '../../../src/core/units/unit-actor.ts'
import { AssertionError } from '../../../src/lib/assert.ts'
import { HOUR_MS } from '../../../src/lib/clock.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'

/** Holds by expiry, in a database that can be slow or unavailable. */
class FakeHolds {
  readonly clock = new FakeClock()
  readonly holds = new Map<string, number>()
  readonly released: { bookingId: string; at: number }[] = []
  readonly failures: unknown[] = []
  /** Delays the answer of the next `nextExpiry`, after it has read the holds. */
  access: Promise<void> = Promise.resolve()
  /** Which call always fails. */
  failing: 'nothing' | 'expired' | 'expire' = 'nothing'
  /** The error of releasing a hold, by its id; undefined: the hold is released. */
  failureOf: (bookingId: string) => Error | undefined = () => undefined
  readonly attempts: { bookingId: string; at: number }[] = []
  readonly reads: { at: number; after: string | null }[] = []
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
      expired: async (at, after, limit) => {
        this.reads.push({ at, after: after?.bookingId ?? null })
        if (this.failing === 'expired') throw new Error('database away')
        const position = (hold: ExpiredHold) => `${hold.expiry} ${hold.bookingId}`
        return [...this.holds]
          .filter(([, expiry]) => expiry <= at)
          .map(([bookingId, expiry]) => ({
            agencyId: 'agc_a',
            unitId: bookingId.replace(/_[^_]*$/, ''),
            bookingId,
            expiry: new Date(expiry).toISOString(),
          }))
          .filter((hold) => after === null || position(hold) > position(after))
          .sort((a, b) => (position(a) < position(b) ? -1 : 1))
          .slice(0, limit)
      },
      isTransient: (error) => error instanceof Error && error.message === 'connection lost',
      nextExpiry: async (at) => {
        const later = [...this.holds.values()].filter((expiry) => expiry > at)
        await this.access
        return later.length === 0 ? null : Math.min(...later)
      },
      expire: async ({ bookingId }: ExpiredHold) => {
        this.attempts.push({ bookingId, at: this.clock.now() })
        if (this.failing === 'expire') throw new MailboxFullError('mailbox full')
        const failure = this.failureOf(bookingId)
        if (failure !== undefined) throw failure
        this.holds.delete(bookingId)
        this.released.push({ bookingId, at: this.clock.now() })
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
  test('releases a hold exactly when it expires: not a millisecond early, and not at the next poll', async () => {
    const fake = new FakeHolds()
    const expiry = fake.hold('bkg_1', 4_321)
    fake.timer.start()
    await fake.clock.advance(4_320)
    expect(fake.released).toEqual([])
    await fake.clock.advance(1)
    expect(fake.released).toEqual([{ bookingId: 'bkg_1', at: expiry }])
  })

  test('wakes for an earlier expiry that is announced', async () => {
    const fake = new FakeHolds()
    fake.hold('bkg_1', 9_000)
    fake.timer.start()
    await fake.clock.advance(10)
    const expiry = fake.hold('bkg_2', 500)
    fake.timer.expectExpiry(expiry)
    await fake.clock.advance(500)
    expect(fake.released).toEqual([{ bookingId: 'bkg_2', at: expiry }])
  })

  test('wakes for an expiry that is announced during a round, after its query', async () => {
    const fake = new FakeHolds()
    const { promise, resolve } = Promise.withResolvers<void>()
    fake.access = promise
    fake.timer.start()
    await fake.clock.advance(10)
    const expiry = fake.hold('bkg_1', 500)
    fake.timer.expectExpiry(expiry)
    resolve()
    await settle()
    await fake.clock.advance(500)
    expect(fake.released).toEqual([{ bookingId: 'bkg_1', at: expiry }])
  })

  test('releases more overdue holds than fit on one page', async () => {
    const fake = new FakeHolds()
    for (let i = 0; i < 250; i++) fake.hold(`bkg_${i}`, -1)
    fake.timer.start()
    await fake.clock.advance(1)
    expect(fake.released).toHaveLength(250)
  })

  test('does not count an unavailable database as a failure of the holds', async () => {
    const fake = new FakeHolds()
    fake.hold('unt_1_a', 0)
    fake.failureOf = () => new Error('connection lost')
    fake.timer.start()
    await fake.clock.advance(60_000)
    expect(fake.timer.failing).toBe(0)
    fake.failureOf = () => undefined
    await fake.clock.advance(600)
    expect(fake.released).toHaveLength(1)
  })

  for (const failing of ['expired', 'expire'] as const) {
    test(`reports what failed (${failing}) and retries soon`, async () => {
      const fake = new FakeHolds()
      fake.hold('bkg_1', 0)
      fake.failing = failing
      fake.timer.start()
      await fake.clock.advance(1_100)
      expect(fake.failures.length).toBeGreaterThanOrEqual(2)
      expect(fake.released).toEqual([])
      fake.failing = 'nothing'
      await fake.clock.advance(600)
      expect(fake.released).toHaveLength(1)
    })
  }

  test('notices within ten seconds that the wall clock has jumped past an expiry', async () => {
    const fake = new FakeHolds()
    fake.hold('bkg_1', HOUR_MS)
    fake.timer.start()
    await fake.clock.advance(1_000)
    fake.clock.jumpWall(HOUR_MS)
    await fake.clock.advance(10_000)
    expect(fake.released).toHaveLength(1)
  })

  test('releases nothing after it is stopped', async () => {
    const fake = new FakeHolds()
    fake.hold('bkg_1', 100)
    fake.timer.start()
    await fake.clock.advance(1)
    await fake.timer.stop()
    await fake.clock.advance(20_000)
    expect(fake.released).toEqual([])
  })
})

describe('holds that cannot be released', () => {
  /** `count` overdue holds of a damaged unit. */
  function damaged(count: number): FakeHolds {
    const fake = new FakeHolds()
    for (let i = 0; i < count; i++) fake.hold(`damaged_${String(i).padStart(4, '0')}`, -1_000)
    fake.failureOf = (id) => (id.startsWith('damaged') ? new CorruptLedgerError('Cannot read entry 1') : undefined)
    return fake
  }
  const triesOf = (fake: FakeHolds, id: string) =>
    fake.attempts.filter(({ bookingId }) => bookingId === id).map(({ at }) => at)

  test('do not delay others behind more than a page of them: an overdue hold is released at once, a later one when it expires', async () => {
    const fake = damaged(250)
    const overdue = fake.clock.now()
    fake.hold('bkg_overdue', -1)
    const later = fake.hold('bkg_later', 4_321)
    fake.timer.start()
    await fake.clock.advance(4_321)
    expect(fake.released).toEqual([
      { bookingId: 'bkg_overdue', at: overdue },
      { bookingId: 'bkg_later', at: later },
    ])
    expect(fake.timer.failing).toBe(250)
  })

  test('are reported once per unit, however often they are retried', async () => {
    const fake = damaged(3)
    fake.hold('broken_1', -500)
    const { failureOf } = fake
    fake.failureOf = (id) => (id === 'broken_1' ? new JournalError('poisoned', 'refused') : failureOf(id))
    fake.timer.start()
    await fake.clock.advance(HOUR_MS)
    expect(triesOf(fake, 'broken_1').length).toBeGreaterThan(10)
    expect(fake.holdFailures).toEqual(['damaged_0000', 'broken_1'])
    expect(fake.failures).toEqual([])
  })

  test('are retried after longer delays each time, from half a second to five minutes, and cost nothing in between', async () => {
    const fake = damaged(1)
    fake.timer.start()
    await fake.clock.advance(2_000_000)
    const tries = triesOf(fake, 'damaged_0000')
    const rests = tries.slice(1).map((at, i) => at - (tries[i] as number))
    expect(rests.slice(0, 11)).toEqual([...HOLD_RETRY_DELAYS_MS])
    expect(rests.slice(11)).toEqual(rests.slice(11).map(() => 300_000))
    expect(HOLD_RETRY_DELAYS_MS.at(0)).toBe(500)
    expect(HOLD_RETRY_DELAYS_MS.at(-1)).toBe(300_000)
    // One query for each retry and one every ten seconds: the timer does not spin on holds it skips.
    expect(fake.reads.length).toBeLessThanOrEqual(200 + tries.length + 1)
  })

  test('are released once the damage is repaired, and reported again if it comes back', async () => {
    const fake = damaged(2)
    fake.timer.start()
    await fake.clock.advance(20_000)
    const { failureOf } = fake
    fake.failureOf = () => undefined
    await fake.clock.advance(20_000)
    expect(fake.released.map(({ bookingId }) => bookingId)).toEqual(['damaged_0000', 'damaged_0001'])
    expect(fake.timer.failing).toBe(0)
    fake.failureOf = failureOf
    fake.hold('damaged_0002', 0)
    await fake.clock.advance(10_000)
    expect(fake.holdFailures).toEqual(['damaged_0000', 'damaged_0002'])
  })

  test('are forgotten when something else releases them', async () => {
    const fake = damaged(2)
    fake.timer.start()
    await fake.clock.advance(1_000)
    fake.holds.clear()
    await fake.clock.advance(10_000)
    expect(fake.timer.failing).toBe(0)
  })

  test('are not delayed by a failure of the journal: they are released as soon as it is back, even after an hour', async () => {
    for (const kind of ['held_too_long', 'full', 'outcome_unknown'] as const) {
      const fake = new FakeHolds()
      fake.hold('bkg_1', -1)
      fake.failureOf = () => new JournalError(kind, 'database away')
      fake.timer.start()
      await fake.clock.advance(HOUR_MS)
      fake.failureOf = () => undefined
      const back = fake.clock.now()
      await fake.clock.advance(500)
      expect(fake.released.map(({ at }) => at - back <= 500)).toEqual([true])
      expect(fake.holdFailures).toEqual([])
    }
  })

  test('keep their delay when the journal fails as well', async () => {
    const fake = damaged(1)
    fake.timer.start()
    await fake.clock.advance(100)
    fake.failureOf = () => new JournalError('held_too_long', 'database away')
    await fake.clock.advance(20_000)
    expect(triesOf(fake, 'damaged_0000').length).toBeLessThan(10)
    fake.failureOf = () => undefined
    await fake.clock.advance(20_000)
    expect(fake.released).toHaveLength(1)
  })

  test('in a unit with a full mailbox do not delay a hold of another unit by a millisecond', async () => {
    const fake = new FakeHolds()
    fake.hold('busy_1', -1)
    fake.failureOf = (id) => (id === 'busy_1' ? new MailboxFullError('mailbox full') : undefined)
    const expiry = fake.hold('bkg_1', 777)
    fake.timer.start()
    await fake.clock.advance(1_000)
    expect(fake.released).toEqual([{ bookingId: 'bkg_1', at: expiry }])
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
  for (const where of ['expired', 'expire'] as const) {
    test(`(${where}) reaches the process, and the timer stops`, async () => {
      const fake = new FakeHolds()
      fake.hold('bkg_1', -1)
      fake.hold('bkg_2', 5_000)
      const bug = new AssertionError('Cannot continue')
      if (where === 'expire') fake.failureOf = (id) => (id === 'bkg_1' ? bug : undefined)
      else
        fake.holds[Symbol.iterator] = () => {
          throw bug
        }
      fake.timer.start()
      await fake.clock.advance(60_000)
      expect(fake.bugs).toEqual([bug])
      expect(fake.failures).toEqual([])
      expect(fake.holdFailures).toEqual([])
      expect(fake.reads).toHaveLength(1)
    })
  }
})
