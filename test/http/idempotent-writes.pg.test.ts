import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { Ledger } from '../../src/app/ledger.ts'
import type { Agency } from '../../src/core/catalogue/agency.ts'
import type { Unit } from '../../src/core/domain/unit.ts'
import {
  type Execution,
  type IdempotentRequest,
  IdempotentWrites,
  type Keep,
} from '../../src/http/idempotent-writes.ts'
import { DAY_MS, HOUR_MS } from '../../src/lib/clock.ts'
import { PostgresIdempotencyRows } from '../../src/postgres/stores/postgres-idempotency-rows.ts'
import { eventually } from '../support/eventually.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { addAgency, addUnit, openTestDatabaseLedger } from '../support/open-ledger.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { CALLER, requestFor, sampleId, sampleUnit } from '../support/samples.ts'

/** Days ago by the clock of the database: what a test's own clock says is over, is over. */
const START = Date.now() - 10 * DAY_MS

let database: TestDatabase
let ledger: Ledger
let rows: PostgresIdempotencyRows
let clock: FakeClock
let agency: Agency
let unit: Unit

/** The ledger on the wall time of `clock`, its timers real: the database takes real time. */
const wallOfClock = () => ({
  now: () => clock.now(),
  monotonicMs: () => performance.now(),
  after: (ms: number, task: () => void) => {
    const timer = setTimeout(task, ms)
    return () => clearTimeout(timer)
  },
})

beforeEach(async () => {
  database = await testDatabase()
  clock = new FakeClock(START)
  ledger = await openTestDatabaseLedger(database.url, { clock: wallOfClock() })
  rows = new PostgresIdempotencyRows(ledger.sql)
  agency = await addAgency(ledger)
  unit = await addUnit(ledger, agency, sampleUnit())
})

afterEach(async () => {
  await ledger.close()
  await database.drop()
})

/** As a process opens it. */
function openCommands(): IdempotentWrites {
  return new IdempotentWrites({ clock, find: (scope, newerThan) => rows.find(scope, newerThan) })
}

function request(change: Partial<IdempotentRequest> = {}): IdempotentRequest {
  return {
    agencyId: agency.id,
    keyId: sampleId('key', 'a'),
    route: 'POST /partner/v1/bookings',
    idempotencyKey: 'order 1',
    requestHash: 'hash 1',
    ...change,
  }
}

/** Books through the real commands, and answers as the route would. */
function booking(arrival = '2027-03-01', departure = '2027-03-05') {
  return async (keep: Keep): Promise<Execution<string>> => {
    const outcome = await ledger.commands.book(agency, requestFor(unit, arrival, departure), CALLER, ({ id }) =>
      keep({ status: 201, body: JSON.stringify({ booking: { id } }) }),
    )
    return outcome.kind === 'done' ? { kind: 'answered' } : { kind: 'refused', refusal: outcome.kind }
  }
}

async function bookings(): Promise<number> {
  return (await ledger.sql`select from booking`).length
}

describe('a booking with an idempotency key', () => {
  test('is made once, and answered again the same after a restart', async () => {
    const first = await openCommands().run(request(), booking())
    expect(first).toMatchObject({ kind: 'answered', answer: { status: 201 } })
    expect<unknown>(await openCommands().run(request(), booking())).toEqual({ ...first, kind: 'replayed' })
    expect(await bookings()).toBe(1)
  })

  test('is made once by 50 requests at once, each of which gets the one answer', async () => {
    const commands = openCommands()
    const answers = await Promise.all(Array.from({ length: 50 }, () => commands.run(request(), booking())))
    expect(answers.filter(({ kind }) => kind === 'answered')).toHaveLength(1)
    expect(new Set(answers.map((answer) => JSON.stringify({ ...answer, kind: null }))).size).toBe(1)
    expect(await bookings()).toBe(1)
  })

  test('tells another body that the key is used, after a restart too', async () => {
    await openCommands().run(request(), booking())
    expect(await openCommands().run(request({ requestHash: 'hash 2' }), booking('2027-04-01', '2027-04-05'))).toEqual({
      kind: 'reused',
    })
    expect(await bookings()).toBe(1)
  })

  test('that was refused is tried again: the nights may have become free', async () => {
    const commands = openCommands()
    const other = await ledger.commands.book(agency, requestFor(unit, '2027-03-02', '2027-03-03'), CALLER)
    expect(await commands.run(request(), booking())).toMatchObject({ kind: 'refused', refusal: 'rejected' })
    if (other.kind === 'done')
      await ledger.commands.cancel(agency, { bookingId: other.booking.id, reason: null }, CALLER)
    expect(await commands.run(request(), booking())).toMatchObject({ kind: 'answered', answer: { status: 201 } })
  })

  test('is a new one after 24 hours, and its answer takes the place of the old one', async () => {
    const first = await openCommands().run(request(), booking())
    clock.jumpWall(DAY_MS)
    const second = await openCommands().run(request({ requestHash: 'hash 2' }), booking('2027-04-01', '2027-04-05'))
    expect(second.kind).toBe('answered')
    expect(second).not.toEqual(first)
    expect<unknown>(await openCommands().run(request({ requestHash: 'hash 2' }), booking())).toEqual({
      ...second,
      kind: 'replayed',
    })
  })
})

