import { describe, expect, test } from 'bun:test'
import { Journal } from '../../../src/core/journal/journal.ts'
import { coveredText, nextLink, shardOf } from '../../../src/core/journal/shard.ts'
import { settle } from '../../support/fake-clock.ts'
import { agenciesOfShards, audited, booked } from '../../support/journal-records.ts'
import type { MemoryJournalStore } from '../../support/memory-journal-store.ts'
import { CHAIN_KEYS } from '../../support/samples.ts'
import { ending, openJournal } from './support/open-journal.ts'

const [A = '', B = '', C = ''] = agenciesOfShards(3)

/** Appends a booking of each agency, in one batch. */
function bookFor({ journal }: { journal: Journal }, ...agencyIds: readonly string[]) {
  return agencyIds.map((agencyId, i) => ending(journal.append(booked(`${i}`, { agencyId }))))
}

const states = (seen: readonly { state: string }[]) => seen.map(({ state }) => state)
const seqsOf = (store: MemoryJournalStore, agencyId: string) =>
  store.journal.filter((row) => row.agencyId === agencyId).map(({ seq }) => seq)
const takeOver = (store: MemoryJournalStore, ...agencyIds: readonly string[]) =>
  store.takeOverShards(agencyIds.map(shardOf), 'other')
/** Everything of the entries that were sent, by send. */
const sentEntries = (store: MemoryJournalStore) =>
  store.sends.map(({ records }) => records.map(({ entries }) => JSON.stringify(entries)))

/** Records which batches are looked up, by their agencies. */
function watchLookUps(store: MemoryJournalStore): string[][] {
  const lookUps: string[][] = []
  const wasWritten = store.wasWritten.bind(store)
  store.wasWritten = (batch) => {
    lookUps.push(batch.records.map(({ record }) => record.agencyId))
    return wasWritten(batch)
  }
  return lookUps
}

describe('entries of several shards', () => {
  test('J3: have gapless numbers of their own in each, however they share batches', async () => {
    const { store, journal } = await openJournal()
    const agencies = [A, B, A, A, C, B, A]
    const seqs = await Promise.all(agencies.map((agencyId, i) => journal.append(booked(`${i}`, { agencyId }))))
    expect(seqs.map(({ seq }) => seq)).toEqual([1, 1, 2, 3, 1, 2, 4])
    expect([A, B, C].map((agencyId) => seqsOf(store, agencyId))).toEqual([[1, 2, 3, 4], [1, 2], [1]])
    expect(journal.stats).toMatchObject({ entries: 7, records: 7, batches: 2 })
  })

  test('a batch names the shards of all its records, in order, each once', async () => {
    const opened = await openJournal()
    const line = opened.journal.append(audited('1', 1, { agencyId: A }))
    bookFor(opened, C, B, C)
    await line
    const [batch] = opened.store.sends
    expect(batch?.shards).toMatchObject([A, B, C].map((agencyId) => ({ shard: shardOf(agencyId), epoch: 1 })))
    expect(batch?.records.map(({ shard }) => shard)).toEqual([A, C, B, C].map(shardOf))
  })

  test('each has the link after that of the entry before it in its shard, across batches and writers', async () => {
    const first = await openJournal({ batchMax: 2 })
    await Promise.all([A, B, A, B, A].map((agencyId, i) => first.journal.append(booked(`${i}`, { agencyId }))))
    const { store, clock } = first
    const second = new Journal({
      store,
      clock,
      lanes: 1,
      chainKeys: CHAIN_KEYS,
      term: await store.takeOver(),
      limits: { waitingMax: 8, batchMax: 4, queuedMsMax: 5_000 },
      onFenced: () => {},
      newRenewalId: () => 'renewal',
    })
    await Promise.all([B, A].map((agencyId, i) => second.append(booked(`later ${i}`, { agencyId }))))
    for (const agencyId of [A, B]) {
      let link: Uint8Array = new Uint8Array(0)
      for (const row of store.journal.filter((each) => each.agencyId === agencyId)) {
        link = nextLink(CHAIN_KEYS[row.shard] ?? link, link, coveredText(row))
        expect(Buffer.from(row.link).equals(link)).toBe(true)
      }
    }
  })

  test('the month never falls within a shard, and follows the partitions there are', async () => {
    const { store, journal } = await openJournal()
    const at = (year: number, month: number) => Date.UTC(year, month - 1, 1)
    const times = [at(2027, 3), at(2027, 2), at(2035, 1)]
    for (const [i, time] of times.entries()) await journal.append(booked(`${i}`, { agencyId: A, at: time }))
    await journal.append(booked('other', { agencyId: B, at: at(2027, 1) }))
    journal.setNewestMonth('2030-01-01')
    journal.setNewestMonth('2029-01-01')
    await journal.append(booked('new', { agencyId: A, at: at(2035, 1) }))
    expect(store.journal.map(({ month }) => month)).toEqual([
      ...['2027-03-01', '2027-03-01', '2029-12-01', '2027-01-01', '2030-01-01'],
    ])
  })
})

