import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type AdmittedRequests, KeyCounters, RateLimiter } from '../../src/accounts/rate-limit.ts'
import {
  admittedRequests,
  RateSlots,
  type RateSlotsToKeep,
  type StoredRateSlot,
} from '../../src/accounts/rate-slots.ts'
import type { BootTime, Clock } from '../../src/lib/clock.ts'
import { HOUR_MS } from '../../src/lib/clock.ts'
import { FakeClock } from '../support/fake-clock.ts'

const LIMIT = 20

/** A machine with a database: the state that survives processes. */
class Machine {
  readonly clock = new FakeClock()
  /** By epoch and slot, as stored by `keep_rate` in sql/. */
  readonly rows = new Map<
    string,
    { epoch: number; slot: number; endedAt: number; stored: StoredRateSlot; total: number }
  >()
  bootId = 'boot-1'
  databaseOffsetMs = 0
  isAway = false
  epoch = 0

  boot(): BootTime {
    return { bootId: this.bootId, ms: this.clock.monotonicMs() + 1_000_000 }
  }

  get databaseNow(): number {
    return this.clock.now() + this.databaseOffsetMs
  }

  async keep(epoch: number, { slots, keepFrom, dropEarlier }: RateSlotsToKeep): Promise<void> {
    if (this.isAway) throw new Error('no database')
    if (epoch !== this.epoch) throw new Error('fenced')
    for (const { slot, shard: _, total, ageMs, ...rest } of slots) {
      const name = `${epoch} ${slot}`
      if ((this.rows.get(name)?.total ?? 0) >= total) continue
      this.rows.set(name, { epoch, slot, endedAt: this.databaseNow - ageMs, stored: { ageMs, ...rest }, total })
    }
    for (const [name, row] of this.rows) {
      const isOld = row.epoch === epoch ? row.slot < keepFrom : dropEarlier
      if (isOld) this.rows.delete(name)
    }
  }

  load(): StoredRateSlot[] {
    return [...this.rows.values()].map(({ stored, endedAt }) => ({ ...stored, ageMs: this.databaseNow - endedAt }))
  }
}

/** A process on the machine: its monotonic clock starts with it. */
class Process {
  readonly slots: RateSlots
  readonly limiter: RateLimiter
  #isDead = false

