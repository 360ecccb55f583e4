import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { Ledger } from '../../../src/app/ledger.ts'
import { successLine } from '../../../src/core/bookings/durable-writes.ts'
import { WriteError } from '../../../src/core/bookings/write-error.ts'
import type { Agency } from '../../../src/core/catalogue/agency.ts'
import type { Unit } from '../../../src/core/domain/unit.ts'
import { JournalError } from '../../../src/core/journal/journal-error.ts'
import { SecretBox } from '../../../src/events/webhooks/secret-box.ts'
import { WebhookCommands } from '../../../src/events/webhooks/webhook-commands.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { idOf, systemIds, uuidOf } from '../../../src/lib/ids.ts'
import { connect, type Sql } from '../../../src/postgres/client/connect.ts'
import { PENDING_CHUNK } from '../../../src/postgres/stores/pending-deliveries.ts'
import { PostgresEndpointRows } from '../../../src/postgres/stores/postgres-endpoint-rows.ts'
import { emptyTables } from '../../support/empty-tables.ts'
import { eventually } from '../../support/eventually.ts'
import { addAgency, addUnit, openTestDatabaseLedger } from '../../support/open-ledger.ts'
import { type TestDatabase, testDatabase } from '../../support/postgres.ts'
import { CALLER, requestFor, sampleUnit } from '../../support/samples.ts'
import { verifyDatabase } from '../../support/verify-database.ts'
import { makeDeliveries } from './support/make-deliveries.ts'

/*
 * The writes of the agency's webhook commands: fenced, audited, and concurrent with a sender that still considers an
 * endpoint active.
 */

const URL_OF_NOBODY = 'http://localhost:9000/in'
const LATCH = 4_711

let database: TestDatabase
let ledger: Ledger
let agency: Agency
let unit: Unit
let commands: WebhookCommands
/** One connection, which holds the latch. */
let latch: Sql

beforeAll(async () => {
  database = await testDatabase()
  latch = connect(database.url, { purpose: 'admin' })
  await database.sql`
    create function wait_for_latch() returns trigger language plpgsql as $$
    begin
      perform pg_advisory_xact_lock(4711);
      return null;
    end $$`
})
afterAll(async () => {
  await latch.end({ timeout: 0 })
  await database.drop()
})
beforeEach(async () => {
  await emptyTables(database.sql)
  ledger = await openTestDatabaseLedger(database.url)
  agency = await addAgency(ledger)
  unit = await addUnit(ledger, agency, sampleUnit())
  commands = commandsOf(ledger.epoch)
})
afterEach(() => ledger.close())

function commandsOf(epoch: number): WebhookCommands {
  return new WebhookCommands({
    rows: new PostgresEndpointRows(database.sql, ledger.lists, () => epoch),
    resolver: { resolve: async () => 'unresolved' },
    post: async () => ({ outcome: { kind: 'answered', httpStatus: 200 }, durationMs: 1 }),
    box: new SecretBox(new Uint8Array(32)),
    clock: systemClock,
    newId: systemIds,
    allowHosts: ['localhost:9000', 'localhost:9001'],
    onChange: () => {},
  })
}

const line = () => successLine({ clock: systemClock, newId: systemIds }, CALLER)

async function registered(): Promise<string> {
  const outcome = await commands.register(agency.id, { url: URL_OF_NOBODY, description: null }, line())
  if (outcome.kind !== 'registered') throw new Error(outcome.kind)
  return outcome.endpoint.id
}

let nights = 1
async function book(): Promise<void> {
  const day = (n: number) => new Date(Date.UTC(2030, 0, n)).toISOString().slice(0, 10)
  const outcome = await ledger.commands.book(agency, requestFor(unit, day(nights++), day(nights)), CALLER)
  expect(outcome.kind).toBe('done')
}

/** A booking, and the delivery of its event. */
async function bookAndMake(): Promise<void> {
  await book()
  await makeDeliveries(database.url, ledger.epoch)
}

/** All tables the commands write. */
async function contents(): Promise<unknown> {
  const { sql } = database
  return JSON.stringify([
    await sql`select * from webhook_endpoint order by endpoint_id`,
    await sql`select * from webhook_delivery order by delivery_id`,
    await sql`select * from webhook_attempt order by delivery_id, attempt`,
    await sql`select * from audit_line order by line_id`,
  ])
}

async function deliveryIds(): Promise<string[]> {
  const rows = await database.sql<{ id: string }[]>`
    select delivery_id as id from webhook_delivery where status <> 'delivered' order by 1`
  return rows.map(({ id }) => idOf('dlv', id))
}

async function countOf(status: string): Promise<number> {
  const [row] = await database.sql<{ n: number }[]>`
    select count(*)::int as n from webhook_delivery where status = ${status}`
  return row?.n ?? 0
}

