import { describe, expect, test } from 'bun:test'
import { JournalCounters } from '../../../src/core/journal/journal-stats.ts'
import type { BatchToAppend } from '../../../src/core/journal/journal-store.ts'
import { Lane } from '../../../src/core/journal/lane.ts'
import { shardOf } from '../../../src/core/journal/shard.ts'
import { WaitingRecords } from '../../../src/core/journal/waiting-records.ts'
import { AssertionError } from '../../../src/lib/assert.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'
import { agenciesOfShards, booked, bookingIn } from '../../support/journal-records.ts'
import { MemoryJournalStore } from '../../support/memory-journal-store.ts'
import { CHAIN_KEYS, sampleId } from '../../support/samples.ts'
import { ending, openJournal } from './support/open-journal.ts'

/* Two lanes: shards with an even number belong to the first, the others to the second. */

const OF_LANE = Object.groupBy(agenciesOfShards(12), (agencyId) => (shardOf(agencyId) % 2 === 0 ? 'even' : 'odd'))
const [EVEN = '', EVEN_2 = ''] = OF_LANE.even ?? []
const [ODD = '', ODD_2 = ''] = OF_LANE.odd ?? []

const open = (limits: Parameters<typeof openJournal>[0] = {}) => openJournal({ lanes: 2, ...limits })

/** Appends a booking of the agency. */
const book = ({ journal }: Awaited<ReturnType<typeof open>>, label: string, agencyId: string) =>
  ending(journal.append(booked(label, { agencyId })))

const states = (...seen: readonly { state: string }[]) => seen.map(({ state }) => state)

const has = ({ shards }: BatchToAppend, agencyId: string) => shards.some(({ shard }) => shard === shardOf(agencyId))

/** The sends of the agency's lane take until they are released; those of the other lane take no time. */
function held(store: MemoryJournalStore, agencyId: string): () => void {
  const released = Promise.withResolvers<void>()
  const isOfLane = (batch: BatchToAppend | undefined) => (batch?.shards[0]?.shard ?? 0) % 2 === shardOf(agencyId) % 2
  store.delay = () => (isOfLane(store.sends.at(-1)) ? released.promise : Promise.resolve())
  return released.resolve
}

describe('J1: lanes', () => {
  test('do not wait for each other: while one has a batch in flight, the other appends', async () => {
    const opened = await open()
    const release = held(opened.store, EVEN)
    const slow = book(opened, '1', EVEN)
    await settle()
    const behind = book(opened, '2', EVEN_2)
    const others = [book(opened, '3', ODD), book(opened, '4', ODD_2)]
    await settle()
    others.push(book(opened, '5', ODD))
    await settle()
    expect(states(slow, behind, ...others)).toEqual(['open', 'open', 'durable 1', 'durable 1', 'durable 2'])
    expect(opened.store.sends).toHaveLength(3)
    release()
    await settle()
    expect(states(slow, behind)).toEqual(['durable 1', 'durable 1'])
  })

  test('share no batch', async () => {
    const opened = await open({ batchMax: 8 })
    const seen = [EVEN, ODD, EVEN_2, ODD_2, EVEN].map((agencyId, i) => book(opened, `${i}`, agencyId))
    await settle()
    expect(states(...seen)).toEqual(['durable 1', 'durable 1', 'durable 1', 'durable 1', 'durable 2'])
    const shards = opened.store.sends.map((batch) => new Set(batch.records.map(({ shard }) => shard % 2)).size)
    expect(shards).toEqual([1, 1])
  })

  test('have each their connection: an unknown outcome discards only the one where it happened', async () => {
    const opened = await open()
    const { store, clock, journal } = opened
    store.fate = (batch) => (has(batch, EVEN) && store.sends.length <= 2 ? 'lose_reply' : 'deliver')
    const seen = [book(opened, '1', EVEN), book(opened, '2', ODD)]
    await settle()
    expect(states(...seen)).toEqual(['open', 'durable 1'])
    await clock.advance(20)
    expect(states(...seen)).toEqual(['durable 1', 'durable 1'])
    expect([store.reconnects, journal.stats.resends]).toEqual([1, 1])
  })

  test('shrink their batches alone when the database is too slow for them', async () => {
    const opened = await open({ batchMax: 4 })
    const { store, clock, journal } = opened
    store.fate = (batch) => (has(batch, EVEN) && batch.records.length > 1 ? 'too_slow' : 'deliver')
    const seen = ['1', '2', '3', '4'].map((label) => book(opened, label, EVEN))
    const others = ['5', '6', '7', '8'].map((label) => book(opened, label, ODD))
    await settle()
    expect(journal.stats.batchMax).toBe(4)
    await clock.advance(20)
    expect(journal.stats.batchMax).toBe(2)
    await clock.advance(60)
    expect(states(...seen, ...others).filter((state) => !state.startsWith('durable'))).toEqual([])
    expect(store.sends.filter((batch) => has(batch, ODD)).map(({ records }) => records.length)).toEqual([4])
  })

  test('bisect alone: a data error of one delays nothing of the other', async () => {
    const opened = await open()
    const { store } = opened
    store.isPoison = (record) => bookingIn(record) === sampleId('bkg', 'bad')
    const seen = [book(opened, '1', EVEN), book(opened, 'bad', EVEN), book(opened, '2', EVEN), book(opened, '3', ODD)]
    await settle()
    await settle()
    expect(states(...seen)).toEqual(['durable 1', 'poisoned', 'durable 2', 'durable 1'])
  })

  test('never number an entry of another lane’s shard', async () => {
    const store = new MemoryJournalStore()
    const clock = new FakeClock()
    const { shards, newestMonth } = await store.takeOver()
    const lane = new Lane({
      ...{ store, clock, heads: shards, epochs: shards.map(({ epoch }) => epoch), batchMax: 4 },
      owns: (shard) => shard % 2 === 0,
      logEnd: () => ({ chainKeys: CHAIN_KEYS, newestMonth }),
      waiting: new WaitingRecords({ clock, waitingMax: 8, queuedMsMax: 5_000, waitingInAll: () => 0 }),
      counters: new JournalCounters(),
      onFenced: () => {},
      newRenewalId: () => 'renewal',
    })
    ending(lane.append(booked('1', { agencyId: ODD }), 0))
    expect(await lane.drained().catch((error: unknown) => error)).toBeInstanceOf(AssertionError)
    expect(store.sends).toEqual([])
  })
})

