import { expect, test } from 'bun:test'
import { Rounds } from '../../src/lib/rounds.ts'
import { FakeClock, settle } from '../support/fake-clock.ts'

type Options = ConstructorParameters<typeof Rounds>[0]

function open(options: Partial<Options> = {}) {
  const clock = new FakeClock()
  const ranAtMs: number[] = []
  const failures: unknown[] = []
  const rounds = new Rounds({
    clock,
    firstMs: 300,
    everyMs: 1_000,
    onFailure: (error) => failures.push(error),
    ...options,
    run: async () => {
      ranAtMs.push(clock.monotonicMs())
      await options.run?.()
    },
  })
  return { clock, rounds, ranAtMs, failures }
}

test('the first round is after `firstMs`, the others are every `everyMs`', async () => {
  const { clock, rounds, ranAtMs } = open()
  rounds.start()
  await clock.advance(2_500)
  expect(ranAtMs).toEqual([300, 1_300, 2_300])
})

test('the first round begins in `start` when `firstMs` is 0', () => {
  const { rounds, ranAtMs } = open({ firstMs: 0 })
  rounds.start()
  expect(ranAtMs).toEqual([0])
})

test('a round begins `everyMs` after the end of the one before it', async () => {
  const round = Promise.withResolvers<void>()
  const { clock, rounds, ranAtMs } = open({ run: () => round.promise })
  rounds.start()
  await clock.advance(5_000)
  expect(ranAtMs).toEqual([300])
  round.resolve()
  await clock.advance(1_000)
  expect(ranAtMs).toEqual([300, 6_000])
})

test.each([
  [{ failedMs: 50 }, [300, 350, 400]],
  [{}, [300, 1_300, 2_300]],
])('a round that fails is reported, and the next one follows with %p', async (options, expected) => {
  const failure = new Error('no database')
  const { clock, rounds, ranAtMs, failures } = open({ ...options, run: () => Promise.reject(failure) })
  rounds.start()
  await clock.advance(expected[2] ?? 0)
  expect(ranAtMs).toEqual(expected)
  expect(failures).toEqual([failure, failure, failure])
})

test('after a stop between two rounds there is no other', async () => {
  const { clock, rounds, ranAtMs } = open()
  rounds.start()
  await clock.advance(300)
  await rounds.stop()
  expect([ranAtMs, clock.nextTimerIn]).toEqual([[300], null])
})

test.each([0, 300])('a stop waits for the round that runs, which learns of it (firstMs: %p)', async (firstMs) => {
  const round = Promise.withResolvers<void>()
  const { clock, rounds } = open({ firstMs, run: () => round.promise })
  rounds.start()
  await clock.advance(firstMs)
  expect(rounds.isStopped).toBe(false)
  let isDone = false
  const stopped = rounds.stop().then(() => {
    isDone = true
  })
  await settle()
  expect([rounds.isStopped, isDone]).toEqual([true, false])
  round.resolve()
  await stopped
  expect(clock.nextTimerIn).toBeNull()
})
