import { beforeEach, describe, expect, test } from 'bun:test'
import {
  type ClockRows,
  clockView,
  type DueHold,
  HOLDS_AT_ONCE,
  MOVES_AT_ONCE_MAX,
  SandboxClocks,
  targetOf,
} from '../../../src/core/bookings/sandbox-clocks.ts'
import { SandboxEndsError, WriteError } from '../../../src/core/bookings/write-error.ts'
import type { Agency } from '../../../src/core/catalogue/agency.ts'
import type { SandboxClock } from '../../../src/core/catalogue/agency-time.ts'
import type { Booking } from '../../../src/core/domain/booking.ts'
import { CorruptLedgerError, JournalError } from '../../../src/core/journal/journal-error.ts'
import { AssertionError } from '../../../src/lib/assert.ts'
import { DAY_MS, HOUR_MS, systemClock } from '../../../src/lib/clock.ts'
import { systemIds } from '../../../src/lib/ids.ts'
import { eventually } from '../../support/eventually.ts'
import { AGENCY, CALLER } from '../../support/samples.ts'

type Sandbox = Agency & { readonly clock: SandboxClock }

const START = Date.UTC(2027, 2, 1)
const OTHER = 'agc_other'

/** The clocks over holds in memory; `log` has what became of them, in order. */
class World {
  readonly agency: Sandbox = { ...AGENCY, clock: { now: START, target: START } }
  readonly agencies = new Map<string, Sandbox>([[AGENCY.id, this.agency]])
  holds: DueHold[] = []
  readonly log: string[] = []
  readonly failures: unknown[] = []
  readonly bugs: unknown[] = []
  /** Monotonic: stands, so that a test says how long something takes. */
  ms = 0
  readonly pausesMs: number[] = []
  /** Pages of holds that were asked for. */
  looks = 0
  /** Rejects what it is called with. */
  fail: (step: 'aim' | 'read' | 'reach' | 'expire', ids: readonly string[]) => Error | null = () => null
  /** Called before a page of holds is released. */
  onExpire: () => void | Promise<void> = () => {}
  stored: SandboxClock = { now: START, target: START }
  readonly rows: ClockRows = {
    aim: async (_, target) => {
      this.#throwIf('aim')
      this.stored.target = target
    },
    reach: async (agencyId, now) => {
      this.#throwIf('reach')
      if (agencyId === AGENCY.id) this.stored.now = now
    },
    read: async () => {
      this.#throwIf('read')
      return { ...this.stored }
    },
    expiredHolds: async (agencyId, until, after, limit) => {
      this.looks += 1
      return this.holds
        .filter((hold) => hold.agencyId === agencyId && hold.at <= until)
        .toSorted((a, b) => a.at - b.at)
        .filter(({ at }) => after === null || at > Number(after.expiry))
        .slice(0, limit)
    },
  }
  readonly clocks = new SandboxClocks({
    catalogue: {
      agencyById: (id) => this.agencies.get(id) ?? null,
      movingClocks: () => [...this.agencies.values()].filter(({ clock }) => clock.now < clock.target),
    },
    rows: this.rows,
    expire: async (_, holds) => {
      await this.onExpire()
      const ids = holds.map(({ bookingId }) => bookingId)
      this.#throwIf('expire', ids)
      this.holds = this.holds.filter(({ bookingId }) => !ids.includes(bookingId))
      this.log.push(...ids)
      return 0
    },
    audit: { clock: systemClock, newId: systemIds },
    clock: {
      now: () => systemClock.now(),
      monotonicMs: () => this.ms,
      after: (ms, task) => {
        this.pausesMs.push(ms)
        return systemClock.after(0, task)
      },
    },
    onMoved: (agencyId) => this.log.push(`${agencyId === AGENCY.id ? '' : `${agencyId} `}now ${this.#hours(agencyId)}`),
    isTransient: () => false,
    watch: {
      onFailure: (error) => this.failures.push(error),
      onHoldFailure: ({ bookingId }) => this.log.push(`cannot release ${bookingId}`),
      onBug: (error) => this.bugs.push(error),
    },
  })

