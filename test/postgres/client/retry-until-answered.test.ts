import { expect, test } from 'bun:test'
import { retryUntilAnswered } from '../../../src/postgres/client/failed-write.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const AWAY = Object.assign(new Error('away'), { code: 'ECONNREFUSED' })
const DENIED = Object.assign(new Error('permission denied'), { code: '42501' })

/** Asks a database that answers with `outcomes` in turn, the last one forever. */
function asking(outcomes: readonly (Error | string)[], change: { isOver?: () => boolean } = {}) {
  const clock = new FakeClock()
  const failures: unknown[] = []
  let requests = 0
  const ask = async () => {
    const outcome = outcomes[Math.min(requests++, outcomes.length - 1)]
    if (outcome instanceof Error) throw outcome
    return outcome
  }
  const result = retryUntilAnswered(ask, {
    clock,
    withinMs: 1_000,
    pauseMs: 100,
    isOver: () => false,
    ...change,
    onFailure: (error) => failures.push(error),
  }).catch((error: unknown) => error)
  return { clock, failures, result, request: () => requests }
}

test('a database that comes back in time is asked again, and each failure is told', async () => {
  const { clock, failures, result } = asking([AWAY, AWAY, 'here'])
  await clock.advance(200)
  expect(await result).toBe('here')
  expect(failures).toEqual([AWAY, AWAY])
})

test.each([
  ['is locked', '55P03'],
  ['is too slow', '57014'],
  ['takes no writes for now', '25006'],
  ['has no space', '53100'],
])('one that %s is asked again', async (_, code) => {
  const { clock, result } = asking([Object.assign(new Error('x'), { code, severity: 'ERROR' }), 'here'])
  await clock.advance(100)
  expect(await result).toBe('here')
})

test('one that stays away is given up after the time it has', async () => {
  const { clock, result, request: requests } = asking([AWAY])
  await clock.advance(5_000)
  expect(await result).toBe(AWAY)
  expect(requests()).toBe(11)
})

test('an error that a retry cannot fix is thrown at once', async () => {
  const { result, request: requests } = asking([DENIED])
  expect(await result).toBe(DENIED)
  expect(requests()).toBe(1)
})

test('a process that is told to end does not ask again', async () => {
  const { result, request: requests } = asking([AWAY], { isOver: () => true })
  expect(await result).toBe(AWAY)
  expect(requests()).toBe(1)
})
