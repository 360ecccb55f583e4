import { beforeEach, describe, expect, test } from 'bun:test'
import { awaitTurn } from '../../src/cluster/await-turn.ts'
import type { Writer } from '../../src/postgres/stores/postgres-writers.ts'
import { FakeClock } from '../support/fake-clock.ts'

let clock: FakeClock
/** What the database has; null: it is away. Heartbeats are by its clock, which has nothing to do with ours. */
let rows: Writer[] | null
let events: string[]
let isCancelled: boolean
let isOurTurn: boolean
/** How often it has said that it waits. */
let traces: number
/** How often the rows were read. */
let reads: number

const READS_MAX = 1_000

const WRITER: Writer = {
  writerId: 'w1',
  name: 'host 1',
  node: null,
  run: 'run 1',
  shards: 256,
  beatAt: 0,
  silentMs: 0,
  isDraining: false,
  isReleased: false,
}

/** Time passes, and with it the silence of every writer. */
async function pass(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 100) {
    rows = rows?.map((row) => ({ ...row, silentMs: row.silentMs + 100 })) ?? null
    await clock.advance(100)
  }
}

function beats(): void {
  rows = rows?.map((row) => ({ ...row, beatAt: row.beatAt + 1_000, silentMs: 0 })) ?? null
}

function start(dead: readonly string[] = []): void {
  void awaitTurn({
    writers: {
      list: async () => {
        reads += 1
        // Otherwise a wait without a pause would never let the test end.
        if (reads > READS_MAX) await new Promise(() => {})
        if (rows === null) throw new Error('away')
        return rows
      },
      change: async ({ waitMs, isDrainingKnown }) => {
        if (!isDrainingKnown && rows?.some(({ isDraining }) => isDraining)) return
        await new Promise<void>((resolve) => clock.after(waitMs, resolve))
      },
      await: async () => {
        traces += 1
      },
    },
    isAhead: ({ writerId }) => writerId !== 'self',
    clock,
    isOver: (run) => dead.includes(run),
    isCancelled: () => isCancelled,
    watch: {
      onWaiting: ({ name }) => events.push(`waits for ${name}`),
      onDraining: () => events.push('draining'),
      onTurn: (why) => events.push(why),
      onFailure: () => events.push('failure'),
    },
  }).then(() => {
    isOurTurn = true
  })
}

beforeEach(() => {
  clock = new FakeClock()
  rows = [WRITER]
  events = []
  isCancelled = false
  isOurTurn = false
  reads = 0
  traces = 0
})

describe('a process waits for its turn', () => {
  test('not at all when nobody has a shard', async () => {
    rows = []
    start()
    await clock.advance(0)
    expect([isOurTurn, traces]).toEqual([true, 0])
  })

  test('not for itself: it may have taken over without learning of it', async () => {
    rows = [{ ...WRITER, writerId: 'self' }]
    start()
    await clock.advance(0)
    expect([isOurTurn, events]).toEqual([true, []])
  })

  test('P3: and says with every look that it waits, before the writer can be silent for long enough', async () => {
    start()
    await clock.advance(0)
    expect(traces).toBe(1)
    await pass(2_000)
    expect(traces).toBe(reads)
  })

  test('as long as the writer gives heartbeats, and 5 s after the last one', async () => {
    start()
    for (let second = 0; second < 20; second++) {
      await pass(1_000)
      beats()
    }
    expect([isOurTurn, events]).toEqual([false, ['waits for host 1']])
    await pass(4_900)
    expect(isOurTurn).toBe(false)
    await pass(700)
    expect([isOurTurn, events]).toEqual([true, ['waits for host 1', 'silent']])
  })

  test('for two heartbeats more when the last one it knows of is old already: the database may have been away', async () => {
    rows = [{ ...WRITER, silentMs: 60_000 }]
    start()
    await pass(1_500)
    expect(isOurTurn).toBe(false)
    beats()
    await pass(3_000)
    expect(isOurTurn).toBe(false)
    await pass(3_000)
    expect(isOurTurn).toBe(true)
  })

  test('again after it could not see the writer for a while', async () => {
    start()
    await pass(4_000)
    rows = null
    await pass(3_000)
    rows = [{ ...WRITER, silentMs: 7_000 }]
    await pass(1_800)
    expect(isOurTurn).toBe(false)
    await pass(1_000)
    expect([isOurTurn, events.includes('failure')]).toEqual([true, true])
  })

  test('no longer when the writer has released its shards, and it learns once that the writer stops', async () => {
    start()
    await pass(1_000)
    rows = [{ ...WRITER, isDraining: true }]
    await pass(2_000)
    expect([isOurTurn, events]).toEqual([false, ['waits for host 1', 'draining']])
    rows = [{ ...WRITER, isDraining: true, isReleased: true }]
    await pass(600)
    expect(isOurTurn).toBe(true)
  })

  test('and learns that the writer stops even if it has released its shards by then, but nothing of one that had before', async () => {
    start()
    await pass(1_000)
    rows = [{ ...WRITER, isDraining: true, isReleased: true }]
    await pass(600)
    expect([isOurTurn, events]).toEqual([true, ['waits for host 1', 'draining']])
    events = []
    start()
    await clock.advance(0)
    expect(events).toEqual([])
  })

  test('as long as one of several nodes is there, without a word of those that are gone or stop', async () => {
    const node = { ...WRITER, node: 'a', shards: 128 }
    rows = [
      { ...node, writerId: 'w2', run: 'run 2' },
      { ...node, writerId: 'w3', run: 'run 3', isDraining: true },
      { ...node, node: 'b' },
    ]
    start(['run 2', 'run 3'])
    await pass(2_000)
    expect([isOurTurn, events]).toEqual([false, ['waits for host 1']])
    // Five times a second, not as fast as the database answers.
    expect(reads).toBeLessThan(20)
    rows = rows.slice(0, 1)
    await pass(600)
    expect([isOurTurn, events]).toEqual([true, ['waits for host 1', 'dead']])
  })

  test('not for a process of this machine that is dead', async () => {
    start(['run 1'])
    await clock.advance(0)
    expect([isOurTurn, events]).toEqual([true, ['dead']])
  })

  test('no longer than 50 ms after the writer has died on this machine, however long the database has nothing to say', async () => {
    const dead: string[] = []
    start(dead)
    await clock.advance(10)
    dead.push('run 1')
    await clock.advance(50)
    expect([isOurTurn, events]).toEqual([true, ['waits for host 1', 'dead']])
  })

  test('without asking the database all the time for a dead writer beside one that lives', async () => {
    rows = [
      { ...WRITER, shards: 200 },
      { ...WRITER, writerId: 'w2', name: 'host 2', run: null, shards: 56 },
    ]
    start(['run 1'])
    await pass(1_000)
    expect(isOurTurn).toBe(false)
    expect(reads).toBeLessThan(10)
  })

  test('for every writer: one that has a part of the shards and lives is waited for', async () => {
    rows = [
      { ...WRITER, shards: 200, isReleased: true },
      { ...WRITER, writerId: 'w2', name: 'host 2', run: null, shards: 56 },
    ]
    start(['run 1'])
    await pass(1_000)
    expect([isOurTurn, events]).toEqual([false, ['waits for host 2']])
  })

  test('and not after it was told to stop', async () => {
    start()
    await pass(1_000)
    isCancelled = true
    await pass(1_000)
    expect(isOurTurn).toBe(true)
  })
})