  #hours(agencyId: string): number {
    return ((this.agencies.get(agencyId)?.clock.now ?? 0) - START) / HOUR_MS
  }

  #throwIf(step: Parameters<World['fail']>[0], ids: readonly string[] = []): void {
    const error = this.fail(step, ids)
    if (error !== null) throw error
  }

  hold(hours: number, agencyId = AGENCY.id): void {
    const at = START + hours * HOUR_MS
    this.holds.push({ agencyId, unitId: 'unt_a', bookingId: `bkg_${hours}`, expiry: String(at), at })
  }

  move(hours: number) {
    return this.clocks.move(this.agency, { now: START + hours * HOUR_MS }, CALLER)
  }

  ready(): Promise<void> {
    return eventually('the clock has arrived', () => clockView(this.agency.clock).status === 'ready')
  }
}

let world: World
beforeEach(() => {
  world = new World()
})

describe('where a move leads', () => {
  const S = 1_000
  test.each([
    [{ now: START }, START],
    [{ now: START + 1 }, START + 1],
    [{ now: START + 800 * DAY_MS }, START + 800 * DAY_MS],
    [{ advanceSeconds: 0 }, START],
    [{ advanceSeconds: 90 }, START + 90 * S],
    [{ advanceSeconds: (800 * DAY_MS) / S }, START + 800 * DAY_MS],
    [{ now: START - 1 }, 'must not be before 2027-03-01T00:00:00.000Z: the clock only goes forward'],
    [{ now: START + 800 * DAY_MS + 1 }, 'must not be after 2029-05-09T00:00:00.000Z'],
    [{ advanceSeconds: (800 * DAY_MS) / S + 1 }, 'must be at most 69120000'],
  ])('%j: %j', (move, expected) => expect(targetOf(move, START)).toBe(expected))
})

describe('E1: on the way of a clock', () => {
  test('holds are released in the order of their moments, before the clock shows a later one', async () => {
    for (const hours of [7, 3, 50, 5]) world.hold(hours)
    await world.move(24)
    await world.ready()
    expect(world.log).toEqual(['bkg_3', 'bkg_5', 'bkg_7', 'now 24'])
    expect(world.stored).toEqual({ now: START + 24 * HOUR_MS, target: START + 24 * HOUR_MS })
  })

  test('the clock shows the moment of the last hold after each append', async () => {
    for (let hours = 1; hours <= 2 * HOLDS_AT_ONCE + 1; hours++) world.hold(hours)
    await world.move(100)
    await world.ready()
    expect(world.log.filter((line) => line.startsWith('now'))).toEqual([
      `now ${HOLDS_AT_ONCE}`,
      `now ${2 * HOLDS_AT_ONCE}`,
      'now 100',
    ])
    expect(world.log.indexOf(`now ${HOLDS_AT_ONCE}`)).toBe(HOLDS_AT_ONCE)
  })

  test('others have three quarters of the time: a pause is three times as long as the append before it, up to a quarter of a second', async () => {
    for (let hours = 1; hours <= 3 * HOLDS_AT_ONCE + 1; hours++) world.hold(hours)
    const takes = [10, 20, 1_000, 10]
    world.onExpire = () => {
      world.ms += takes.shift() ?? 0
    }
    await world.move(100)
    await world.ready()
    expect(world.pausesMs).toEqual([30, 60, 250])
  })

  test('holds of other agencies stay', async () => {
    world.hold(1, OTHER)
    await world.move(24)
    await world.ready()
    expect(world.holds).toHaveLength(1)
  })

  test('another move leads on, and what it refuses depends on where the clock is going', async () => {
    const [first, second, back] = await Promise.all([world.move(24), world.move(48), world.move(36)])
    expect([first.kind, second.kind]).toEqual(['done', 'done'])
    expect(back).toMatchObject({ kind: 'refused', field: 'now' })
    await world.ready()
    expect(world.agency.clock.now).toBe(START + 48 * HOUR_MS)
  })

  test('a hold that becomes durable when the clock has come to its moment is released all the same', async () => {
    await world.move(24)
    await world.ready()
    world.hold(24)
    world.clocks.expectExpiry(world.agency, { holdExpiresAt: START + 24 * HOUR_MS } as Booking)
    await eventually('it is released', () => world.log.includes('bkg_24'))
    const { looks } = world
    world.clocks.expectExpiry(world.agency, { holdExpiresAt: START + 25 * HOUR_MS } as Booking)
    await world.clocks.stop()
    expect(world.log).toEqual(['now 24', 'bkg_24'])
    expect(world.looks).toBe(looks)
  })

  test('a hold that becomes durable while the last ones are released is released too', async () => {
    world.hold(3)
    world.onExpire = () => {
      world.onExpire = () => {}
      world.hold(2)
      world.clocks.expectExpiry(world.agency, { holdExpiresAt: START + 2 * HOUR_MS } as Booking)
    }
    await world.move(24)
    await eventually('it is released', () => world.log.includes('bkg_2'))
  })

  test('a move that comes while the last holds are released leads on', async () => {
    world.hold(3)
    const second = Promise.withResolvers<unknown>()
    world.onExpire = async () => void (await second.promise)
    await world.move(24)
    await world.move(48).then(second.resolve)
    await world.ready()
    expect(world.log).toEqual(['bkg_3', 'now 24', 'now 48'])
  })
})

