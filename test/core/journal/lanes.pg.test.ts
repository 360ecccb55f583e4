import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Ledger } from '../../../src/app/ledger.ts'
import { addNights } from '../../../src/core/domain/night.ts'
import type { JournalRecord } from '../../../src/core/journal/record.ts'
import { shardOf } from '../../../src/core/journal/shard.ts'
import { systemIds, uuidOf } from '../../../src/lib/ids.ts'
import { SeededRandom } from '../../../src/lib/seeded-random.ts'
import { PostgresIdempotencyRows } from '../../../src/postgres/stores/postgres-idempotency-rows.ts'
import { ensureMonths } from '../../../src/postgres/stores/postgres-months.ts'
import { PostgresUsageRows } from '../../../src/postgres/stores/postgres-usage-rows.ts'
import { eventually } from '../../support/eventually.ts'
import { holding } from '../../support/held-lock.ts'
import { agenciesOfShards, booked } from '../../support/journal-records.ts'
import { openTestDatabaseLedger } from '../../support/open-ledger.ts'
import { type TestDatabase, testDatabase } from '../../support/postgres.ts'
import { insertAgency } from '../../support/sample-rows.ts'
import { night, sampleId } from '../../support/samples.ts'

/* The lanes of a journal in Postgres, each with its own connection. */

