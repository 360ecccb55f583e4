import { beforeEach, describe, expect, test } from 'bun:test'
import { CONFIRMED_MS_MAX, Heartbeat } from '../../src/app/heartbeat.ts'
import { SILENT_MS } from '../../src/postgres/stores/postgres-writers.ts'
import { FakeClock } from '../support/fake-clock.ts'

let clock: FakeClock
/** What the database answers; null: another process has taken over; `away`: nothing. */
let answer: { isAwaited: boolean } | null | 'away'
/** How long it takes. */
let answerMs: number
let events: string[]
/** When the database got the last one. */
let beatAt: number
let heartbeat: Heartbeat

function start(since = clock.monotonicMs()): void {
  heartbeat = new Heartbeat({
    clock,
    since,
    beat: async () => {
      const given = answer
      if (given !== 'away') beatAt = clock.monotonicMs()
      await new Promise<void>((resolve) => clock.after(answerMs, resolve))
      if (given === 'away') throw new Error('away')
      return given
    },
    onReplaced: () => events.push('replaced'),
    onConfirmed: (isConfirmed) => events.push(isConfirmed ? 'confirmed' : 'not confirmed'),
  })
}

beforeEach(() => {
  clock = new FakeClock()
  answer = { isAwaited: true }
  answerMs = 0
  events = []
  beatAt = 0
})

describe('P3: a process behind which a standby waits', () => {
  test('shows what it has while its heartbeats are confirmed, though they are slow', async () => {
    answerMs = 900
    start()
    for (let second = 0; second < 60; second++) {
      await clock.advance(1_000)
      expect(heartbeat.isConfirmed).toBe(true)
    }
    expect(events).toEqual([])
  })

  test.each([0, 400, 900])('shows nothing when the standby may take over, with answers after %d ms', async (ms) => {
    answerMs = ms
    start()
    await clock.advance(10_000)
    answer = 'away'
    while (heartbeat.isConfirmed) await clock.advance(10)
    expect(clock.monotonicMs() - beatAt).toBeLessThan(SILENT_MS - 400)
    expect(clock.monotonicMs() - beatAt).toBeGreaterThan(CONFIRMED_MS_MAX - 2_000)
    expect(events).toEqual(['not confirmed'])
  })

  test('shows it again once a heartbeat is confirmed, within a moment', async () => {
    start()
    await clock.advance(3_000)
    answer = 'away'
    await clock.advance(60_000)
    expect(heartbeat.isConfirmed).toBe(false)
    answer = { isAwaited: true }
    await clock.advance(250)
    expect([heartbeat.isConfirmed, events]).toEqual([true, ['not confirmed', 'confirmed']])
  })

  test('stays silent when it learns that it was replaced', async () => {
    start()
    await clock.advance(3_000)
    answer = 'away'
    await clock.advance(10_000)
    answer = null
    await clock.advance(60_000)
    expect([heartbeat.isConfirmed, events]).toEqual([false, ['not confirmed', 'replaced']])
  })

  test('knows at once when it was paused, before any timer has fired', async () => {
    class PausedClock extends FakeClock {
      pausedMs = 0
      override monotonicMs(): number {
        return super.monotonicMs() + this.pausedMs
      }
    }
    const paused = new PausedClock()
    clock = paused
    start()
    await clock.advance(3_000)
    paused.pausedMs = 6_000
    expect(heartbeat.isConfirmed).toBe(false)
  })

  test('takes none for granted that was confirmed too late to count', async () => {
    start()
    await clock.advance(3_000)
    answerMs = 6_000
    await clock.advance(7_000)
    expect([heartbeat.isConfirmed, events]).toEqual([false, ['not confirmed']])
  })

  test('is one from the take-over on, which may have been a while ago', async () => {
    answer = 'away'
    await clock.advance(10_000)
    start(clock.monotonicMs() - 4_000)
    expect(heartbeat.isConfirmed).toBe(true)
    await clock.advance(600)
    expect(heartbeat.isConfirmed).toBe(false)
    start(clock.monotonicMs() - 5_000)
    expect(heartbeat.isConfirmed).toBe(false)
  })
})

describe('a process that nobody waits for', () => {
  test('reads on while the database is away, however long', async () => {
    answer = { isAwaited: false }
    start()
    await clock.advance(3_000)
    answer = 'away'
    await clock.advance(3_600_000)
    expect([heartbeat.isConfirmed, events]).toEqual([true, []])
  })

  test('is one by the last answer: a standby that came and went does not count, one that has come does', async () => {
    start()
    await clock.advance(3_000)
    answer = { isAwaited: false }
    await clock.advance(2_000)
    answer = 'away'
    await clock.advance(20_000)
    expect(heartbeat.isConfirmed).toBe(true)
    answer = { isAwaited: true }
    await clock.advance(1_000)
    answer = 'away'
    await clock.advance(20_000)
    expect([heartbeat.isConfirmed, events]).toEqual([false, ['not confirmed']])
  })
})

test('nothing is said after the stop', async () => {
  start()
  await clock.advance(3_000)
  answer = 'away'
  heartbeat.stop()
  await clock.advance(60_000)
  expect(events).toEqual([])
})