describe('a move that is interrupted', () => {
  test('is resumed where it was', async () => {
    for (const hours of [3, 5]) world.hold(hours)
    let isAway = true
    world.fail = (step) => (isAway && step === 'reach' ? new JournalError('fenced', 'away') : null)
    await world.move(24)
    await eventually('it has failed', () => world.failures.length > 0)
    expect(clockView(world.agency.clock)).toEqual({ now: START, status: 'advancing' })
    isAway = false
    world.clocks.resume()
    await world.ready()
    expect(world.log).toEqual(['bkg_3', 'bkg_5', 'now 24'])
    expect(world.failures).toHaveLength(1)
  })

  test('before a late hold was released looks for that hold again', async () => {
    await world.move(24)
    await world.ready()
    world.fail = (step) => (step === 'expire' ? new JournalError('fenced', 'away') : null)
    world.hold(3)
    world.clocks.expectExpiry(world.agency, { holdExpiresAt: START + 3 * HOUR_MS } as Booking)
    await eventually('it has failed', () => world.failures.length === 1)
    world.fail = () => null
    world.clocks.resume()
    await eventually('it is released', () => world.log.includes('bkg_3'))
  })

  test('by the end of the process releases nothing more', async () => {
    for (let hours = 1; hours <= 3 * HOLDS_AT_ONCE; hours++) world.hold(hours)
    let stopped: Promise<void> | null = null
    world.onExpire = () => {
      stopped ??= world.clocks.stop()
    }
    await world.move(100)
    await eventually('it is being stopped', () => stopped !== null)
    await stopped
    expect(world.log.filter((line) => line.startsWith('bkg'))).toHaveLength(HOLDS_AT_ONCE)
    expect(world.agency.clock.now).toBe(START + HOLDS_AT_ONCE * HOUR_MS)
  })

  test('is not begun when it is not stored; when that is not known, what is stored counts', async () => {
    world.fail = (step) => (step === 'aim' ? new WriteError('not_written', 'away') : null)
    await expect(world.move(24)).rejects.toThrow('away')
    expect(world.agency.clock.target).toBe(START)
    world.fail = (step) => (step === 'aim' ? new WriteError('unknown', 'lost') : null)
    await expect(world.move(24)).rejects.toThrow('lost')
    world.fail = (step) => (step === 'read' ? new Error('away') : null)
    await expect(world.move(24)).rejects.toMatchObject({ outcome: 'not_written' })
    world.stored.target = START + 24 * HOUR_MS
    world.fail = () => null
    const { clock } = world.agency
    expect(await world.clocks.move(world.agency, { advanceSeconds: 3_600 }, CALLER)).toMatchObject({ kind: 'done' })
    expect(clock.target).toBe(START + 25 * HOUR_MS)
  })

  test('whose request may be stored, and is not made again, goes where what is stored says', async () => {
    world.fail = (step) => (step === 'aim' ? new WriteError('unknown', 'lost') : null)
    await expect(world.move(24)).rejects.toThrow('lost')
    world.stored.target = START + 24 * HOUR_MS
    world.fail = () => null
    world.clocks.resume()
    await eventually('it is there', () => world.agency.clock.now === START + 24 * HOUR_MS)
    expect(world.agency.clock.target).toBe(START + 24 * HOUR_MS)
  })

  test('by a hold that cannot be released leaves that hold, and releases the others in order', async () => {
    for (const hours of [3, 5, 7]) world.hold(hours)
    world.fail = (step, ids) => (step === 'expire' && ids.includes('bkg_5') ? new CorruptLedgerError('damaged') : null)
    await world.move(24)
    await world.ready()
    expect(world.log).toEqual(['bkg_3', 'cannot release bkg_5', 'bkg_7', 'now 24'])
  })

  test('by the end of its sandbox passes over no hold: if that fails, it goes on where it was', async () => {
    for (const hours of [3, 5]) world.hold(hours)
    world.fail = (step) => (step === 'expire' ? new SandboxEndsError() : null)
    await world.move(24)
    await eventually('it has been refused', () => world.failures.length > 0 || world.log.length > 0)
    expect([world.log, world.agency.clock.now]).toEqual([[], START])
    world.fail = () => null
    world.clocks.resume()
    await world.ready()
    expect(world.log).toEqual(['bkg_3', 'bkg_5', 'now 24'])
  })

  test('by a broken invariant is reported as one, and none is resumed', async () => {
    for (const hours of [3, 5]) world.hold(hours)
    const bug = new AssertionError('broken')
    world.fail = (step) => (step === 'expire' ? bug : null)
    await world.move(24)
    await eventually('it is reported', () => world.bugs.length > 0)
    world.fail = () => null
    world.clocks.resume()
    await world.clocks.stop()
    expect([world.bugs, world.failures, world.log]).toEqual([[bug], [], []])
  })

  test('by the loss of its shard ends without a failure', async () => {
    for (let hours = 1; hours <= HOLDS_AT_ONCE; hours++) world.hold(hours)
    world.onExpire = () => void world.agencies.delete(AGENCY.id)
    await world.move(100)
    await eventually('a page is released', () => world.log.includes(`now NaN`) || world.log.length > HOLDS_AT_ONCE)
    await world.clocks.stop()
    expect(world.failures).toEqual([])
    expect(world.agency.clock.now).toBeLessThan(START + 100 * HOUR_MS)
  })
})

test('at most so many clocks move at once, and the others follow', async () => {
  const release = Promise.withResolvers<void>()
  let running = 0
  let most = 0
  world.onExpire = async () => {
    running += 1
    most = Math.max(most, running)
    await release.promise
    running -= 1
  }
  for (let i = 0; i < 3 * MOVES_AT_ONCE_MAX; i++) {
    const id = `agc_${i}`
    world.agencies.set(id, { ...AGENCY, id, clock: { now: START, target: START + HOUR_MS } })
    world.hold(1, id)
  }
  world.clocks.resume()
  await eventually('the first are on their way', () => running === MOVES_AT_ONCE_MAX)
  release.resolve()
  await eventually(
    'all have arrived',
    () => world.log.filter((line) => line.includes('now')).length === 3 * MOVES_AT_ONCE_MAX,
  )
  expect(most).toBe(MOVES_AT_ONCE_MAX)
})
