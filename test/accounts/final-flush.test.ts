import { expect, test } from 'bun:test'
import { type Counters, finalFlush } from '../../src/accounts/flush-timer.ts'
import { FakeClock } from '../support/fake-clock.ts'

/** Counters whose database is unavailable for the first `awayMs`. */
function countersOf(clock: FakeClock, awayMs: number): Counters & { attempts: number } {
  return {
    attempts: 0,
    async stop() {
      this.attempts += 1
      if (clock.monotonicMs() < awayMs) throw new Error(`no database for ${awayMs} ms`)
    },
  }
}

async function outcome(clock: FakeClock, counters: Counters[]): Promise<string[]> {
  const ended = finalFlush(counters, clock, 2_000)
  await clock.advance(2_000)
  return (await ended).map((failure) => (failure as Error).message)
}

test('counters that can be written immediately are written once, and no timer is left', async () => {
  const clock = new FakeClock()
  const counters = countersOf(clock, 0)
  expect(await finalFlush([counters], clock, 2_000)).toEqual([])
  expect([counters.attempts, clock.nextTimerIn]).toEqual([1, null])
})

test('a database that comes back in time receives the counts', async () => {
  const clock = new FakeClock()
  expect(await outcome(clock, [countersOf(clock, 1_850)])).toEqual([])
})

test('a database that does not is given up after the deadline, with the reason for each counter', async () => {
  const clock = new FakeClock()
  const answer = await outcome(clock, [countersOf(clock, 0), countersOf(clock, 60_000)])
  expect(answer).toEqual(['no database for 60000 ms'])
})

test('a database that never answers does not delay the exit, and a later rejection is ignored', async () => {
  const clock = new FakeClock()
  const silent = Promise.withResolvers<void>()
  const ended = outcome(clock, [{ stop: () => silent.promise }])
  expect(await ended).toEqual(['Cannot wait any longer: 2000 ms have passed'])
  silent.reject(new Error('too late'))
  await clock.advance(1_000)
})

test('with no time left, one write is attempted and its outcome is not awaited', async () => {
  const clock = new FakeClock()
  const [there, away] = [countersOf(clock, 0), countersOf(clock, 60_000)]
  const silent = { stop: () => new Promise<void>(() => {}) }
  const ended = finalFlush([there, away, silent], clock, 0)
  await clock.advance(0)
  expect((await ended).map((failure) => (failure as Error).message)).toEqual([
    'no database for 60000 ms',
    'Cannot wait any longer: 0 ms have passed',
  ])
  await clock.advance(5_000)
  expect([there.attempts, away.attempts]).toEqual([1, 1])
})
