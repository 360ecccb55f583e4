import { describe, expect, test } from 'bun:test'
import { partIn } from '../../../src/core/journal/entry-codec.ts'
import { JournalError } from '../../../src/core/journal/journal-error.ts'
import type { Entry } from '../../../src/core/journal/record.ts'
import { shardOf } from '../../../src/core/journal/shard.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'
import { audited, booked, bookingIn, together } from '../../support/journal-records.ts'
import type { MemoryJournalStore } from '../../support/memory-journal-store.ts'
import { AGENCY, sampleId } from '../../support/samples.ts'
import { ending, openJournal } from './support/open-journal.ts'

const SHARD = shardOf(AGENCY.id)
const isBookingOf = ({ event }: Entry, label: string) =>
  event.kind === 'booking_created' && event.after.id === sampleId('bkg', label)

describe('group commit', () => {
  test('J1: while one append is in flight the next batch forms, and is sent only after it', async () => {
    const { store, journal } = await openJournal()
    let release = () => {}
    store.delay = () => new Promise((resolve) => (release = resolve))
    const first = ending(journal.append(booked('1')))
    await settle()
    const later = ['2', '3'].map((id) => ending(journal.append(booked(id))))
    await settle()
    expect(store.sends).toHaveLength(1)
    store.delay = async () => {}
    release()
    await settle()
    expect(store.sends).toHaveLength(2)
    expect([first, ...later].map(({ state }) => state)).toEqual(['durable 1', 'durable 2', 'durable 3'])
  })

  test('J2: records of one tick share a batch, up to its limit', async () => {
    const { store, journal } = await openJournal({ batchMax: 4 })
    await Promise.all(['1', '2', '3', '4', '5'].map((id) => journal.append(booked(id))))
    expect(store.sends.map(({ records }) => records.length)).toEqual([4, 1])
  })

  test('J3: sequence numbers are gapless over batches, and a record without an entry uses none', async () => {
    const { store, journal } = await openJournal()
    const seqs = []
    for (const record of [booked('1'), audited('1'), booked('2')]) seqs.push((await journal.append(record)).seq)
    expect(seqs).toEqual([1, null, 2])
    expect(store.journal.map(({ seq }) => seq)).toEqual([1, 2])
  })

  test('a later writer continues where the earlier one stopped', async () => {
    const { store, journal } = await openJournal()
    await journal.append(booked('1'))
    expect((await store.takeOver()).shards[SHARD]).toMatchObject({ epoch: 2, lastSeq: 1 })
  })

  test('two audit lines with one id in a batch are one row with the later count', async () => {
    const { store, journal } = await openJournal()
    await Promise.all([journal.append(audited('1', 1)), journal.append(audited('1', 2))])
    expect([...store.audit.values()]).toMatchObject([{ auditId: sampleId('aud', '1'), count: 2 }])
  })
})

