import { describe, expect, test } from 'bun:test'
import { Journal, type JournalLimits } from '../../../src/core/journal/journal.ts'
import type { JournalRecord } from '../../../src/core/journal/record.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'
import { MemoryJournalStore } from '../../support/memory-journal-store.ts'
import { AGENCY, sampleBooking, sampleId } from '../../support/samples.ts'

async function openJournal(limits: Partial<JournalLimits> = {}) {
  const store = new MemoryJournalStore()
  const clock = new FakeClock()
  let batches = 0
  const journal = new Journal({
    store,
    clock,
    limits: { waitingMax: 4, batchMax: 4, queuedMsMax: 5_000, ...limits },
    term: await store.takeOver(),
    onFenced: () => {},
    newBatchId: () => `batch ${++batches}`,
  })
  return { store, clock, journal }
}

function booked(label: string): JournalRecord {
  const after = sampleBooking({ id: sampleId('bkg', label) })
  return { agencyId: AGENCY.id, at: 0, entry: { event: { kind: 'booking_created', after }, at: 0, requestId: null } }
}

/** Holds what is sent until the test releases it. */
function held(store: MemoryJournalStore): () => void {
  let release = () => {}
  store.delay = () => new Promise((resolve) => (release = resolve))
  return () => {
    store.delay = async () => {}
    release()
  }
}

describe('the age of the oldest record', () => {
  test('is that of the record in flight, however many came later, and 0 once all is durable', async () => {
    const { store, clock, journal } = await openJournal()
    const release = held(store)
    const first = journal.append(booked('1'))
    await clock.advance(40)
    const second = journal.append(booked('2'))
    await clock.advance(60)
    expect(journal.stats).toMatchObject({ oldestMs: 100, inFlightMs: 100, waiting: 1 })
    release()
    await Promise.all([first, second])
    await settle()
    expect(journal.stats).toMatchObject({ oldestMs: 0, inFlightMs: 0, waiting: 0 })
  })

  test('counts what a record waited before its batch was sent', async () => {
    const { store, clock, journal } = await openJournal()
    let release = held(store)
    const first = journal.append(booked('1'))
    await clock.advance(10)
    const second = journal.append(booked('2'))
    await clock.advance(30)
    const releaseFirst = release
    let releaseSecond = () => {}
    releaseFirst()
    store.delay = () => new Promise((resolve) => (releaseSecond = resolve))
    release = () => releaseSecond()
    await first
    await clock.advance(5)
    expect(journal.stats).toMatchObject({ oldestMs: 35, inFlightMs: 5 })
    release()
    await second
  })
})

test('each durable batch is counted by its size and by how long it took', async () => {
  const { store, clock, journal } = await openJournal({ batchMax: 2 })
  const release = held(store)
  const all = ['1', '2', '3'].map((id) => journal.append(booked(id)))
  await clock.advance(20)
  release()
  await Promise.all(all)
  const { batchSizes, appendMs } = journal.stats
  expect(batchSizes.counts.slice(0, 3)).toEqual([1, 1, 0])
  expect(batchSizes.sum).toBe(3)
  expect([appendMs.counts.reduce((sum, count) => sum + count), appendMs.sum]).toEqual([2, 20])
})

test('records that did not become durable are counted by reason', async () => {
  const { store, clock, journal } = await openJournal({ waitingMax: 1 })
  const release = held(store)
  const first = journal.append(booked('1'))
  await settle()
  const second = journal.append(booked('2'))
  const refused = journal.append(booked('3')).catch(() => {})
  await refused
  expect(journal.stats.refused).toMatchObject({ full: 1, held_too_long: 0 })
  const overdue = second.catch(() => {})
  await clock.advance(6_000)
  await overdue
  expect(journal.stats.refused).toMatchObject({ full: 1, held_too_long: 1 })
  release()
  await first
  await journal.close()
  await journal.append(booked('4')).catch(() => {})
  expect(journal.stats.refused).toEqual({
    full: 1,
    held_too_long: 1,
    closed: 1,
    fenced: 0,
    poisoned: 0,
    outcome_unknown: 0,
  })
})