  constructor(machine: Machine) {
    const { clock } = machine
    const since = clock.monotonicMs()
    const epoch = ++machine.epoch
    const own: Clock = {
      now: () => clock.now(),
      monotonicMs: () => clock.monotonicMs() - since,
      after: (ms, task) => clock.after(ms, () => this.#isDead || task()),
    }
    this.slots = new RateSlots({
      clock: own,
      bootTime: () => machine.boot(),
      persist: (keep) => machine.keep(epoch, keep),
      onFailure: () => {},
    })
    this.limiter = new RateLimiter(own)
    this.limiter.keepIn({ count: (keyId, atMs) => this.slots.count(keyId, atMs) })
    this.limiter.restore(admittedRequests(machine.load(), { wallMs: own.now(), boot: machine.boot() }))
  }

  take(keyId = 'key_a', limit = LIMIT): boolean {
    return this.limiter.take(keyId, limit).allowed
  }

  crash(): void {
    this.#isDead = true
  }

  async stop(): Promise<void> {
    await this.slots.stop()
    this.#isDead = true
  }
}

function burst(process: Process, requests: number): number {
  let passed = 0
  for (let i = 0; i < requests; i++) if (process.take()) passed += 1
  return passed
}

describe('the rolling minute across restarts', () => {
  test('any 60 s admit no more than the budget, plus the last half second lost in each crash', async () => {
    const steps = fc.array(
      fc.oneof(
        {
          weight: 20,
          arbitrary: fc.record({ kind: fc.constant('requests' as const), n: fc.integer({ min: 1, max: 8 }) }),
        },
        {
          weight: 20,
          arbitrary: fc.record({ kind: fc.constant('wait' as const), n: fc.integer({ min: 1, max: 3_000 }) }),
        },
        {
          weight: 2,
          arbitrary: fc.record({ kind: fc.constant('wait' as const), n: fc.integer({ min: 1, max: 70_000 }) }),
        },
        {
          weight: 2,
          arbitrary: fc.record({ kind: fc.constant('crash' as const), n: fc.integer({ min: 0, max: 2_000 }) }),
        },
        {
          weight: 2,
          arbitrary: fc.record({ kind: fc.constant('stop' as const), n: fc.integer({ min: 0, max: 2_000 }) }),
        },
      ),
      { minLength: 100, maxLength: 300 },
    )
    await fc.assert(
      fc.asyncProperty(steps, async (wanted) => {
        const machine = new Machine()
        const { clock } = machine
        const passed: number[] = []
        const forgotten: number[] = []
        let process = new Process(machine)
        for (const { kind, n } of wanted) {
          if (kind === 'wait') await clock.advance(n)
          else if (kind === 'requests') {
            for (let i = 0; i < n; i++) if (process.take()) passed.push(clock.monotonicMs())
          } else {
            if (kind === 'stop') await process.stop()
            else {
              process.crash()
              const at = clock.monotonicMs()
              forgotten.push(...passed.filter((when) => when > at - 501))
            }
            await clock.advance(n)
            process = new Process(machine)
          }
        }
        for (const begin of passed) {
          const inWindow = (at: number) => at >= begin && at < begin + 60_000
          const excused = forgotten.filter(inWindow).length
          expect(passed.filter(inWindow).length).toBeLessThanOrEqual(LIMIT + excused)
        }
      }),
      { numRuns: 150 },
    )
  })

  test('after a restart the process refuses what the previous one would have refused, and says when the next request passes', async () => {
    const machine = new Machine()
    const first = new Process(machine)
    expect(burst(first, 30)).toBe(LIMIT)
    await machine.clock.advance(10_000)
    await first.stop()
    const second = new Process(machine)
    const { allowed, remaining, retryAfterS, resetAtS } = second.limiter.take('key_a', LIMIT)
    expect([allowed, remaining, retryAfterS]).toEqual([false, 0, 51])
    expect(resetAtS).toBe(Math.ceil((machine.clock.now() + 50_490) / 1_000))
    await machine.clock.advance(50_600)
    expect(burst(second, 30)).toBe(LIMIT)
  })

  test('a second restart within the minute still knows what was admitted before the first', async () => {
    const machine = new Machine()
    burst(new Process(machine), 30)
    await machine.clock.advance(1_000)
    for (let restart = 0; restart < 5; restart++) {
      const process = new Process(machine)
      expect(burst(process, 30)).toBe(0)
      process.crash()
      await machine.clock.advance(8_000)
    }
  })

  test('a clean stop loses nothing, whenever it happens', async () => {
    const machine = new Machine()
    const first = new Process(machine)
    burst(first, 13)
    await first.stop()
    expect(burst(new Process(machine), 30)).toBe(LIMIT - 13)
  })

  test('after a database outage, everything of the last minute is written once it is back', async () => {
    const machine = new Machine()
    const first = new Process(machine)
    machine.isAway = true
    burst(first, 7)
    await machine.clock.advance(20_000)
    burst(first, 6)
    await machine.clock.advance(20_000)
    machine.isAway = false
    await machine.clock.advance(1_000)
    first.crash()
    expect(burst(new Process(machine), 30)).toBe(LIMIT - 13)
  })
})

describe('a clock that jumps between two processes', () => {
  const HOURS = HOUR_MS
  test.each([
    ['the wall clock, 30 h forward', (machine: Machine) => machine.clock.jumpWall(30 * HOURS)],
    ['the wall clock, 30 h back', (machine: Machine) => machine.clock.jumpWall(-30 * HOURS)],
    [
      'the clock of the database, 30 h forward',
      (machine: Machine) => {
        machine.databaseOffsetMs = 30 * HOURS
      },
    ],
    [
      'the clock of the database, 30 h back',
      (machine: Machine) => {
        machine.databaseOffsetMs = -30 * HOURS
      },
    ],
    [
      'the process moves to another machine whose clock is an hour ahead',
      (machine: Machine) => {
        machine.bootId = 'boot-2'
        machine.clock.jumpWall(HOURS)
        machine.databaseOffsetMs = -HOURS
      },
    ],
    [
      'the process moves to another machine, and to a database whose clock is 30 h ahead',
      (machine: Machine) => {
        machine.bootId = 'boot-2'
        machine.databaseOffsetMs = 30 * HOURS
      },
    ],
  ])('%s: no key gets a second budget, or waits more than a minute', async (_, jump) => {
    const machine = new Machine()
    const first = new Process(machine)
    burst(first, 30)
    await first.stop()
    jump(machine)
    const second = new Process(machine)
    expect(burst(second, 30)).toBe(0)
    await machine.clock.advance(60_001)
    expect(burst(second, 30)).toBe(LIMIT)
  })
})

describe('the boot clock of a container, which keeps its id and restarts with each start', () => {
  const slot = { wallMs: 0, bootId: 'boot-1', bootMs: 900_000, counts: { key_a: 2 } }
  const readAfter = (ageMs: number, bootMs: number) =>
    admittedRequests([{ ...slot, ageMs }], { wallMs: ageMs, boot: { bootId: 'boot-1', ms: bootMs } })

  test('is ignored when it is behind the stored value: an old burst is not a current one', () => {
    expect(readAfter(600_000, 5_000)).toEqual([])
    expect(readAfter(30_000, 5_000)).toEqual([{ keyId: 'key_a', requests: 2, ageMs: 30_000 }])
  })

  test('is ignored as soon as it is behind by the resolution of both readings: neither lags by a whole one', () => {
    expect(readAfter(600_000, 900_000 - 20)).toEqual([])
    expect(readAfter(600_000, 900_000 - 19)).toHaveLength(1)
  })

  test('is used when it is behind by no more than its resolution: the other clocks may have jumped', () => {
    expect(readAfter(600_000, 900_000 - 10)).toEqual([{ keyId: 'key_a', requests: 2, ageMs: 0 }])
  })
})

describe('the stored slots', () => {
  test('are one row for each half second with an admitted request, for any number of keys, and only for the last minute', async () => {
    const machine = new Machine()
    const process = new Process(machine)
    for (let second = 0; second < 300; second++) {
      for (let key = 0; key < 50; key++) process.take(`key_${key}`, 1_000)
      await machine.clock.advance(1_000)
    }
    expect(machine.rows.size).toBeLessThanOrEqual(123)
    expect(process.slots.slotCount).toBeLessThanOrEqual(2)
  })

  test('of earlier writers are deleted when they are a minute old', async () => {
    const machine = new Machine()
    const first = new Process(machine)
    burst(first, 5)
    await first.stop()
    const second = new Process(machine)
    await machine.clock.advance(62_000)
    second.take('key_b')
    await machine.clock.advance(1_000)
    expect([...machine.rows.values()].map(({ epoch }) => epoch)).toEqual([2])
  })

  test('of earlier writers are kept for a minute, however long the machine has been up', async () => {
    const clock = new FakeClock()
    await clock.advance(HOUR_MS)
    const written: RateSlotsToKeep[] = []
    const persist = async (keep: RateSlotsToKeep) => void written.push(keep)
    const slots = new RateSlots({ clock, bootTime: () => null, persist, onFailure: () => {} })
    slots.count('key_a', clock.monotonicMs())
    await clock.advance(60_000)
    slots.count('key_a', clock.monotonicMs())
    await clock.advance(2_000)
    slots.count('key_a', clock.monotonicMs())
    await slots.stop()
    expect(written.map(({ dropEarlier }) => dropEarlier)).toEqual([false, false, true])
    // Its own slot of the first half second is a minute old by then, and not before.
    expect(written.map(({ keepFrom }) => keepFrom > 0)).toEqual([false, false, true])
  })

  test('are bounded in memory while the database is unavailable', async () => {
    const machine = new Machine()
    machine.isAway = true
    const process = new Process(machine)
    for (let second = 0; second < 300; second++) {
      process.take('key_a', 1_000)
      await machine.clock.advance(1_000)
    }
    expect(process.slots.slotCount).toBeLessThanOrEqual(123)
  })

  test('of a node of several are rows of their shards, also when one of a shard has been added since', async () => {
    const clock = new FakeClock()
    const written: RateSlotsToKeep[] = []
    const gate = Promise.withResolvers<void>()
    const slots = new RateSlots({
      clock,
      bootTime: () => null,
      onFailure: () => {},
      shardOf: (agencyId) => Number(agencyId),
      persist: async (keep) => {
        written.push(keep)
        if (written.length === 1) await gate.promise
      },
    })
    const [ofSeven, other, ofEight] = [new KeyCounters('7'), new KeyCounters('7'), new KeyCounters('8')]
    slots.count('key_a', clock.monotonicMs(), ofSeven)
    slots.count('key_a', clock.monotonicMs(), ofSeven)
    slots.count('key_b', clock.monotonicMs(), other)
    slots.count('key_c', clock.monotonicMs(), ofEight)
    const flushed = slots.flush()
    slots.count('key_c', clock.monotonicMs(), ofEight)
    gate.resolve()
    await flushed
    await slots.stop()
    const seven = { slot: 0, shard: 7, total: 3, counts: { key_a: 2, key_b: 1 } }
    expect(written.map((keep) => keep.slots)).toMatchObject([
      [seven, { slot: 0, shard: 8, total: 1, counts: { key_c: 1 } }],
      [seven, { slot: 0, shard: 8, total: 2, counts: { key_c: 2 } }],
    ])
  })

  test('of a key are counted in the half second in which they come, also with the counters that are kept with the key', async () => {
    const clock = new FakeClock()
    const written: RateSlotsToKeep[] = []
    const slots = new RateSlots({
      clock,
      bootTime: () => null,
      onFailure: () => {},
      persist: async (keep) => void written.push(keep),
    })
    const kept = new KeyCounters('agc_a')
    for (const requests of [1, 2]) {
      for (let i = 0; i < requests; i++) slots.count('key_a', clock.monotonicMs(), kept)
      await slots.flush()
      await clock.advance(1_000)
    }
    await slots.stop()
    expect(written.map((keep) => keep.slots.map(({ slot, counts }) => [slot, counts]))).toEqual([
      [[0, { key_a: 1 }]],
      [[2, { key_a: 2 }]],
    ])
  })

  test('count from the end of their half second, never in the caller’s favor', () => {
    const slot = { ageMs: 500, wallMs: 0, bootId: null, bootMs: null, counts: { key_a: 2 } }
    const passed: AdmittedRequests[] = admittedRequests([slot], { wallMs: 700, boot: null })
    expect(passed).toEqual([{ keyId: 'key_a', requests: 2, ageMs: 500 }])
    expect(admittedRequests([slot], { wallMs: 60_000_000, boot: null })).toHaveLength(1)
    expect(admittedRequests([{ ...slot, ageMs: 60_000 }], { wallMs: 60_000, boot: null })).toEqual([])
  })
})