describe('kept answers', () => {
  /** Books nothing: a line of the audit trail would do as well, an answer is kept with any record. */
  async function keep(idempotencyKey: string, at: number): Promise<void> {
    const { keyId, route, requestHash } = request()
    const idempotency = { keyId, route, requestHash, idempotencyKey, status: 201, body: '{}' }
    await ledger.journal.append({ agencyId: agency.id, at, idempotency })
  }

  test('are found in their own scope only, and only when newer than asked', async () => {
    await keep('order 1', START)
    const found = { requestHash: 'hash 1', status: 201, body: '{}' }
    expect(await rows.find(request(), START - 1)).toEqual(found)
    expect(await rows.find(request(), START)).toBeNull()
    const owners = [{ agencyId: sampleId('agc', 'b') }, { keyId: sampleId('key', 'b') }]
    for (const change of [...owners, { route: 'b' }, { idempotencyKey: 'b' }]) {
      expect(await rows.find(request(change), START - 1)).toBeNull()
    }
  })

  test('of several scopes are found at once, each by its own', async () => {
    for (let i = 0; i < 3; i++) await keep(`order ${i}`, START + i)
    const found = await Promise.all([
      rows.find(request({ idempotencyKey: 'none' }), START),
      rows.find(request({ idempotencyKey: 'order 2' }), START),
      rows.find(request({ idempotencyKey: 'order 0' }), START),
      rows.find(request({ idempotencyKey: 'order 1' }), START),
    ])
    expect(found.map((answer) => answer?.status ?? null)).toEqual([null, 201, null, 201])
  })

  test('are deleted when they are due, the oldest first, as many as asked', async () => {
    for (let i = 0; i < 10; i++) await keep(`order ${i}`, START + i)
    expect(await rows.deleteExpired({ notAfter: START + 6, limit: 4 })).toBe(4)
    expect(await rows.deleteExpired({ notAfter: START + 6, limit: 4 })).toBe(3)
    expect(await rows.deleteExpired({ notAfter: START + 6, limit: 4 })).toBe(0)
    const left = await ledger.sql`select idempotency_key as key from idempotency order by created_at`
    expect(left.map(({ key }) => key)).toEqual(['order 7', 'order 8', 'order 9'])
  })

  test('that are 24 hours old are gone soon after the next start, younger ones are not', async () => {
    await keep('order 1', START - DAY_MS)
    await keep('order 2', START - DAY_MS + 1)
    const restarted = await openTestDatabaseLedger(database.url, { clock: wallOfClock() })
    try {
      const left = async () =>
        (await restarted.sql`select idempotency_key as key from idempotency`).map(({ key }) => key)
      await eventually('one is gone', async () => (await left()).length < 2)
      expect(await left()).toEqual(['order 2'])
      expect(restarted.reports.failures).toEqual([])
    } finally {
      await restarted.close()
    }
  })
})

describe('a clock that is set 30 hours forward', () => {
  const HOURS_30 = 30 * HOUR_MS

  /** An answer kept a moment ago by the clock of the database and of the process. */
  async function bookedNow(): Promise<void> {
    clock.jumpWall(Date.now() - clock.now())
    await openCommands().run(request(), booking())
  }

  const deleteExpired = () => rows.deleteExpired({ notAfter: clock.now() - DAY_MS, limit: 100 })

  test('be it before the process starts: the answer is neither deleted nor hidden, and nothing is booked twice', async () => {
    await bookedNow()
    clock.jumpWall(HOURS_30)
    expect(await deleteExpired()).toBe(0)
    expect((await openCommands().run(request(), booking('2027-04-01', '2027-04-05'))).kind).toBe('replayed')
    clock.jumpWall(-HOURS_30)
    expect((await openCommands().run(request(), booking('2027-04-01', '2027-04-05'))).kind).toBe('replayed')
    expect(await bookings()).toBe(1)
  })

  test('of the database alone: what the process still keeps is not deleted either', async () => {
    await bookedNow()
    await ledger.sql`update idempotency set created_at = created_at - interval '30 hours'`
    clock.jumpWall(-HOURS_30)
    expect(await deleteExpired()).toBe(0)
    expect((await openCommands().run(request(), booking('2027-04-01', '2027-04-05'))).kind).toBe('replayed')
  })
})