describe('unknown outcomes', () => {
  for (const fate of ['lose_request', 'lose_reply', 'refuse_connection'] as const) {
    test(`J3: after ${fate} the identical batch is sent again on a new connection, and written once`, async () => {
      const { store, clock, journal } = await openJournal()
      store.fate = () => (store.sends.length <= 3 ? fate : 'deliver')
      const seen = ending(journal.append(booked('1')))
      await clock.advance(59)
      expect(seen.state).toBe('open')
      await clock.advance(1)
      expect(seen.state).toBe('durable 1')
      expect(store.sends).toHaveLength(4)
      expect(new Set(store.sends.map((send) => JSON.stringify(send))).size).toBe(1)
      expect(store.reconnects).toBe(3)
      expect(store.journal).toHaveLength(1)
    })
  }

  test('a server that refuses for now is asked again on the same connection', async () => {
    const { store, clock, journal } = await openJournal()
    store.fate = () => (store.sends.length === 1 ? 'refuse_for_now' : 'deliver')
    const seen = ending(journal.append(booked('1')))
    await clock.advance(20)
    expect(seen.state).toBe('durable 1')
    expect(store.reconnects).toBe(0)
  })

  test('a record that may be written stays open however long the database is away', async () => {
    const { store, clock, journal } = await openJournal()
    store.fate = () => (store.sends.length === 1 ? 'lose_reply' : 'refuse_connection')
    const sent = ending(journal.append(booked('1')))
    await settle()
    const behind = ending(journal.append(booked('2')))
    await clock.advance(5_300)
    expect(sent.state).toBe('open')
    expect(behind.state).toBe('held_too_long')
    store.fate = () => 'deliver'
    await clock.advance(20)
    expect(sent.state).toBe('durable 1')
    expect(store.journal).toHaveLength(1)
  })

  test('a record that was not written is refused after 5 s, and never written later', async () => {
    const { store, clock, journal } = await openJournal()
    store.fate = () => 'refuse_connection'
    const early = ending(journal.append(booked('1')))
    await clock.advance(3_000)
    const late = ending(journal.append(booked('2')))
    await clock.advance(1_900)
    expect(early.state).toBe('open')
    await clock.advance(120)
    expect(early.state).toBe('held_too_long')
    expect(late.state).toBe('open')
    store.fate = () => 'deliver'
    await clock.advance(500)
    expect(late.state).toBe('durable 1')
    expect(store.bookings.has('1')).toBe(false)
  })

  test('a record that reaches its 5 s while a batch is being returned is not forgotten', async () => {
    /** Every look at it takes a millisecond, as on a machine that has much to do. */
    class SlowClock extends FakeClock {
      #looks = 0
      override monotonicMs(): number {
        this.#looks += 1
        return super.monotonicMs() + this.#looks
      }
    }
    for (let between = 0; between < 40; between++) {
      const { store, clock, journal } = await openJournal({ batchMax: 8 }, new SlowClock())
      store.fate = () => 'refuse_connection'
      const seen = [ending(journal.append(booked('1')))]
      for (const id of ['2', '3', '4']) {
        await clock.advance(between)
        seen.push(ending(journal.append(booked(id))))
      }
      await clock.advance(6_000)
      store.fate = () => 'deliver'
      await clock.advance(6_000)
      expect(seen.map(({ state }) => state).filter((state) => state === 'open')).toEqual([])
    }
  })
})

describe('an error response', () => {
  for (const fate of ['read_only', 'refuse_for_now', 'refuse_connection'] as const) {
    test(`J3: ${fate} after a lost reply proves nothing of the first send: the record stays open until it is known`, async () => {
      const { store, clock, journal, fencedBy } = await openJournal()
      store.fate = () => (store.sends.length === 1 ? 'lose_reply' : fate)
      const seen = ending(journal.append(booked('1')))
      await clock.advance(12_000)
      expect(seen.state).toBe('open')
      store.fate = () => 'deliver'
      await clock.advance(20)
      expect(seen.state).toBe('durable 1')
      expect(await journal.append(booked('2'))).toEqual({ seq: 2 })
      expect(fencedBy).toEqual([])
    })
  }

  test('of a read-only server is met on a new connection, and is no data error', async () => {
    const { store, clock, journal } = await openJournal()
    store.fate = () => (store.sends.length <= 2 ? 'read_only' : 'deliver')
    const seen = ['1', '2'].map((id) => ending(journal.append(booked(id))))
    await clock.advance(40)
    expect(seen.map(({ state }) => state)).toEqual(['durable 1', 'durable 2'])
    expect(store.reconnects).toBe(2)
    expect(store.sends).toHaveLength(3)
  })

  test('of a server that stays read-only means not written, 5 s later', async () => {
    const { store, clock, journal } = await openJournal()
    store.fate = () => 'read_only'
    const seen = ending(journal.append(booked('1')))
    await clock.advance(5_020)
    expect(seen.state).toBe('held_too_long')
    expect(store.journal).toEqual([])
  })
})

