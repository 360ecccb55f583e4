import { describe, expect, test } from 'bun:test'
import type { BatchToAppend } from '../../../src/core/journal/journal-store.ts'
import { shardOf } from '../../../src/core/journal/shard.ts'
import { ShardLogs } from '../../../src/core/journal/shard-logs.ts'
import { AssertionError } from '../../../src/lib/assert.ts'
import { settle } from '../../support/fake-clock.ts'
import { agenciesOfShards, booked, bookingIn } from '../../support/journal-records.ts'
import { MemoryJournalStore } from '../../support/memory-journal-store.ts'
import { CHAIN_KEYS, sampleId } from '../../support/samples.ts'
import { ending, openJournal } from './support/open-journal.ts'

const [A = '', B = '', C = ''] = agenciesOfShards(3)

/** A batch beside another one is sent once it has 16 records, or when the other has taken 10 ms. */
const ENOUGH = 16
const BESIDE_AFTER_MS = 10

type Opened = Awaited<ReturnType<typeof openJournal>>

const open = (limits: Parameters<typeof openJournal>[0] = {}) =>
  openJournal({ lanes: 2, waitingMax: 100, batchMax: 100, ...limits })

let labels = 0

/** Appends bookings of an agency. */
const book = ({ journal }: Opened, agencyId: string, count = 1) =>
  Array.from({ length: count }, () => ending(journal.append(booked(`${++labels}`, { agencyId }))))

const states = (seen: readonly { state: string }[]) => seen.map(({ state }) => state)
const has = ({ shards }: BatchToAppend, agencyId: string) => shards.some(({ shard }) => shard === shardOf(agencyId))
/** The agencies of each send. */
const sentOf = ({ store }: Opened) => store.sends.map((batch) => [A, B, C].filter((agencyId) => has(batch, agencyId)))

/** What is sent of an agency takes until it is released; everything else takes no time. */
function held({ store }: Opened, agencyId: string): () => void {
  const released = Promise.withResolvers<void>()
  store.delay = () => {
    const [last] = store.sends.slice(-1)
    return last !== undefined && has(last, agencyId) ? released.promise : Promise.resolve()
  }
  return released.resolve
}

describe('J1: a batch in flight', () => {
  test('holds its shards: their records wait for it, those of other shards are sent beside it', async () => {
    const opened = await open()
    const release = held(opened, A)
    const first = book(opened, A)
    await settle()
    const behind = book(opened, A, ENOUGH)
    const others = book(opened, B, ENOUGH)
    await settle()
    expect(sentOf(opened)).toEqual([[A], [B]])
    expect(new Set(states([...first, ...behind]))).toEqual(new Set(['open']))
    expect(states(others).at(-1)).toBe(`durable ${ENOUGH}`)
    release()
    await settle()
    expect([...states(first), states(behind).at(-1)]).toEqual(['durable 1', `durable ${ENOUGH + 1}`])
    expect(sentOf(opened)).toEqual([[A], [B], [A]])
  })

  test('holds up all other records of the same agency, however many lanes are free', async () => {
    const opened = await open({ lanes: 4 })
    const release = held(opened, A)
    book(opened, A)
    await settle()
    const behind = book(opened, A, 40)
    await opened.clock.advance(1_000)
    expect(sentOf(opened)).toEqual([[A]])
    release()
    await settle()
    expect(states(behind).at(-1)).toBe('durable 41')
  })

  test('has at most one beside it with two lanes', async () => {
    const opened = await open()
    const { store } = opened
    const release = Promise.withResolvers<void>()
    store.delay = () => release.promise
    for (const agencyId of [A, B, C]) {
      book(opened, agencyId, ENOUGH)
      await settle()
    }
    await opened.clock.advance(100)
    expect(sentOf(opened)).toEqual([[A], [B]])
    release.resolve()
    await settle()
    expect(sentOf(opened)).toEqual([[A], [B], [C]])
  })

  test('is joined by the next one at once when that is large, and otherwise after 10 ms', async () => {
    const opened = await open()
    const release = held(opened, A)
    book(opened, A)
    await settle()
    const few = book(opened, B, ENOUGH - 1)
    await opened.clock.advance(BESIDE_AFTER_MS - 1)
    expect(sentOf(opened)).toEqual([[A]])
    await opened.clock.advance(1)
    expect(sentOf(opened)).toEqual([[A], [B]])
    expect(states(few).at(-1)).toBe(`durable ${ENOUGH - 1}`)
    const late = book(opened, C)
    await settle()
    expect(states(late)).toEqual(['durable 1'])
    release()
    await settle()
  })

  test('is joined by nothing when all that waited beside it has been refused', async () => {
    const opened = await open()
    const { store, clock, journal } = opened
    const sends = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    store.delay = () => sends[store.sends.length - 1]?.promise ?? Promise.resolve()
    book(opened, A)
    await settle()
    book(opened, A)
    await clock.advance(245)
    sends[0]?.resolve()
    await settle()
    // Overdue at 250 ms, when overdue records are refused; it would be sent at 255 ms.
    const overdue = ending(journal.append(booked('overdue', { agencyId: B }), -4_750))
    await clock.advance(20)
    expect([overdue.state, sentOf(opened)]).toEqual(['held_too_long', [[A], [A]]])
    sends[1]?.resolve()
    await settle()
    expect(journal.stats.state).toBe('idle')
  })

  test('is followed by small ones as soon as it is durable', async () => {
    const opened = await open()
    const release = held(opened, A)
    book(opened, A)
    await settle()
    const few = [...book(opened, B), ...book(opened, C)]
    await settle()
    release()
    await settle()
    expect(sentOf(opened)).toEqual([[A], [B, C]])
    expect(states(few)).toEqual(['durable 1', 'durable 1'])
  })

  test('whose connection hangs holds up its own agencies alone', async () => {
    const opened = await open()
    held(opened, A)
    const hung = book(opened, A)
    await settle()
    for (let round = 1; round <= 20; round++) {
      const others = [...book(opened, B), ...book(opened, C)]
      await opened.clock.advance(200)
      expect(states(others)).toEqual([`durable ${round}`, `durable ${round}`])
    }
    expect(states(hung)).toEqual(['open'])
    expect(opened.journal.stats).toMatchObject({ state: 'flushing', inFlightMs: 4_000, oldestMs: 4_000, waiting: 0 })
  })
})

