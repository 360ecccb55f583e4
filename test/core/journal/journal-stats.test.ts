import { describe, expect, test } from 'bun:test'
import { settle } from '../../support/fake-clock.ts'
import { booked } from '../../support/journal-records.ts'
import type { MemoryJournalStore } from '../../support/memory-journal-store.ts'
import { openJournal } from './support/open-journal.ts'

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
    const { store, clock, journal } = await openJournal({ waitingMax: 4 })
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
    const { store, clock, journal } = await openJournal({ waitingMax: 4 })
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
    not_owner: 0,
    fenced: 0,
    poisoned: 0,
    outcome_unknown: 0,
  })
})