describe('a doubt that sending again cannot settle', () => {
  for (const fate of ['poison', 'too_slow'] as const) {
    test(`J3: ${fate} after a lost reply: the epoch is raised, and what was written is acknowledged`, async () => {
      const { store, clock, journal, fencedBy } = await openJournal()
      store.fate = () => (store.sends.length === 1 ? 'lose_reply' : fate)
      const seen = ['1', '2'].map((id) => ending(journal.append(booked(id))))
      await clock.advance(20)
      expect(seen.map(({ state }) => state)).toEqual(['durable 1', 'durable 2'])
      expect([journal.epochOf(AGENCY.id), store.shards[SHARD]?.epoch, fencedBy]).toEqual([2, 2, []])
      store.fate = () => 'deliver'
      expect(await journal.append(booked('3'))).toEqual({ seq: 3 })
    })
  }

  test('J3: a send that arrives after all finds the epoch raised and writes nothing', async () => {
    const { store, clock, journal } = await openJournal()
    store.fate = () => (store.sends.length === 1 ? 'lose_request' : store.sends.length === 2 ? 'too_slow' : 'deliver')
    const seen = ending(journal.append(booked('1')))
    await clock.advance(20)
    const [late] = store.sends
    expect(late === undefined ? null : await store.appendBatch(late)).toMatchObject({ kind: 'fenced' })
    await clock.advance(20)
    expect(seen.state).toBe('durable 1')
    expect(store.journal.map(({ seq }) => seq)).toEqual([1])
  })

  test('J4: only the data error itself is refused once it is known that nothing was written', async () => {
    const { store, clock, journal } = await openJournal()
    store.isPoison = (record) => bookingIn(record) === sampleId('bkg', 'bad')
    store.fate = () => (store.sends.length === 1 ? 'lose_request' : 'deliver')
    const seen = ['1', 'bad', '2'].map((id) => ending(journal.append(booked(id))))
    await clock.advance(20)
    expect(seen.map(({ state }) => state)).toEqual(['durable 1', 'poisoned', 'durable 2'])
    expect([journal.epochOf(AGENCY.id), journal.epoch]).toEqual([2, 1])
  })

  test('J5: a writer that was fenced meanwhile learns it, and what it had written is acknowledged', async () => {
    const { store, clock, journal, fencedBy } = await openJournal()
    store.fate = () => (store.sends.length === 1 ? 'lose_reply' : 'poison')
    const seen = ending(journal.append(booked('1')))
    await settle()
    await store.takeOver()
    await clock.advance(20)
    expect(seen.state).toBe('durable 1')
    expect(fencedBy).toHaveLength(1)
  })

  test('a lost reply to the renewal is found out: the epoch is raised once', async () => {
    const { store, clock, journal, fencedBy } = await openJournal()
    store.fate = () => (store.sends.length === 1 ? 'lose_request' : store.sends.length === 2 ? 'poison' : 'deliver')
    const renew = store.renewEpochs.bind(store)
    let renewals = 0
    store.renewEpochs = async (shards, renewal) => {
      const renewed = await renew(shards, renewal)
      return ++renewals === 1 ? { kind: 'unknown', cause: new Error('connection lost') } : renewed
    }
    const seen = ending(journal.append(booked('1')))
    await clock.advance(40)
    expect([seen.state, renewals, journal.epochOf(AGENCY.id), fencedBy]).toEqual(['poisoned', 2, 2, []])
  })
})