describe('what is not written', () => {
  test('waits again in front, and keeps its order whatever is sent beside it', async () => {
    const opened = await open({ batchMax: 4 })
    const { store, clock } = opened
    store.fate = (batch) => (has(batch, A) && batch.records.length > 1 ? 'too_slow' : 'deliver')
    const first = book(opened, A, 4)
    await settle()
    const later = [...book(opened, B, 8), ...book(opened, A, 2)]
    await clock.advance(300)
    expect(states(first)).toEqual(['durable 1', 'durable 2', 'durable 3', 'durable 4'])
    expect(states(later).slice(-2)).toEqual(['durable 5', 'durable 6'])
    expect(store.journal.filter(({ agencyId }) => agencyId === B).map(({ seq }) => seq)).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8,
    ])
  })

  test('J4: because of a data error holds up no other shard while its batch is bisected', async () => {
    const opened = await open()
    const { store, journal } = opened
    store.isPoison = (record) => bookingIn(record) === sampleId('bkg', 'bad')
    const release = held(opened, A)
    const seen = [...book(opened, A), ending(journal.append(booked('bad', { agencyId: A }))), ...book(opened, A)]
    await settle()
    const others = book(opened, B, ENOUGH)
    await settle()
    expect(states(others).at(-1)).toBe(`durable ${ENOUGH}`)
    release()
    for (let turn = 0; turn < 4; turn++) await settle()
    expect(states(seen)).toEqual(['durable 1', 'poisoned', 'durable 2'])
  })
})

describe('the logs of the shards', () => {
  const logs = async () => new ShardLogs({ term: await new MemoryJournalStore().takeOver(), chainKeys: CHAIN_KEYS })

  test('J1: a shard is held once', async () => {
    const opened = await logs()
    opened.hold(new Set([1, 2]))
    expect([opened.isHeld(1), opened.isHeld(3)]).toEqual([true, false])
    expect(() => opened.hold(new Set([3, 2]))).toThrow(AssertionError)
    opened.release(new Set([1, 2]))
    opened.hold(new Set([2]))
  })

  test('J3: only records of shards that are held are numbered', async () => {
    const opened = await logs()
    opened.hold(new Set([shardOf(A)]))
    expect(opened.numbered([booked('1', { agencyId: A })]).map(({ entries }) => entries[0]?.seq)).toEqual([1])
    expect(() => opened.numbered([booked('2', { agencyId: A }), booked('3', { agencyId: B })])).toThrow(AssertionError)
  })
})