/** Returns the error, and waits for it first: a promise that never settles would hang the test. */
async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  const [result] = await Promise.allSettled([promise])
  return result?.status === 'rejected' ? result.reason : null
}

/** An audit line that violates a constraint of its table. */
function refusedLine(): ReturnType<typeof line> {
  return { ...line(), actor: { kind: 'nobody' as 'portal', id: null } }
}

/** Every command that writes, applied to a disabled endpoint with one pending delivery. */
async function everyWrite(on: WebhookCommands, audit: typeof line): Promise<[string, () => Promise<unknown>][]> {
  const id = await registered()
  await bookAndMake()
  await database.sql`update webhook_endpoint set status = 'disabled', consecutive_failures = 20`
  const [deliveryId = ''] = await deliveryIds()
  return [
    ['register', () => on.register(agency.id, { url: URL_OF_NOBODY, description: null }, audit())],
    ['change of the address', () => on.change(agency.id, id, { url: 'http://localhost:9001/' }, audit())],
    ['change of the description', () => on.change(agency.id, id, { description: 'x' }, audit())],
    ['resend of one', () => on.resend(agency.id, deliveryId, audit())],
    ['switching on', () => on.change(agency.id, id, { pending: 'drop' }, audit())],
    ['rotation', () => on.rotateSecret(agency.id, id, { overlapHours: 0 }, audit())],
    ['ping', () => on.ping(agency.id, id, audit())],
    ['deletion', () => on.delete(agency.id, id, audit())],
  ]
}

describe('every write', () => {
  test('J5: by a stale writer is refused as fenced, and nothing is written', async () => {
    const writes = await everyWrite(commandsOf(ledger.epoch - 1), line)
    const before = await contents()
    for (const [name, write] of writes) {
      const failure = await failureOf(write())
      expect([name, failure instanceof JournalError && failure.kind]).toEqual([name, 'fenced'])
    }
    expect(await contents()).toBe(before)
  })

  test('has one audit line, and is not made when that line cannot be written', async () => {
    const writes = await everyWrite(commands, line)
    const before = await contents()
    for (const [name, write] of await everyWriteAgain(refusedLine())) {
      const failure = await failureOf(write())
      expect([name, failure instanceof WriteError && failure.outcome]).toEqual([name, 'not_written'])
    }
    expect(await contents()).toBe(before)
    const lines = async () => (await database.sql`select from audit_line where booking_id is null`).count
    for (const [name, write] of writes) {
      const already = await lines()
      await write()
      expect([name, await lines()]).toEqual([name, already + 1])
    }

    /** The same commands on the same rows, each with an audit line that the database rejects. */
    async function everyWriteAgain(audit: ReturnType<typeof line>): Promise<[string, () => Promise<unknown>][]> {
      const [id = ''] = (await commands.list(agency.id)).filter(({ status }) => status === 'disabled').map((e) => e.id)
      const [deliveryId = ''] = await deliveryIds()
      return [
        ['register', () => commands.register(agency.id, { url: URL_OF_NOBODY, description: null }, audit)],
        ['change', () => commands.change(agency.id, id, { url: 'http://localhost:9001/', pending: 'drop' }, audit)],
        ['resend', () => commands.resend(agency.id, deliveryId, audit)],
        ['rotation', () => commands.rotateSecret(agency.id, id, { overlapHours: 0 }, audit)],
        ['ping', () => commands.ping(agency.id, id, audit)],
        ['deletion', () => commands.delete(agency.id, id, audit)],
      ]
    }
  })
})

test('a change of address, description and status is atomic', async () => {
  const id = await registered()
  await bookAndMake()
  await database.sql`update webhook_endpoint set status = 'disabled', disabled_reason = 'x', consecutive_failures = 20`
  const change = { url: 'http://localhost:9001/', description: 'both', pending: 'drop' as const }
  expect(await commands.change(agency.id, id, { ...change, url: 'https://nowhere.example/' }, line())).toMatchObject({
    kind: 'url_refused',
  })
  expect(await commands.find(agency.id, id)).toMatchObject({
    status: 'disabled',
    url: URL_OF_NOBODY,
    description: null,
  })
  expect(await commands.change(agency.id, id, change, line())).toMatchObject({
    kind: 'changed',
    endpoint: { url: change.url, description: 'both', status: 'active', disabledReason: null, consecutiveFailures: 0 },
  })
  expect(await countOf('dropped')).toBe(1)
  const rows = await database.sql`select revision from webhook_endpoint`
  expect(rows).toMatchObject([{ revision: 1 }])
})