describe('a database that is too slow for the batch', () => {
  /** Cancels what has more than `most` entries. */
  const slowFor = (store: MemoryJournalStore, most: number) => () =>
    (store.sends.at(-1)?.records.length ?? 0) > most ? 'too_slow' : 'deliver'

  test('gets smaller ones until they pass: nothing is refused, nothing is sent whole forever', async () => {
    const { store, clock, journal } = await openJournal({ batchMax: 16, waitingMax: 32 })
    store.fate = slowFor(store, 3)
    const seen = Array.from({ length: 16 }, (_, i) => ending(journal.append(booked(`${i}`))))
    await clock.advance(200)
    expect(seen.map(({ state }) => state)).toEqual(seen.map((_, i) => `durable ${i + 1}`))
    expect(store.sends.map(({ records }) => records.length).slice(0, 4)).toEqual([16, 8, 4, 2])
  })

  test('gets larger ones again once it is quick, up to the limit', async () => {
    const { store, clock, journal } = await openJournal({ batchMax: 16, waitingMax: 64 })
    store.fate = slowFor(store, 4)
    const append = (n: number) => Array.from({ length: n }, (_, i) => ending(journal.append(booked(`${n} ${i}`))))
    append(16)
    await clock.advance(200)
    expect(journal.stats.batchMax).toBeLessThan(16)
    store.fate = () => 'deliver'
    for (let round = 0; round < 10; round++) {
      append(32)
      await clock.advance(20)
    }
    expect(journal.stats.batchMax).toBe(16)
  })

  test('keeps the smaller size while it takes half a second for a batch', async () => {
    const { store, clock, journal } = await openJournal({ batchMax: 16, waitingMax: 64 })
    store.fate = slowFor(store, 4)
    for (let i = 0; i < 16; i++) void ending(journal.append(booked(`slow ${i}`)))
    await clock.advance(200)
    const { batchMax } = journal.stats
    store.fate = () => 'deliver'
    store.delay = () => new Promise((resolve) => clock.after(500, resolve))
    for (let i = 0; i < 16; i++) void ending(journal.append(booked(`${i}`)))
    await clock.advance(8_000)
    expect(journal.stats).toMatchObject({ waiting: 0, batchMax })
  })

  test('for a single record refuses it after 5 s as not written, and continues with the next', async () => {
    const { store, clock, journal } = await openJournal()
    const BIG = sampleId('bkg', 'big')
    store.fate = () => (bookingIn(store.sends.at(-1)?.records[0]?.record) === BIG ? 'too_slow' : 'deliver')
    const big = ending(journal.append(booked('big')))
    await clock.advance(5_100)
    expect(big.state).toBe('held_too_long')
    expect(await journal.append(booked('next'))).toEqual({ seq: 1 })
  })
})

describe('poison', () => {
  test('J4: only the poisoned record of a batch fails; the others are durable without a gap', async () => {
    const { store, journal } = await openJournal({ batchMax: 8 })
    store.isPoison = (record) => bookingIn(record) === sampleId('bkg', 'bad')
    const seen = ['1', '2', 'bad', '3', '4'].map((id) => ending(journal.append(booked(id))))
    await settle()
    await settle()
    expect(seen.map(({ state }) => state)).toEqual(['durable 1', 'durable 2', 'poisoned', 'durable 3', 'durable 4'])
    expect(store.journal.map(({ seq }) => seq)).toEqual([1, 2, 3, 4])
  })

  test('J9: a record of several entries is refused as a whole, and leaves no gap in the numbers', async () => {
    const { store, journal } = await openJournal({ batchMax: 8 })
    store.isPoison = ({ entries = [] }) => entries.some((entry) => isBookingOf(entry, '3'))
    const group = together(booked('2'), booked('3'), booked('4'))
    const seen = [booked('1'), group, together(booked('5'), booked('6')), booked('7')].map((record) =>
      ending(journal.append(record)),
    )
    await settle()
    await settle()
    expect(seen.map(({ state }) => state)).toEqual(['durable 1', 'poisoned', 'durable 2', 'durable 4'])
    expect(store.journal.map(({ bookingId, payload }) => [bookingId, partIn({ payload })])).toEqual([
      [sampleId('bkg', '1'), null],
      [sampleId('bkg', '5'), [1, 2]],
      [sampleId('bkg', '6'), [2, 2]],
      [sampleId('bkg', '7'), null],
    ])
  })

  test('J4: the journal continues after a poisoned record', async () => {
    const { store, journal } = await openJournal()
    store.isPoison = (record) => bookingIn(record) === sampleId('bkg', 'bad')
    const bad = ending(journal.append(booked('bad')))
    await settle()
    expect(bad.state).toBe('poisoned')
    expect(await journal.append(booked('good'))).toEqual({ seq: 1 })
  })
})

