import { describe, expect, test } from 'bun:test'
import { RefusalCounter, type RefusalLine, type RefusedWrite } from '../../src/accounts/refusal-counter.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { sampleId } from '../support/samples.ts'

const KEY_A = sampleId('key', 'a')
const KEY_B = sampleId('key', 'b')

const REFUSED: RefusedWrite = {
  agencyId: sampleId('agc', 'a'),
  actor: { kind: 'key', id: KEY_A },
  code: 'RATE_LIMITED',
  route: 'POST /partner/v1/bookings',
  requestId: 'req_1',
  traceparent: null,
}
/** At the start of a minute. */
const NOON = Date.UTC(2027, 0, 15, 12)

function openCounter({ clock = new FakeClock(NOON), rowsMax = 100 } = {}) {
  const writes: RefusalLine[] = []
  const failures: unknown[] = []
  const database = { persist: async (_: readonly RefusalLine[]): Promise<void> => {} }
  const counter = new RefusalCounter({
    clock,
    persist: (lines) => {
      writes.push(...lines)
      return database.persist(lines)
    },
    onFailure: (error) => failures.push(error),
    rowsMax,
  })
  return { clock, counter, writes, failures, database }
}

describe('refused write attempts', () => {
  test('of one key and minute are one line with their count, and the time, route and request id of the first', async () => {
    const { clock, counter, writes } = openCounter()
    await clock.advance(5_000)
    for (let i = 1; i <= 1_000; i++) counter.count({ ...REFUSED, requestId: `req_${i}` })
    counter.count({ ...REFUSED, route: 'POST /partner/v1/bookings/{id}/cancel' })
    await clock.advance(1_000)
    expect(writes).toEqual([
      {
        agencyId: sampleId('agc', 'a'),
        auditId: expect.stringMatching(/^aud_[0-9a-f]{32}$/),
        at: NOON + 5_000,
        actor: { kind: 'key', id: KEY_A },
        route: 'POST /partner/v1/bookings',
        outcome: 'RATE_LIMITED',
        bookingId: null,
        requestId: 'req_1',
        traceparent: null,
        count: 1_001,
      },
    ])
  })

  test('are written once a second while they arrive, under the same id, with the count so far', async () => {
    const { clock, counter, writes } = openCounter()
    for (let i = 0; i < 30; i++) {
      counter.count(REFUSED)
      await clock.advance(100)
    }
    expect(writes.map(({ count }) => count)).toEqual([10, 20, 30])
    expect(new Set(writes.map(({ auditId, at }) => `${auditId} ${at}`)).size).toBe(1)
    await clock.advance(10_000)
    expect(writes).toHaveLength(3)
  })

  test('have separate lines for another key, another code and another minute', async () => {
    const { clock, counter, writes } = openCounter()
    counter.count(REFUSED)
    counter.count({ ...REFUSED, actor: { kind: 'key', id: KEY_B } })
    counter.count({ ...REFUSED, code: 'QUOTA_EXCEEDED' })
    await clock.advance(60_000)
    counter.count(REFUSED)
    await clock.advance(1_000)
    expect(new Set(writes.map(({ auditId }) => auditId)).size).toBe(4)
    expect(writes.map(({ count }) => count)).toEqual([1, 1, 1, 1])
  })

  test('continue under the same id after a restart within the minute', async () => {
    const { clock, counter, writes } = openCounter()
    counter.count(REFUSED)
    await counter.stop()
    const restarted = openCounter({ clock })
    restarted.counter.count(REFUSED)
    await restarted.counter.flush()
    expect(restarted.writes[0]?.auditId).toBe(writes[0]?.auditId ?? 'none')
  })
})