describe('J5: a shard that another writer has taken over', () => {
  test('leaves the batch, and the rest is sent again with the same numbers and bytes', async () => {
    const opened = await openJournal()
    const { store } = opened
    takeOver(store, B)
    const seen = bookFor(opened, A, B, C, A)
    await settle()
    expect(states(seen)).toEqual(['durable 1', 'fenced', 'durable 1', 'durable 2'])
    const [whole = [], rest = []] = sentEntries(store)
    expect(rest).toEqual(whole.filter((_, i) => i !== 1))
    expect(store.sends[1]?.shards.map(({ shard }) => shard)).toEqual([shardOf(A), shardOf(C)])
    expect(seqsOf(store, B)).toEqual([])
  })

  test('ends serving before anything else is sent, once, and nothing of the next batch is sent', async () => {
    const opened = await openJournal({ batchMax: 3 })
    const { store, journal, fencedBy, fenced } = opened
    takeOver(store, B)
    const fencedAtSend: number[] = []
    store.fate = () => {
      fencedAtSend.push(fencedBy.length)
      if (fencedAtSend.length === 1) takeOver(store, C)
      return 'deliver'
    }
    const settledWith = fenced.then(async ({ settled }) => {
      await settled
      return states(seen)
    })
    const seen = bookFor(opened, A, B, C, A)
    expect(await settledWith).toEqual(['durable 1', 'fenced', 'fenced', 'fenced'])
    expect(fencedAtSend).toEqual([0, 1])
    expect([fencedBy.length, journal.stats.state]).toEqual([1, 'fenced'])
  })

  test('while the rest finds another one taken over: serving ends once, and each part has its outcome', async () => {
    const opened = await openJournal()
    const { store, fencedBy } = opened
    takeOver(store, B)
    store.fate = () => {
      if (store.sends.length === 2) takeOver(store, C)
      return 'deliver'
    }
    const seen = bookFor(opened, A, B, C)
    await settle()
    expect(states(seen)).toEqual(['durable 1', 'fenced', 'fenced'])
    expect([store.sends.length, fencedBy.length]).toEqual([3, 1])
  })

  test('J3: is looked up when it was in doubt, and the rest that had been written is found as a duplicate', async () => {
    const opened = await openJournal()
    const { store, clock } = opened
    store.fate = () => (store.sends.length === 1 ? 'lose_reply' : 'deliver')
    const lookUps = watchLookUps(store)
    const seen = bookFor(opened, A, B)
    await settle()
    takeOver(store, B)
    await clock.advance(20)
    expect(states(seen)).toEqual(['durable 1', 'durable 1'])
    expect(lookUps).toEqual([[B]])
    expect([seqsOf(store, A), seqsOf(store, B)]).toEqual([[1], [1]])
  })

  test('J3: is looked up when it was in doubt, and called not written only then', async () => {
    const opened = await openJournal()
    const { store, clock } = opened
    store.fate = () => (store.sends.length === 1 ? 'lose_request' : 'deliver')
    const lookUps = watchLookUps(store)
    const seen = bookFor(opened, A, B)
    await settle()
    takeOver(store, B)
    await clock.advance(20)
    expect(states(seen)).toEqual(['durable 1', 'fenced'])
    expect(lookUps).toEqual([[B]])
    const [late] = store.sends
    expect(late === undefined ? null : await store.appendBatch(late)).toMatchObject({ shards: [shardOf(B)] })
    expect([seqsOf(store, A), seqsOf(store, B)]).toEqual([[1], []])
  })

  test('J3: is called not written at once when it never was in doubt, though the rest comes into doubt later', async () => {
    const opened = await openJournal()
    const { store, clock } = opened
    takeOver(store, B)
    store.fate = () => (store.sends.length === 2 ? 'lose_reply' : 'deliver')
    const lookUps = watchLookUps(store)
    const seen = bookFor(opened, A, B)
    await clock.advance(20)
    expect(states(seen)).toEqual(['durable 1', 'fenced'])
    expect(lookUps).toEqual([])
    expect(seqsOf(store, A)).toEqual([1])
  })

  for (const fate of ['refuse_connection', 'too_slow'] as const) {
    test(`leaves a rest that is refused when it is not written (${fate}), and not sent again later`, async () => {
      const opened = await openJournal()
      const { store, clock } = opened
      takeOver(store, B)
      store.fate = () => (store.sends.length === 1 ? 'deliver' : fate)
      const seen = bookFor(opened, A, B, A)
      await clock.advance(5_100)
      expect(states(seen)).toEqual(['fenced', 'fenced', 'fenced'])
      const { length } = store.sends
      await clock.advance(5_100)
      expect(store.sends).toHaveLength(length)
      expect(store.journal).toEqual([])
    })
  }

  test('leaves a rest of which a data error refuses everything as not written', async () => {
    const opened = await openJournal()
    const { store } = opened
    takeOver(store, B)
    store.fate = () => (store.sends.length === 1 ? 'deliver' : 'poison')
    const seen = bookFor(opened, A, B, A)
    await settle()
    expect(states(seen)).toEqual(['fenced', 'fenced', 'fenced'])
    expect(store.sends).toHaveLength(2)
  })
})

