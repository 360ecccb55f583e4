import { describe, expect, test } from 'bun:test'
import { Journal } from '../../../src/core/journal/journal.ts'
import { shardOf } from '../../../src/core/journal/shard.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'
import { agenciesOfShards, booked } from '../../support/journal-records.ts'
import { MemoryJournalStore } from '../../support/memory-journal-store.ts'
import { CHAIN_KEYS } from '../../support/samples.ts'
import { ending } from './support/open-journal.ts'

const [A = '', B = '', C = ''] = agenciesOfShards(3)
const shardsOf = (...agencyIds: readonly string[]) => new Set(agencyIds.map(shardOf))
const states = (seen: readonly { state: string }[]) => seen.map(({ state }) => state)

/** A node's journal without a shard, over a store that others write to as well. */
function openNode(store = new MemoryJournalStore(), lanes = 2) {
  const clock = new FakeClock()
  const lost: (readonly number[])[] = []
  const journal = new Journal({
    store,
    clock,
    lanes,
    chainKeys: CHAIN_KEYS,
    term: { shards: [], newestMonth: '' },
    limits: { waitingMax: 20, batchMax: 10, queuedMsMax: 5_000 },
    onFenced: () => expect.unreachable('A node does not stop as a whole'),
    onShardsLost: (shards) => lost.push(shards),
    newRenewalId: () => crypto.randomUUID(),
  })
  const acquire = (...agencyIds: readonly string[]) => {
    const wanted = shardsOf(...agencyIds)
    const { shards, newestMonth } = store.takeOverShards(wanted, 'node')
    journal.adopt({ newestMonth, shards: shards.filter(({ shard }) => wanted.has(shard)) })
  }
  let labels = 0
  const book = (...agencyIds: readonly string[]) =>
    agencyIds.map((agencyId) => ending(journal.append(booked(`${++labels}`, { agencyId }))))
  return { store, clock, journal, lost, acquire, book }
}

describe('C4: a node', () => {
  test('appends to the shards it has acquired, and refuses records of others as not written', async () => {
    const { acquire, book, store } = openNode()
    acquire(A)
    const seen = book(A, B, A)
    await settle()
    expect(states(seen)).toEqual(['durable 1', 'not_owner', 'durable 2'])
    expect(store.journal.map(({ agencyId }) => agencyId)).toEqual([A, A])
    expect(store.sends.flatMap(({ shards }) => shards.map(({ shard }) => shard))).toEqual([shardOf(A)])
  })

  test('that is fenced for one shard loses it, and continues with the others', async () => {
    const { acquire, book, lost, store, journal } = openNode()
    acquire(A, B, C)
    store.takeOverShards(shardsOf(B), 'other')
    const seen = book(A, B, C)
    await settle()
    expect(states(seen)).toEqual(['durable 1', 'not_owner', 'durable 1'])
    expect(lost).toEqual([[shardOf(B)]])
    expect(journal.isOwned(shardOf(B))).toBe(false)
    const later = book(A, B)
    await settle()
    expect(states(later)).toEqual(['durable 2', 'not_owner'])
    expect(journal.stats.state).toBe('idle')
  })

  test('that gets a shard back continues where its other writer stopped', async () => {
    const one = openNode()
    const two = openNode(one.store)
    for (const [i, node] of [one, two, one, two].entries()) {
      node.acquire(A)
      const seen = node.book(A, A)
      await settle()
      expect(states(seen)).toEqual([`durable ${2 * i + 1}`, `durable ${2 * i + 2}`])
      node.journal.retire(shardsOf(A))
    }
    expect(one.store.journal.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
  })
})

describe('C5: a shard that is given up', () => {
  test('has what was appended before written, and what waits refused as not written', async () => {
    const { acquire, book, store, journal } = openNode()
    acquire(A, B)
    const released = Promise.withResolvers<void>()
    store.delay = () => released.promise
    const sent = book(A)
    await settle()
    const waiting = book(A, B)
    const isSettled = ending(journal.settled(shardsOf(A)).then(() => ({ seq: 0 })))
    journal.retire(shardsOf(A))
    await settle()
    expect(states([...sent, ...waiting, isSettled])).toEqual(['open', 'not_owner', 'open', 'open'])
    released.resolve()
    await settle()
    expect(states([...sent, ...waiting, isSettled])).toEqual(['durable 1', 'not_owner', 'durable 1', 'durable 0'])
  })

  test('tells whoever waits the truth about a record that was written before the fence rose', async () => {
    const { acquire, book, store, clock } = openNode()
    acquire(A)
    let sends = 0
    store.fate = () => (++sends === 1 ? 'lose_reply' : 'deliver')
    const seen = book(A)
    await settle()
    store.takeOverShards(shardsOf(A), 'other')
    await clock.advance(100)
    expect(states(seen)).toEqual(['durable 1'])
  })

  test('sends nothing of it again when the database did not take the batch', async () => {
    const { acquire, book, store, clock, journal } = openNode()
    acquire(A)
    store.fate = () => 'refuse_connection'
    const seen = book(A)
    await settle()
    journal.retire(shardsOf(A))
    await clock.advance(6_000)
    expect(states(seen)).toEqual(['not_owner'])
    store.fate = () => 'deliver'
    await clock.advance(1_000)
    expect(store.journal).toEqual([])
  })
})
