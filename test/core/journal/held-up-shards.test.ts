import { describe, expect, test } from 'bun:test'
import type { BatchToAppend } from '../../../src/core/journal/journal-store.ts'
import { shardOf } from '../../../src/core/journal/shard.ts'
import { settle } from '../../support/fake-clock.ts'
import { agenciesOfShards, booked } from '../../support/journal-records.ts'
import { ending, openJournal } from './support/open-journal.ts'

/* Fences that somebody locks: what waits for one of them is refused for now after the lock timeout, and a batch is all or nothing (J2). */

const AGENCIES = agenciesOfShards(6)
const [A = '', B = '', C = '', ...REST] = AGENCIES
/** Of the server, for a lock. */
const LOCK_MS = 1_500

type Opened = Awaited<ReturnType<typeof openJournal>>

const has = ({ shards }: BatchToAppend, agencyId: string) => shards.some(({ shard }) => shard === shardOf(agencyId))
const states = (seen: readonly { state: string }[]) => seen.map(({ state }) => state.split(' ')[0])
const sentOf = ({ store }: Opened) =>
  store.sends.map((batch) => AGENCIES.flatMap((agencyId, i) => (has(batch, agencyId) ? 'ABCDEF'[i] : [])).join(''))

let labels = 0
const book = ({ journal }: Opened, ...agencyIds: readonly string[]) =>
  agencyIds.map((agencyId) => ending(journal.append(booked(`${++labels}`, { agencyId }))))

/** A journal whose store waits for the fences of these agencies, and refuses then. */
async function locked(lanes: number, ...agencyIds: readonly string[]) {
  const opened = await openJournal({ lanes, waitingMax: 100, batchMax: 100 })
  const { store, clock } = opened
  const locks = new Set(agencyIds)
  const isLocked = (batch: BatchToAppend) => [...locks].some((agencyId) => has(batch, agencyId))
  store.fate = (batch) => (isLocked(batch) ? 'refuse_for_now' : 'deliver')
  store.delay = () => {
    const [batch] = store.sends.slice(-1)
    return batch !== undefined && isLocked(batch)
      ? new Promise((resolve) => clock.after(LOCK_MS, resolve))
      : Promise.resolve()
  }
  return { ...opened, locks }
}

describe('J8: one locked fence is the matter of its shard', () => {
  test('the other shards of its batch are written as soon as the wait for the lock is over', async () => {
    const opened = await locked(2, A)
    const [ofA, ...others] = book(opened, ...AGENCIES)
    await opened.clock.advance(LOCK_MS + 50)
    expect([ofA?.state, ...states(others)]).toEqual(['open', ...others.map(() => 'durable')])
    await opened.clock.advance(5_000)
    expect(ofA?.state).toBe('held_too_long')
  })

  test('with one lane too, only later: after the locked one was tried alone', async () => {
    const opened = await locked(1, A)
    const [, ...others] = book(opened, ...AGENCIES)
    await opened.clock.advance(2 * LOCK_MS + 50)
    expect(new Set(states(others))).toEqual(new Set(['durable']))
  })

  test('what comes later waits for it no more, and shares batches as always', async () => {
    const opened = await locked(2, A)
    book(opened, A, B)
    await opened.clock.advance(2 * LOCK_MS + 100)
    for (let round = 0; round < 20; round++) {
      const from = opened.store.sends.length
      const [ofA, ...others] = book(opened, A, B, C)
      await opened.clock.advance(20)
      expect([ofA?.state, ...states(others)]).toEqual(['open', 'durable', 'durable'])
      expect(sentOf(opened).slice(from)).toContain('BC')
      await opened.clock.advance(300)
    }
  })

  test('two locked fences leave a lane to the others, and each is tried in turn', async () => {
    const opened = await locked(2, A, B)
    book(opened, A, B, C)
    await opened.clock.advance(2 * LOCK_MS + 100)
    const late = book(opened, A, B)
    for (let round = 0; round < 5; round++) {
      const [ofC] = book(opened, C)
      await opened.clock.advance(20)
      expect(ofC?.state).toStartWith('durable')
      await opened.clock.advance(300)
    }
    opened.locks.delete(B)
    await opened.clock.advance(2 * LOCK_MS)
    expect(states(late)[1]).toBe('durable')
  })

  test('once the lock is gone, its shard is written, and shares batches again', async () => {
    const opened = await locked(2, A)
    const [ofA] = book(opened, A, ...REST)
    await opened.clock.advance(LOCK_MS + 100)
    opened.locks.clear()
    await opened.clock.advance(LOCK_MS + 100)
    expect(ofA?.state).toStartWith('durable')
    const from = opened.store.sends.length
    book(opened, A, B)
    await settle()
    expect(sentOf(opened).slice(from)).toEqual(['AB'])
  })

  test('a batch in doubt is not taken apart: its entries are sent as they are until the outcome is known', async () => {
    const opened = await locked(2)
    const { store, clock } = opened
    store.fate = () => (store.sends.length === 1 ? 'lose_reply' : store.sends.length < 5 ? 'refuse_for_now' : 'deliver')
    const seen = book(opened, A, B)
    await clock.advance(1_000)
    expect(states(seen)).toEqual(['durable', 'durable'])
    expect(sentOf(opened)).toEqual(['AB', 'AB', 'AB', 'AB', 'AB'])
  })
})