describe('a large backlog of pending deliveries', () => {
  const FLOOD = 2 * PENDING_CHUNK + 1

  async function withBacklog(): Promise<string> {
    const id = await registered()
    await bookAndMake()
    await database.sql`
      insert into webhook_delivery (agency_id, delivery_id, month, endpoint_id, event_id, seq, entry_month, kind, status,
                                    next_attempt_at, tries, created_at)
      select agency_id, gen_random_uuid(), month, endpoint_id, event_id, seq, entry_month, kind, 'pending',
             now() + interval '1 day', 3, now()
      from webhook_delivery, generate_series(2, ${FLOOD}::int) n`
    await database.sql`update webhook_endpoint set status = 'disabled'`
    return id
  }

  test.each(['drop', 'resend'] as const)(
    'is completely finished before the endpoint is enabled: %s',
    async (pending) => {
      const id = await withBacklog()
      expect(await commands.change(agency.id, id, { pending }, line())).toMatchObject({
        endpoint: { status: 'active' },
      })
      expect(await countOf('dropped')).toBe(pending === 'drop' ? FLOOD : 0)
      const [late] = await database.sql<{ n: number }[]>`
      select count(*)::int as n from webhook_delivery where status = 'pending' and (tries > 0 or next_attempt_at > now())`
      expect(late?.n).toBe(0)
    },
  )

  test('is completely dropped with its endpoint', async () => {
    const id = await withBacklog()
    await commands.delete(agency.id, id, line())
    expect(await countOf('dropped')).toBe(FLOOD)
  })

  test('of which part was finished before a failure is finished by a repeated call', async () => {
    const id = await withBacklog()
    const change = commands.change(agency.id, id, { pending: 'drop' }, refusedLine())
    expect(await failureOf(change)).toMatchObject({ outcome: 'started' })
    expect(await countOf('dropped')).toBeGreaterThan(0)
    expect(await commands.find(agency.id, id)).toMatchObject({ status: 'disabled' })
    await commands.change(agency.id, id, { pending: 'drop' }, line())
    expect(await countOf('dropped')).toBe(FLOOD)
  })

  describe('J8: that is too large for one statement', () => {
    beforeEach(async () => {
      await database.sql.unsafe(`
        create function too_slow() returns trigger language plpgsql as $$ begin
          if (select count(*) from changed) > 1000 then raise 'too slow' using errcode = '57014'; end if;
          return null;
        end $$;
        create trigger too_slow after update on webhook_delivery referencing new table as changed
          for each statement execute function too_slow()`)
    })
    afterEach(async () => {
      await database.sql.unsafe('drop trigger too_slow on webhook_delivery; drop function too_slow')
    })

    test.each(['drop', 'resend'] as const)(
      'is settled in smaller ones before the endpoint is enabled: %s',
      async (pending) => {
        const id = await withBacklog()
        expect(await commands.change(agency.id, id, { pending }, line())).toMatchObject({
          endpoint: { status: 'active' },
        })
        expect(await countOf('dropped')).toBe(pending === 'drop' ? FLOOD : 0)
      },
    )

    test('is dropped in smaller ones with its endpoint, whose deletion is made and answered once', async () => {
      const id = await withBacklog()
      expect(await commands.delete(agency.id, id, line())).not.toBeNull()
      expect(await countOf('dropped')).toBe(FLOOD)
    })
  })

  test('that an interrupted deletion has left behind is dropped when the deletion is repeated', async () => {
    const id = await withBacklog()
    await database.sql`update webhook_endpoint set status = 'deleted'`
    expect(await commands.delete(agency.id, id, line())).toBeNull()
    expect(await countOf('dropped')).toBe(FLOOD)
  })
})