test('the limit of waiting records is one for all lanes, and does not count what is in flight', async () => {
  const opened = await open({ waitingMax: 3 })
  const release = held(opened, A)
  book(opened, A)
  await settle()
  const waiting = book(opened, A, 3)
  const refused = opened.journal.append(booked('refused', { agencyId: B })).catch(({ message }: Error) => message)
  expect(await refused).toBe('Cannot append: 3 records already wait')
  release()
  await settle()
  expect(states(waiting)).toEqual(['durable 2', 'durable 3', 'durable 4'])
})

test('the batch in flight that is measured is the one that takes longest, the age that of the oldest record', async () => {
  const opened = await open()
  const { store, clock, journal } = opened
  const release = Promise.withResolvers<void>()
  store.delay = () => release.promise
  book(opened, A)
  await clock.advance(100)
  book(opened, B)
  await clock.advance(30)
  book(opened, C)
  await clock.advance(5)
  expect(sentOf(opened)).toEqual([[A], [B]])
  expect(journal.stats).toMatchObject({ state: 'flushing', inFlightMs: 135, oldestMs: 135, waiting: 1, batches: 0 })
  release.resolve()
  await settle()
  expect(journal.stats).toMatchObject({ state: 'idle', inFlightMs: 0, oldestMs: 0, waiting: 0, batches: 3 })
})

describe('J5: a fence that one lane meets', () => {
  /** A batch of A is in flight, and so is one of B. */
  async function bothInFlight(opened: Opened) {
    const sent = book(opened, A)
    await settle()
    opened.store.takeOverShards([shardOf(B)], 'other')
    const met = book(opened, B, ENOUGH)
    const behind = book(opened, A)
    return { sent, met, behind }
  }

  test('ends serving once; what waits and what comes is refused, and what another lane had sent is settled', async () => {
    const opened = await open()
    const { store, journal, fenced, fencedBy } = opened
    const release = held(opened, A)
    const { sent, met, behind } = await bothInFlight(opened)
    const { settled } = await fenced
    let isSettled = false
    void settled.then(() => {
      isSettled = true
    })
    const late = book(opened, C)
    await settle()
    expect(states([...sent, ...behind, ...late])).toEqual(['open', 'fenced', 'fenced'])
    expect([new Set(states(met)), isSettled, journal.stats.state]).toEqual([new Set(['fenced']), false, 'fenced'])
    release()
    await settled
    expect([...states(sent), fencedBy.length, store.sends.length]).toEqual(['durable 1', 1, 2])
  })

  test('is reported once, though the other lane meets one as well', async () => {
    const opened = await open()
    const { store, fenced, fencedBy } = opened
    const release = held(opened, A)
    const { sent } = await bothInFlight(opened)
    store.takeOverShards([shardOf(A)], 'other')
    const { settled } = await fenced
    release()
    await settled
    expect([...states(sent), fencedBy.length]).toEqual(['fenced', 1])
  })

  test('leaves a batch of another lane that is not written as refused, and not sent again', async () => {
    const opened = await open()
    const { store, clock, fenced } = opened
    store.fate = (batch) => (has(batch, A) ? 'refuse_connection' : 'deliver')
    const { sent } = await bothInFlight(opened)
    await clock.advance(5_100)
    const { settled } = await fenced
    await settled
    expect(states(sent)).toEqual(['fenced'])
    const { length } = store.sends
    await clock.advance(5_100)
    expect([store.sends.length, store.journal.length]).toEqual([length, 0])
  })

  test('waits for the outcome of a batch of another lane that is in doubt', async () => {
    const opened = await open()
    const { store, clock, fenced } = opened
    let sendsOfA = 0
    store.fate = (batch) => {
      if (!has(batch, A)) return 'deliver'
      sendsOfA += 1
      return sendsOfA === 1 ? 'lose_reply' : sendsOfA < 5 ? 'read_only' : 'deliver'
    }
    const { sent } = await bothInFlight(opened)
    const { settled } = await fenced
    expect(states(sent)).toEqual(['open'])
    await clock.advance(200)
    await settled
    expect([...states(sent), store.journal.length]).toEqual(['durable 1', 1])
  })
})

test('closing waits for all lanes', async () => {
  const opened = await open()
  const { journal } = opened
  const release = held(opened, A)
  const slow = book(opened, A)
  await settle()
  const other = book(opened, B, ENOUGH)
  const closing = journal.close()
  await settle()
  expect([...states(slow), states(other).at(-1), journal.stats.state]).toEqual([
    'open',
    `durable ${ENOUGH}`,
    'flushing',
  ])
  release()
  await closing
  expect([...states(slow), journal.stats.state]).toEqual(['durable 1', 'closed'])
})