describe('fence', () => {
  test('J5: a fenced writer refuses what is in flight, what waits and what comes, and says so once', async () => {
    const { store, journal, fencedBy } = await openJournal({ batchMax: 1 })
    await store.takeOver()
    const seen = ['1', '2', '3'].map((id) => ending(journal.append(booked(id))))
    await settle()
    const late = ending(journal.append(booked('4')))
    await settle()
    expect([...seen, late].map(({ state }) => state)).toEqual(['fenced', 'fenced', 'fenced', 'fenced'])
    expect(fencedBy).toHaveLength(1)
    expect(store.journal).toHaveLength(0)
    expect(journal.stats.state).toBe('fenced')
  })

  test('J5: serving ends before the outcome of the batch in flight is known', async () => {
    const { store, clock, journal, fenced } = await openJournal()
    let answer: (written: boolean | null) => void = () => {}
    store.wasWritten = () => new Promise((resolve) => (answer = resolve))
    store.fate = () => (store.sends.length === 1 ? 'lose_reply' : 'deliver')
    const inFlight = ending(journal.append(booked('1')))
    await settle()
    const behind = ending(journal.append(booked('2')))
    await store.takeOver()
    await clock.advance(20)
    const { settled } = await fenced
    expect([inFlight.state, behind.state]).toEqual(['open', 'fenced'])
    answer(null)
    await settled
    expect(inFlight.state).toBe('outcome_unknown')
  })

  test('J5: a fenced batch that was never in doubt is not looked for', async () => {
    const { store, journal } = await openJournal()
    store.wasWritten = () => {
      throw new Error('Nobody asks')
    }
    await store.takeOver()
    const seen = ending(journal.append(booked('1')))
    await settle()
    expect(seen.state).toBe('fenced')
  })

  test('J5: a data error whose first half finds the fence refuses the second half as fenced, unsent', async () => {
    const { store, journal } = await openJournal({ batchMax: 4 })
    store.fate = () => {
      if (store.sends.length > 1) return 'deliver'
      void store.takeOver()
      return 'poison'
    }
    const seen = ['1', '2', '3', '4'].map((id) => ending(journal.append(booked(id))))
    await settle()
    expect(seen.map(({ state }) => state)).toEqual(['fenced', 'fenced', 'fenced', 'fenced'])
    expect(store.sends).toHaveLength(2)
  })

  test('J5: a batch that had got through before the fence is acknowledged, not denied', async () => {
    const { store, clock, journal } = await openJournal()
    store.fate = () => (store.sends.length === 1 ? 'lose_reply' : 'deliver')
    const seen = ending(journal.append(booked('1')))
    await settle()
    await store.takeOver()
    await clock.advance(20)
    expect(seen.state).toBe('durable 1')
  })
})

describe('limits', () => {
  test('a full journal refuses one more record and names the number', async () => {
    const { store, journal } = await openJournal({ waitingMax: 2, batchMax: 1 })
    store.delay = () => new Promise(() => {})
    void journal.append(booked('in flight'))
    await settle()
    void journal.append(booked('1'))
    void journal.append(booked('2'))
    const refused = await journal.append(booked('3')).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(JournalError)
    expect((refused as JournalError).message).toBe('Cannot append: 2 records already wait')
  })

  test('closing waits for what was appended and refuses what comes later', async () => {
    const { store, journal } = await openJournal()
    const before = ending(journal.append(booked('1')))
    await journal.close()
    expect(before.state).toBe('durable 1')
    const after = ending(journal.append(booked('2')))
    await settle()
    expect(after.state).toBe('closed')
    expect(store.journal).toHaveLength(1)
  })

  test('closing does not wait for records that were all refused before their batch was sent', async () => {
    let send = () => {}
    const { clock, journal } = await openJournal({ atEndOfTurn: (task) => (send = task) })
    const overdue = ending(journal.append(booked('1'), clock.monotonicMs() - 5_000))
    await clock.advance(250)
    expect(overdue.state).toBe('held_too_long')
    send()
    void journal.close()
    await settle()
    expect(journal.stats.state).toBe('closed')
  })
})