describe('an endpoint is deleted while', () => {
  /** Rows of `table` are written, and then their transaction waits while the latch is held. */
  async function held(table: 'webhook_delivery' | 'webhook_endpoint' | 'journal', when: 'insert' | 'update') {
    await database.sql.unsafe(
      `create trigger latch after ${when} on ${table} for each statement execute function wait_for_latch()`,
    )
    await latch`select pg_advisory_lock(${LATCH})`
    return {
      release: () => latch`select pg_advisory_unlock(${LATCH})`,
      [Symbol.asyncDispose]: async () => {
        await latch`select pg_advisory_unlock_all()`
        await database.sql.unsafe(`drop trigger latch on ${table}`)
      },
    }
  }

  async function waiting(text: string): Promise<boolean> {
    const rows = await database.sql`
      select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like ${`%${text}%`} and pid <> pg_backend_pid()`
    return rows.count > 0
  }

  test('deliveries are being made for it: nothing stays pending, and nothing is made afterwards', async () => {
    const id = await registered()
    await book()
    await using access = await held('webhook_delivery', 'insert')
    const making = makeDeliveries(database.url, ledger.epoch)
    await eventually('the delivery is written', () => waiting('make_deliveries'))
    let isOver = false
    const deletion = commands.delete(agency.id, id, line()).finally(() => {
      isOver = true
    })
    await eventually('the deletion waits, or is over', async () => isOver || (await waiting('delete_webhook_endpoint')))
    await access.release()
    await Promise.all([making, deletion])
    expect([await countOf('pending'), await countOf('dropped')]).toEqual([0, 1])
    await bookAndMake()
    expect([await countOf('pending'), await countOf('dropped')]).toEqual([0, 1])
  })

  test('deliveries are about to be made for it: none is', async () => {
    const id = await registered()
    await book()
    await using access = await held('webhook_endpoint', 'update')
    const deletion = commands.delete(agency.id, id, line())
    await eventually('the deletion waits', () => waiting('delete_webhook_endpoint'))
    const making = makeDeliveries(database.url, ledger.epoch)
    await eventually('making deliveries waits', () => waiting('make_deliveries'))
    await access.release()
    await Promise.all([making, deletion])
    expect([await countOf('pending'), await countOf('dropped')]).toEqual([0, 0])
  })

  test('a booking is being written: neither waits for the other', async () => {
    const id = await registered()
    await using access = await held('journal', 'insert')
    const booking = book()
    await eventually('the booking waits', () => waiting('append_batch'))
    expect(await commands.delete(agency.id, id, line())).toMatchObject({ id })
    await access.release()
    await booking
  })

  test('the outcome of an attempt is being recorded: both are written, without a deadlock', async () => {
    const id = await registered()
    await bookAndMake()
    const [delivery] = await database.sql<{ id: string; month: string; revision: number }[]>`
      update webhook_delivery d set claimed_by = s.tenure from webhook_sender s, webhook_endpoint e
      where e.endpoint_id = d.endpoint_id returning d.delivery_id as "id", d.month::text as "month", e.revision`
    const at = new Date().toISOString()
    const content = {
      deliveries: [
        {
          agency_id: uuidOf(agency.id),
          delivery_id: delivery?.id,
          month: delivery?.month,
          attempts_before: 0,
          attempts: 1,
          tries: 1,
          status: 'pending',
          next_attempt_at: at,
          finished_at: null,
        },
      ],
      attempts: [],
      endpoints: [
        {
          agency_id: uuidOf(agency.id),
          endpoint_id: uuidOf(id),
          revision: delivery?.revision,
          consecutive_failures: 1,
          status: 'active',
          disabled_reason: null,
          at,
        },
      ],
    }
    const outcomes: Promise<unknown>[] = []
    {
      await using access = await held('webhook_delivery', 'update')
      const recording = database.sql`
        select record_attempts((select tenure from webhook_sender), ${JSON.stringify(content)}::text::jsonb)`
      outcomes.push(recording.then(() => 'recorded'))
      await eventually('the outcome is being recorded', () => waiting('record_attempts'))
      let isOver = false
      const deletion = commands.delete(agency.id, id, line()).finally(() => {
        isOver = true
      })
      outcomes.push(deletion.then((deleted) => deleted?.id))
      await eventually(
        'the deletion waits, or is over',
        async () => isOver || (await waiting('delete_webhook_endpoint')),
      )
      await access.release()
      expect(await Promise.all(outcomes)).toEqual(['recorded', id])
    }
    expect([await countOf('pending'), await countOf('dropped')]).toEqual([0, 1])
  })

  test('one of its deliveries is being resent: the resend is refused, and nothing stays pending', async () => {
    const id = await registered()
    await bookAndMake()
    await database.sql`update webhook_delivery set status = 'dead', next_attempt_at = null, finished_at = now()`
    const [deliveryId = ''] = await deliveryIds()
    await using access = await held('webhook_endpoint', 'update')
    const deletion = commands.delete(agency.id, id, line())
    await eventually('the deletion waits', () => waiting('delete_webhook_endpoint'))
    const resend = commands.resend(agency.id, deliveryId, line())
    await eventually('the resend waits', () => waiting('isResent'))
    await access.release()
    await deletion
    expect(await resend).toEqual({ kind: 'refused', refusal: 'endpoint_deleted' })
    expect(await countOf('pending')).toBe(0)
  })
})

test('verify reports a pending delivery of a deleted endpoint', async () => {
  await registered()
  await bookAndMake()
  expect((await verifyDatabase(database.sql)).differences).toEqual([])
  await database.sql`update webhook_endpoint set status = 'deleted'`
  const [at = ''] = await deliveryIds()
  expect((await verifyDatabase(database.sql)).differences).toEqual([
    { what: 'delivery', unitId: null, at, message: 'the delivery is pending, but its endpoint is deleted' },
  ])
})