describe('lines', () => {
  test('that could not be written are retried, and the others are not', async () => {
    const { clock, counter, writes, failures, database } = openCounter()
    counter.count(REFUSED)
    await clock.advance(1_000)
    database.persist = () => Promise.reject(new Error('no database'))
    counter.count({ ...REFUSED, actor: { kind: 'key', id: KEY_B } })
    await clock.advance(1_000)
    expect(failures).toHaveLength(1)
    database.persist = async () => {}
    await clock.advance(1_000)
    expect(writes.map(({ actor }) => actor.id)).toEqual([KEY_A, KEY_B, KEY_B])
  })

  test('of many keys are written 500 at a time, and no write is empty', async () => {
    const { clock, counter, database } = openCounter({ rowsMax: 1_000 })
    const lengths: number[] = []
    database.persist = async (lines) => void lengths.push(lines.length)
    for (let i = 0; i < 1_000; i++)
      counter.count({ ...REFUSED, actor: { kind: 'key', id: sampleId('key', String(i)) } })
    await clock.advance(1_000)
    expect(lengths).toEqual([500, 500])
  })

  test('that are written leave no timer behind until another attempt is refused', async () => {
    const { clock, counter } = openCounter()
    counter.count(REFUSED)
    await clock.advance(1_000)
    expect(clock.nextTimerIn).toBeNull()
    counter.count(REFUSED)
    expect(clock.nextTimerIn).toBe(1_000)
  })

  test('that the database always rejects do not delay the others', async () => {
    const { clock, counter, database } = openCounter({ rowsMax: 1_000 })
    const bad = new Set(Array.from({ length: 700 }, (_, i) => sampleId('key', `bad ${i}`)))
    const written: RefusalLine[] = []
    database.persist = async (lines) => {
      const good = lines.filter(({ actor }) => !bad.has(actor.id ?? ''))
      written.push(...good)
      if (good.length < lines.length) throw new Error('no')
    }
    for (const id of bad) counter.count({ ...REFUSED, actor: { kind: 'key', id } })
    counter.count(REFUSED)
    await clock.advance(5_000)
    expect(written.some(({ actor }) => actor.id === KEY_A)).toBe(true)
  })

  test('whose count grows during a write are written again', async () => {
    const { clock, counter, writes, database } = openCounter()
    const held = Promise.withResolvers<void>()
    database.persist = () => held.promise
    counter.count(REFUSED)
    await clock.advance(1_000)
    counter.count(REFUSED)
    held.resolve()
    await clock.advance(1_000)
    expect(writes.map(({ count }) => count)).toEqual([1, 2])
  })

  test('of a past minute are dropped once they are written', async () => {
    const { clock, counter } = openCounter()
    counter.count(REFUSED)
    await clock.advance(60_000)
    counter.count({ ...REFUSED, actor: { kind: 'key', id: KEY_B } })
    expect(counter.stats.rows).toBe(1)
  })

  test('of a past minute are not dropped before they are written', async () => {
    const { clock, counter, writes, database } = openCounter()
    database.persist = () => Promise.reject(new Error('no database'))
    counter.count(REFUSED)
    await clock.advance(180_000)
    counter.count({ ...REFUSED, actor: { kind: 'key', id: KEY_B } })
    expect(counter.stats.rows).toBe(2)
    database.persist = async () => {}
    writes.length = 0
    await clock.advance(1_000)
    expect(writes.map(({ actor, count }) => `${actor.id} ${count}`)).toEqual([`${KEY_A} 1`, `${KEY_B} 1`])
    expect(counter.stats.rows).toBe(1)
  })

  test('beyond the limit are not created, and the attempts they would have counted are reported', async () => {
    const { clock, counter, writes } = openCounter({ rowsMax: 2 })
    for (const id of [KEY_A, KEY_B, sampleId('key', 'c'), KEY_A, sampleId('key', 'c')])
      counter.count({ ...REFUSED, actor: { kind: 'key', id } })
    expect(counter.stats).toEqual({ rows: 2, uncounted: 2 })
    await clock.advance(1_000)
    expect(writes.map(({ actor, count }) => `${actor.id} ${count}`)).toEqual([`${KEY_A} 2`, `${KEY_B} 1`])
  })

  test('without room for another minute, the line of the previous minute keeps counting for its key', async () => {
    const { clock, counter, writes, database } = openCounter({ rowsMax: 2 })
    database.persist = () => Promise.reject(new Error('no database'))
    counter.count(REFUSED)
    counter.count({ ...REFUSED, code: 'INTERNAL' })
    await clock.advance(60_000)
    counter.count(REFUSED)
    counter.count({ ...REFUSED, actor: { kind: 'key', id: KEY_B } })
    expect(counter.stats).toEqual({ rows: 2, uncounted: 1 })
    database.persist = async () => {}
    writes.length = 0
    await clock.advance(1_000)
    expect(writes.map(({ outcome, count }) => `${outcome} ${count}`).sort()).toEqual(['INTERNAL 1', 'RATE_LIMITED 2'])
    expect(counter.stats.rows).toBe(0)
  })
})
