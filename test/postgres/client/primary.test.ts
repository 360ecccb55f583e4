import { beforeEach, describe, expect, test } from 'bun:test'
import type { Host } from '../../../src/postgres/client/database-url.ts'
import { type HostState, Primary } from '../../../src/postgres/client/primary.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const A: Host = { name: 'a', port: 5432 }
const B: Host = { name: 'b', port: 5432 }
const primaryOf = (timeline: number): HostState => ({ kind: 'primary', timeline })
const STANDBY: HostState = { kind: 'standby' }

let clock: FakeClock
/** What each host answers, and after how many milliseconds. */
let answers: Map<Host, { state: HostState; ms: number }>
let requests: Host[]
let moves: number
let primary: Primary

function answer(host: Host, state: HostState, ms = 1): void {
  answers.set(host, { state, ms })
}

beforeEach(() => {
  clock = new FakeClock()
  answers = new Map()
  requests = []
  moves = 0
  primary = new Primary({
    hosts: [A, B],
    clock,
    probe: (host) => {
      requests.push(host)
      const { state, ms } = answers.get(host) ?? { state: { kind: 'failed', cause: new Error('away') } as const, ms: 1 }
      return new Promise((resolve) => clock.after(ms, () => resolve(state)))
    },
  })
  primary.onMoved(() => {
    moves += 1
  })
})

/** The host found within this time; the error's message when there is none. */
async function found(withinMs: number): Promise<Host | string | null> {
  let outcome: Host | string | null = null
  void primary.host().then(
    (host) => {
      outcome = host
    },
    (error: Error) => {
      outcome = error.message
    },
  )
  await clock.advance(withinMs)
  return outcome
}

describe('P1: the primary among several hosts', () => {
  test('is the one that is not a standby, wherever it is in the list, and is asked for only once', async () => {
    answer(A, STANDBY)
    answer(B, primaryOf(1))
    expect(await found(5)).toBe(B)
    expect(await found(0)).toBe(B)
    expect(requests).toEqual([A, B])
  })

  test('is found although the first host is mute', async () => {
    answer(A, { kind: 'failed', cause: new Error('no answer') }, 700)
    answer(B, primaryOf(1))
    expect(await found(710)).toBe(B)
  })

  test('is at the start the one of the highest timeline, even if it answers last', async () => {
    answer(A, primaryOf(3))
    answer(B, primaryOf(4), 600)
    expect(await found(610)).toBe(B)
  })

  test('that was promoted is used at once, and connections to the old one are dropped', async () => {
    answer(A, primaryOf(1))
    answer(B, STANDBY)
    await found(5)
    answer(A, { kind: 'failed', cause: new Error('no answer') }, 700)
    primary.doubt()
    const search = found(900)
    clock.after(300, () => answer(B, primaryOf(2)))
    expect(await search).toBe(B)
    expect(moves).toBe(1)
  })

  test('that was replaced is not used again, also while the new one is away', async () => {
    answer(A, primaryOf(1))
    answer(B, STANDBY)
    await found(5)
    answer(B, primaryOf(2))
    primary.suspect()
    await clock.advance(200)
    expect(await found(5)).toBe(B)
    answer(B, { kind: 'failed', cause: new Error('refused') })
    primary.doubt()
    expect(await found(1_000)).toBe(
      'Cannot find the primary: a:5432 is a primary that has been replaced (timeline 1, 2 was seen), b:5432 failed (refused)',
    )
  })

  test('is left for its promoted standby although it answers first: it may be cut off from it', async () => {
    answer(A, primaryOf(1))
    answer(B, STANDBY)
    await found(5)
    answer(B, primaryOf(2), 100)
    primary.doubt()
    expect(await found(150)).toBe(B)
  })

  test('that has only lost a connection is used again, and nothing is dropped', async () => {
    answer(A, primaryOf(1))
    answer(B, STANDBY)
    await found(5)
    primary.doubt()
    expect(await found(5)).toBe(A)
    expect(moves).toBe(0)
  })

  test('is none that is read-only; a waiting connection is told after a second what each host is', async () => {
    answer(A, { kind: 'read_only' })
    answer(B, STANDBY)
    expect(await found(999)).toBeNull()
    expect(await found(1_000)).toBe(
      'Cannot find the primary: a:5432 is read-only (transaction_read_only is on), b:5432 is a standby',
    )
  })

  test('is not looked for while nobody waits', async () => {
    answer(A, STANDBY)
    answer(B, STANDBY)
    await found(1_500)
    requests = []
    await clock.advance(60_000)
    expect(requests).toEqual([])
  })
})