const SEED = Number(process.env['LANES_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
const AGENCIES = agenciesOfShards(24)
const [A = '', B = ''] = AGENCIES
const CLIENTS = 96
const BOOKINGS_OF_EACH = 30

let database: TestDatabase
let ledger: Ledger
beforeAll(async () => {
  database = await testDatabase()
  for (const id of AGENCIES) await insertAgency(database.sql, id)
  ledger = await openTestDatabaseLedger(database.url)
})
afterAll(async () => {
  await ledger.close()
  await database.drop()
})

/** A booking of a unit of its own, with a guest who has booked before, and an answer to keep. */
function bookingOf(agencyId: string, dice: SeededRandom, label: string): JournalRecord {
  const arrival = addNights(night('2027-01-10'), dice.below(300))
  return {
    ...booked(label, { agencyId, arrival, departure: addNights(arrival, 2) }),
    guest: {
      guestId: systemIds('gst'),
      firstName: 'G',
      lastName: 'G',
      phone: null,
      nationality: null,
      email: `guest-${dice.below(20)}@example.com`,
    },
    idempotency: {
      keyId: sampleId('key', shardOf(agencyId)),
      route: 'r',
      idempotencyKey: label,
      requestHash: 'h',
      status: 201,
      body: '{}',
    },
  }
}

/** What the service writes beside the journal, over and over. @returns how often */
async function writeBeside(isOver: () => boolean, dice: SeededRandom): Promise<number> {
  const { sql } = database
  const usage = new PostgresUsageRows(sql)
  const answers = new PostgresIdempotencyRows(sql)
  let rounds = 0
  for (; !isOver(); rounds++) {
    const agencyId = dice.pick(AGENCIES)
    const totals = AGENCIES.map((id) => ({ agencyId: id, month: '2027-01', used: rounds }))
    await Promise.all([
      usage.keep((id) => ledger.epochOf(id), totals),
      answers.deleteExpired({ notAfter: Date.now(), limit: 100 }),
      ensureMonths(sql),
      sql`select register_endpoint(${ledger.epochOf(agencyId)}, ${uuidOf(agencyId)}, ${Bun.randomUUIDv7()},
                                   'https://hooks.example/in', null, '{booking.created}', 'sealed', now(), 1000000)`,
    ])
  }
  return rounds
}

test(`lanes under load, beside everything else that locks, never meet a deadlock (seed ${SEED})`, async () => {
  const dice = new SeededRandom(SEED)
  const { journal } = ledger
  let isOver = false
  const deadlocks = async () => {
    const [row] = await database.sql`select deadlocks from pg_stat_database where datname = current_database()`
    return Number(row?.['deadlocks'])
  }
  const before = await deadlocks()
  // However fast the machine is, a batch waits for a moment, and the other lane is needed.
  const release = await holding(database.url, `select from shard where shard = ${shardOf(A)} for update`)
  const beside = writeBeside(() => isOver, dice)
  const client = async (client: number) => {
    const seqs = []
    for (let n = 0; n < BOOKINGS_OF_EACH; n++) {
      const agencyId = dice.pick(AGENCIES)
      // Otherwise all of them would wait for the same batch again and again.
      await Bun.sleep(dice.below(4))
      seqs.push({ agencyId, ...(await journal.append(bookingOf(agencyId, dice, `${client} ${n}`))) })
    }
    return seqs
  }
  const clients = Promise.all(Array.from({ length: CLIENTS }, (_, n) => client(n)))
  await Bun.sleep(100)
  await release()
  const appended = (await clients).flat()
  isOver = true
  expect(await beside).toBeGreaterThan(0)

  const connections = await database.sql`
    select pid from pg_stat_activity
    where datname = current_database() and application_name = 'nightledger journal' and query like '%append_batch%'`
  expect(connections).toHaveLength(2)
  expect(journal.stats).toMatchObject({ entries: CLIENTS * BOOKINGS_OF_EACH })
  for (const agencyId of AGENCIES) {
    const seqs = appended.filter((of) => of.agencyId === agencyId).map(({ seq }) => seq ?? 0)
    const rows = await database.sql<{ seq: number }[]>`
      select seq::int as seq from journal where shard = ${shardOf(agencyId)} order by seq`
    expect(rows.map(({ seq }) => seq)).toEqual(seqs.toSorted((a, b) => a - b))
    expect(rows.map(({ seq }) => seq)).toEqual(seqs.map((_, i) => i + 1))
  }
  // Sessions count them when they end, at the latest.
  await ledger.close()
  ledger = await openTestDatabaseLedger(database.url)
  expect(await deadlocks()).toBe(before)
})

describe('a batch that waits in the database', () => {
  const pids = (rows: readonly { pid: number }[]) => rows.map(({ pid }) => pid)
  const sessions = async () =>
    pids(
      await database.sql<{ pid: number }[]>`
      select pid from pg_stat_activity where datname = current_database() and application_name = 'nightledger journal'`,
    )
  const waiting = async () =>
    pids(
      await database.sql<{ pid: number }[]>`
      select pid from pg_stat_activity
      where datname = current_database() and application_name = 'nightledger journal' and wait_event_type = 'Lock'`,
    )

  test('holds up its own shards alone', async () => {
    const { journal } = ledger
    const dice = new SeededRandom(1)
    const order: string[] = []
    const note = (what: string) => () => void order.push(what)
    const release = await holding(database.url, `select from shard where shard = ${shardOf(A)} for update`)
    const first = journal.append(bookingOf(A, dice, 'held')).then(note('A'))
    await eventually('its batch waits', async () => (await waiting()).length === 1)
    for (let n = 0; n < 10; n++) await journal.append(bookingOf(B, dice, `beside ${n}`))
    note('B')()
    const behind = journal.append(bookingOf(A, dice, 'behind')).then(note('A again'))
    await release()
    await Promise.all([first, behind])
    expect(order).toEqual(['B', 'A', 'A again'])
  })

  test('whose connection is lost leaves that of the other lane alone', async () => {
    const { sql } = database
    const { journal } = ledger
    const dice = new SeededRandom(2)
    const before = await sessions()
    const release = await holding(database.url, `select from shard where shard = ${shardOf(A)} for update`)
    const killed = journal.append(bookingOf(A, dice, 'killed'))
    await eventually('its batch waits, and is killed', async () => {
      const pids = await waiting()
      for (const pid of pids) await sql`select pg_terminate_backend(${pid})`
      return pids.length === 1
    })
    for (let n = 0; n < 5; n++) await journal.append(bookingOf(B, dice, `meanwhile ${n}`))
    await release()
    await killed
    const kept = (await sessions()).filter((pid) => before.includes(pid))
    expect(kept).toHaveLength(1)
    const [row] =
      await sql`select count(*)::int as count from booking where booking_id = ${uuidOf(sampleId('bkg', 'killed'))}`
    expect(row?.['count']).toBe(1)
    expect(journal.stats).toMatchObject({ state: 'idle', waiting: 0 })
  })
})
