import { describe, expect, test } from 'bun:test'
import { Journal, type JournalLimits } from '../../src/journal/journal.ts'
import { JournalError } from '../../src/journal/journal-error.ts'
import type { JournalRecord } from '../../src/journal/record.ts'
import { FakeClock, settle } from '../support/fake-clock.ts'
import { MemoryJournalStore } from '../support/memory-journal-store.ts'
import { sampleBooking } from '../support/samples.ts'

const LIMITS: JournalLimits = { waitingMax: 8, batchMax: 4, heldMsMax: 5_000 }

async function openJournal(limits: Partial<JournalLimits> = {}, clock = new FakeClock()) {
  const store = new MemoryJournalStore()
  const fencedBy: unknown[] = []
  let batches = 0
  const journal = new Journal({
    store,
    clock,
    limits: { ...LIMITS, ...limits },
    tenure: await store.takeOver(),
    onFenced: (cause) => fencedBy.push(cause),
    newBatchId: () => `batch ${++batches}`,
  })
  return { store, clock, journal, fencedBy }
}

function booked(id: string): JournalRecord {
  const after = sampleBooking({ id })
  return { agencyId: 'agc_a', at: 0, entry: { event: { kind: 'booking_created', after }, at: 0, requestId: null } }
}

function audited(auditId: string, count = 1): JournalRecord {
  const actor = { kind: 'key', id: 'key_a' } as const
  const audit = { auditId, at: 0, actor, route: 'r', outcome: 'MIN_STAY', bookingId: null, requestId: null, count }
  return { agencyId: 'agc_a', at: 0, audit }
}

/** How a promise ends, without an unhandled rejection on the way. */
function ending(appended: Promise<{ seq: number | null }>): { state: string } {
  const seen = { state: 'open' }
  appended.then(
    ({ seq }) => {
      seen.state = `durable ${seq}`
    },
    (error: JournalError) => {
      seen.state = error.kind
    },
  )
  return seen
}

describe('group commit', () => {
  test('J1: while one append is in flight the next batch forms, and is sent only after it', async () => {
    const { store, journal } = await openJournal()
    let release = () => {}
    store.delay = () => new Promise((resolve) => (release = resolve))
    const first = ending(journal.append(booked('bkg_1')))
    await settle()
    const later = ['bkg_2', 'bkg_3'].map((id) => ending(journal.append(booked(id))))
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
    expect(store.sends.map(({ content }) => content.journal?.length)).toEqual([4, 1])
  })

  test('J3: sequence numbers are gapless over batches, and a record without an entry uses none', async () => {
    const { store, journal } = await openJournal()
    const seqs = []
    for (const record of [booked('1'), audited('aud_1'), booked('2')]) seqs.push((await journal.append(record)).seq)
    expect(seqs).toEqual([1, null, 2])
    expect(store.journal.map(({ seq }) => seq)).toEqual([1, 2])
  })

  test('a later writer goes on where the earlier one stopped', async () => {
    const { store, journal } = await openJournal()
    await journal.append(booked('1'))
    expect(await store.takeOver()).toEqual({ epoch: 2, lastSeq: 1 })
  })

  test('two audit lines with one id in a batch are one row with the later count', async () => {
    const { store, journal } = await openJournal()
    await Promise.all([journal.append(audited('aud_1', 1)), journal.append(audited('aud_1', 2))])
    expect(store.sends[0]?.content.audit).toMatchObject([{ audit_id: 'aud_1', count: 2 }])
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

  test('a record that surely was not written is refused after 5 s, and never written later', async () => {
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

  test('no record is forgotten that comes to its 5 s while a batch is given back', async () => {
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

describe('poison', () => {
  test('J4: only the poisoned record of a batch fails; the others are durable without a gap', async () => {
    const { store, journal } = await openJournal({ batchMax: 8 })
    store.isPoison = ({ created }) => created?.some((row) => row['booking_id'] === 'bad') === true
    const seen = ['1', '2', 'bad', '3', '4'].map((id) => ending(journal.append(booked(id))))
    await settle()
    await settle()
    expect(seen.map(({ state }) => state)).toEqual(['durable 1', 'durable 2', 'poisoned', 'durable 3', 'durable 4'])
    expect(store.journal.map(({ seq }) => seq)).toEqual([1, 2, 3, 4])
  })

  test('J4: the journal goes on after a poisoned record', async () => {
    const { store, journal } = await openJournal()
    store.isPoison = ({ created }) => created?.some((row) => row['booking_id'] === 'bad') === true
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
    expect(journal.vitals.state).toBe('fenced')
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

describe('the door', () => {
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
})
