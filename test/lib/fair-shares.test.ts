import { beforeEach, describe, expect, test } from 'bun:test'
import { FairShares, NoPlaceError } from '../../src/lib/queues.ts'
import { FakeClock, settle } from '../support/fake-clock.ts'

interface Task {
  readonly name: string
  readonly end: () => void
  readonly fail: (error: Error) => void
  readonly settled: Promise<string>
}

let clock: FakeClock
let shares: FairShares
let started: string[]
beforeEach(() => {
  clock = new FakeClock()
  shares = new FairShares({ what: 'cook', runningMax: 4, shareMax: 2, waitingPerOwnerMax: 3, waitMsMax: 1_000, clock })
  started = []
})

/** A task of the owner that runs until it is ended. Its outcome is its name, or how it was refused. */
function ask(owner: string, name: string): Task {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const running = shares.run(owner, () => {
    started.push(name)
    return promise
  })
  const settled = running.catch((error: Error) => `${error.name}: ${error.message}`)
  return { name, end: () => resolve(name), fail: reject, settled }
}

describe('an owner', () => {
  test('never has more tasks under way than its share, though places are free', () => {
    for (const name of ['a1', 'a2', 'a3', 'a4']) ask('a', name)
    expect(started).toEqual(['a1', 'a2'])
    expect(shares.stats).toEqual({ running: 2, waiting: 2, refused: 0 })
  })

  test('finds a place at once while another owner has a full queue', () => {
    for (const name of ['a1', 'a2', 'a3', 'a4']) ask('a', name)
    ask('b', 'b1')
    expect(started).toEqual(['a1', 'a2', 'b1'])
  })

  test('is refused at once beyond its queue, and only that owner is', async () => {
    for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) ask('a', name)
    expect(await ask('a', 'a6').settled).toBe(`${NoPlaceError.name}: Cannot cook: 3 tasks of this owner already wait`)
    ask('b', 'b1')
    expect(started).toEqual(['a1', 'a2', 'b1'])
    expect(shares.stats.refused).toBe(1)
  })
})

describe('places that become free', () => {
  test('go in turn to the owners that wait, in whatever order they came and however many tasks they have', async () => {
    const running = [ask('a', 'a1'), ask('a', 'a2'), ask('b', 'b1'), ask('b', 'b2')]
    const waiting = ['a3', 'a4', 'a5'].map((name) => ask('a', name))
    waiting.push(ask('c', 'c1'), ask('c', 'c2'), ask('d', 'd1'))
    expect(started).toEqual(['a1', 'a2', 'b1', 'b2'])
    for (const task of running) {
      task.end()
      await settle()
    }
    // a3 as a's share has room; then c, d; and a is at the end of the line.
    expect(started.slice(4)).toEqual(['a3', 'c1', 'd1', 'a4'])
    for (const task of waiting) task.end()
    await settle()
    expect(started.slice(8).sort()).toEqual(['a5', 'c2'])
    expect(shares.stats).toEqual({ running: 0, waiting: 0, refused: 0 })
  })

  test('are freed by a task that fails as well, and its failure is the caller’s', async () => {
    const [first] = [ask('a', 'a1'), ask('a', 'a2'), ask('a', 'a3')]
    first?.fail(new RangeError('broken'))
    expect(await first?.settled).toBe('RangeError: broken')
    expect(started).toEqual(['a1', 'a2', 'a3'])
  })
})

test('a task that waits too long is refused, is never started, and holds nobody up', async () => {
  const [first, , third] = [ask('a', 'a1'), ask('a', 'a2'), ask('a', 'a3')]
  await clock.advance(999)
  expect(shares.stats).toEqual({ running: 2, waiting: 1, refused: 0 })
  await clock.advance(1)
  expect(await third?.settled).toBe('NoPlaceError: Cannot cook: no place was free within 1000 ms')
  ask('a', 'a4')
  first?.end()
  await settle()
  expect(started).toEqual(['a1', 'a2', 'a4'])
  expect(shares.stats).toEqual({ running: 2, waiting: 0, refused: 1 })
  // What has started is not cancelled any more.
  await clock.advance(5_000)
  expect(shares.stats.refused).toBe(1)
})