describe('the limit of waiting records', () => {
  test('is one for all lanes', async () => {
    const opened = await open({ waitingMax: 3 })
    const release = held(opened.store, EVEN)
    const inFlight = book(opened, '1', EVEN)
    await settle()
    const waiting = ['2', '3', '4'].map((label) => book(opened, label, EVEN))
    const refused = opened.journal.append(booked('5', { agencyId: ODD })).catch(({ message }: Error) => message)
    expect(await refused).toBe('Cannot append: 3 records already wait')
    expect(opened.journal.stats).toMatchObject({ waiting: 3, refused: { full: 1 } })
    release()
    await settle()
    expect(states(inFlight, ...waiting)).toEqual(['durable 1', 'durable 2', 'durable 3', 'durable 4'])
    expect(await opened.journal.append(booked('6', { agencyId: ODD }))).toEqual({ seq: 1 })
  })
})

describe('what is measured of all lanes', () => {
  test('is the age of the oldest record, the batch that takes longest, and what waits and is sent in sum', async () => {
    const opened = await open()
    const { store, clock, journal } = opened
    const release = held(store, EVEN)
    const slow = book(opened, '1', EVEN)
    await clock.advance(100)
    const behind = book(opened, '2', EVEN)
    const other = book(opened, '3', ODD)
    await clock.advance(30)
    expect(states(slow, behind, other)).toEqual(['open', 'open', 'durable 1'])
    expect(journal.stats).toMatchObject({ state: 'flushing', inFlightMs: 130, oldestMs: 130, waiting: 1, batches: 1 })
    release()
    await settle()
    expect(journal.stats).toMatchObject({ state: 'idle', inFlightMs: 0, oldestMs: 0, waiting: 0, batches: 3 })
  })
})

describe('J5: a fence that one lane meets', () => {
  test('ends serving once; the other refuses what waits and what comes, and settles what it had sent', async () => {
    const opened = await open()
    const { store, journal, fenced, fencedBy } = opened
    const release = held(store, ODD)
    const sent = book(opened, '1', ODD)
    await settle()
    const behind = book(opened, '2', ODD)
    store.takeOverShards([shardOf(EVEN)], 'other')
    const met = book(opened, '3', EVEN)
    const { settled } = await fenced
    let isSettled = false
    void settled.then(() => {
      isSettled = true
    })
    await settle()
    const late = book(opened, '4', ODD_2)
    await settle()
    expect(states(sent, behind, met, late)).toEqual(['open', 'fenced', 'fenced', 'fenced'])
    expect([isSettled, journal.stats.state]).toEqual([false, 'fenced'])
    release()
    await settled
    expect([sent.state, fencedBy.length, store.sends.length]).toEqual(['durable 1', 1, 2])
  })

  test('is reported once, whoever else meets one', async () => {
    const opened = await open()
    await opened.store.takeOver('other')
    const seen = [book(opened, '1', EVEN), book(opened, '2', ODD)]
    const { settled } = await opened.fenced
    await settled
    expect(states(...seen)).toEqual(['fenced', 'fenced'])
    expect(opened.fencedBy).toHaveLength(1)
  })

  test('leaves a batch of the other that is not written as refused, and unsent', async () => {
    const opened = await open()
    const { store, clock } = opened
    store.fate = (batch) => (has(batch, ODD) ? 'refuse_connection' : 'deliver')
    const sent = book(opened, '1', ODD)
    await settle()
    store.takeOverShards([shardOf(EVEN)], 'other')
    book(opened, '2', EVEN)
    await clock.advance(5_100)
    const { settled } = await opened.fenced
    await settled
    expect(sent.state).toBe('fenced')
    const { length } = store.sends
    await clock.advance(5_100)
    expect([store.sends.length, store.journal.length]).toEqual([length, 0])
  })

  test('waits for the outcome of a batch of the other that is in doubt', async () => {
    const opened = await open()
    const { store, clock } = opened
    store.fate = (batch) =>
      !has(batch, ODD) || store.sends.length > 5 ? 'deliver' : store.sends.length === 1 ? 'lose_reply' : 'read_only'
    const sent = book(opened, '1', ODD)
    await settle()
    store.takeOverShards([shardOf(EVEN)], 'other')
    const met = book(opened, '2', EVEN)
    await settle()
    expect(states(sent, met)).toEqual(['open', 'fenced'])
    await clock.advance(200)
    const { settled } = await opened.fenced
    await settled
    expect(states(sent, met)).toEqual(['durable 1', 'fenced'])
    expect(store.journal).toHaveLength(1)
  })
})

test('closing waits for all lanes, and refuses what comes to one that is done', async () => {
  const opened = await open()
  const release = held(opened.store, EVEN)
  const slow = book(opened, '1', EVEN)
  await settle()
  const closing = opened.journal.close()
  await settle()
  const late = book(opened, '2', ODD)
  await settle()
  expect([slow.state, late.state, opened.journal.stats.state]).toEqual(['open', 'closed', 'flushing'])
  release()
  await closing
  expect([slow.state, opened.journal.stats.state]).toEqual(['durable 1', 'closed'])
})