describe('J3: a doubt about several shards that sending again cannot settle', () => {
  test('raises the epochs of the shards of the batch alone', async () => {
    const opened = await openJournal()
    const { store, clock, journal } = opened
    store.fate = () => (store.sends.length === 1 ? 'lose_reply' : 'too_slow')
    const seen = bookFor(opened, A, B)
    await clock.advance(20)
    expect(states(seen)).toEqual(['durable 1', 'durable 1'])
    expect([A, B, C].map((agencyId) => journal.epochOf(agencyId))).toEqual([2, 2, 1])
  })

  test('after a lost reply, a shard that is taken over leaves, and what the first attempt raised is recognized', async () => {
    const opened = await openJournal()
    const { store, clock, journal, fencedBy } = opened
    store.fate = () => (store.sends.length === 1 ? 'lose_reply' : 'poison')
    const renew = store.renewEpochs.bind(store)
    const requests: number[] = []
    store.renewEpochs = async (shards, renewal) => {
      requests.push(shards.length)
      const renewed = await renew(shards, renewal)
      if (requests.length > 1) return renewed
      takeOver(store, B)
      return { kind: 'unknown', cause: new Error('connection lost') }
    }
    const seen = bookFor(opened, A, B)
    await clock.advance(60)
    expect(requests).toEqual([2, 2, 1])
    expect(states(seen)).toEqual(['durable 1', 'durable 1'])
    expect([journal.epochOf(A), fencedBy.length]).toEqual([2, 1])
  })
})
