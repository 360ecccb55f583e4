import { afterAll, expect, test } from 'bun:test'
import { openWebhookCommands } from '../../../src/app/open-webhooks.ts'
import { successLine } from '../../../src/core/bookings/durable-writes.ts'
import type { Agency } from '../../../src/core/catalogue/agency.ts'
import type { WebhookEventKind } from '../../../src/core/domain/booking.ts'
import type { Unit } from '../../../src/core/domain/unit.ts'
import { systemIds, uuidOf } from '../../../src/lib/ids.ts'
import { eventually } from '../../support/eventually.ts'
import { addAgency, addUnit, openTestDatabaseLedger } from '../../support/open-ledger.ts'
import { testDatabase } from '../../support/postgres.ts'
import { CALLER, night, requestFor, sampleUnit } from '../../support/samples.ts'
import { verifyDatabase } from '../../support/verify-database.ts'
import { makeDeliveries } from './support/make-deliveries.ts'

/* Endpoints are registered, and enabled with `drop`, while the writer continues writing. */

const UNITS = 24
const ENDPOINTS = 12
const RECEIVER = 'localhost:9000'
/** Between two bookings of a unit. A writer without a pause would keep ahead of the deliveries that are made for many endpoints. */
const PAUSE_MS = 40

const database = await testDatabase()
const ledger = await openTestDatabaseLedger(database.url)
afterAll(async () => {
  await ledger.close()
  await database.drop()
})

/** Bookings of all units at once, one after the other in each, until `stop`. */
function startWriter(agency: Agency, units: readonly Unit[]) {
  let isStopping = false
  const acknowledged: { readonly seq: number; readonly begunAt: number; readonly doneAt: number }[] = []
  const clients = units.map(async (unit) => {
    for (let n = 1; !isStopping; n++) {
      const day = (i: number) => new Date(Date.UTC(2030, 0, i)).toISOString().slice(0, 10)
      const begunAt = performance.now()
      const outcome = await ledger.commands.book(agency, requestFor(unit, day(n), day(n + 1)), CALLER)
      if (outcome.kind !== 'done' || outcome.seq === null) throw new Error('Expected a booking')
      acknowledged.push({ seq: outcome.seq, begunAt, doneAt: performance.now() })
      await Bun.sleep(PAUSE_MS)
    }
  })
  const stop = async () => {
    isStopping = true
    await Promise.all(clients)
  }
  return { acknowledged, stop }
}

/** The numbers of the events that the endpoint has a delivery of, in order. */
async function deliveredTo(endpointId: string): Promise<number[]> {
  const rows = await database.sql<{ seq: number }[]>`
    select seq::int from webhook_delivery where endpoint_id = ${uuidOf(endpointId)} order by seq`
  return rows.map(({ seq }) => seq)
}

test('W7: an endpoint gets every event from its registration or its choice on, none from before, and each once', async () => {
  const agency = await addAgency(ledger)
  const units: Unit[] = []
  for (let n = 0; n < UNITS; n++)
    units.push(await addUnit(ledger, agency, sampleUnit({ id: systemIds('unt'), slug: `unit-${n}` })))
  const commands = openWebhookCommands(ledger, { secretKey: new Uint8Array(32), allowHosts: [RECEIVER] })
  const line = () => successLine(ledger, CALLER)

  const writer = startWriter(agency, units)
  /** More writes were made than could have begun before the call. */
  const writesGoOn = () => {
    const before = writer.acknowledged.length
    return eventually('the writer continues', async () => writer.acknowledged.length > before + UNITS, 30_000)
  }
  const starts: { id: string; requests: number; answered: number }[] = []
  for (let n = 0; n < ENDPOINTS; n++) {
    await writesGoOn()
    const since = performance.now()
    const outcome = await commands.register(agency.id, { url: `http://${RECEIVER}/${n}`, description: null }, line())
    if (outcome.kind !== 'registered') throw new Error(outcome.kind)
    starts.push({ id: outcome.endpoint.id, requests: since, answered: performance.now() })
    // The sender is at work meanwhile.
    if (n % 3 === 0) await makeDeliveries(database.url, ledger.epoch)
  }
  // Every other one is switched off for a while, and drops what has waited.
  for (const start of starts.filter((_, n) => n % 2 === 1)) {
    await database.sql`update webhook_endpoint set status = 'disabled' where endpoint_id = ${uuidOf(start.id)}`
    await database.sql`delete from webhook_delivery where endpoint_id = ${uuidOf(start.id)}`
    await writesGoOn()
    start.requests = performance.now()
    expect(await commands.change(agency.id, start.id, { pending: 'drop' }, line())).toMatchObject({ kind: 'changed' })
    start.answered = performance.now()
  }
  await writesGoOn()
  await writer.stop()
  await makeDeliveries(database.url, ledger.epoch)

  const all = writer.acknowledged.map(({ seq }) => seq).sort((a, b) => a - b)
  for (const { id, requests: request, answered } of starts) {
    const delivered = await deliveredTo(id)
    const first = delivered[0] ?? Number.POSITIVE_INFINITY
    expect(delivered).toEqual(all.filter((seq) => seq >= first))
    const before = writer.acknowledged.filter(({ doneAt }) => doneAt < request)
    const after = writer.acknowledged.filter(({ begunAt }) => begunAt > answered)
    expect(before.length).toBeGreaterThan(0)
    expect(after.length).toBeGreaterThan(0)
    expect(before.filter(({ seq }) => seq >= first)).toEqual([])
    expect(after.filter(({ seq }) => seq < first)).toEqual([])
  }
  await database.sql`analyze`
  expect((await verifyDatabase(database.sql)).differences).toEqual([])
})

test('events that waited for an endpoint are sent in the order of the log, and listed with the times at which they happened', async () => {
  const agency = await addAgency(ledger, { id: systemIds('agc'), slug: 'waited' })
  const unit = await addUnit(ledger, agency, sampleUnit({ id: systemIds('unt') }))
  const commands = openWebhookCommands(ledger, { secretKey: new Uint8Array(32), allowHosts: [RECEIVER] })
  const url = `http://${RECEIVER}/waited`
  const outcome = await commands.register(agency.id, { url, description: null }, successLine(ledger, CALLER))
  if (outcome.kind !== 'registered') throw new Error(outcome.kind)
  const endpointId = uuidOf(outcome.endpoint.id)
  await database.sql`update webhook_endpoint set status = 'disabled' where endpoint_id = ${endpointId}`
  const seqs: (number | null)[] = []
  for (let n = 1; n <= 12; n++) {
    const day = (of: number) => `2027-05-${String(of).padStart(2, '0')}`
    const booked = await ledger.commands.book(agency, requestFor(unit, day(n), day(n + 1)), CALLER)
    if (booked.kind !== 'done') throw new Error(booked.kind)
    seqs.push(booked.seq)
  }
  await Bun.sleep(5)
  await commands.change(agency.id, outcome.endpoint.id, { pending: 'resend' }, successLine(ledger, CALLER))
  await makeDeliveries(database.url, ledger.epoch)
  const inOrder = async (order: string) =>
    (
      await database.sql<{ seq: number }[]>`
        select seq::float8 as seq from webhook_delivery where endpoint_id = ${endpointId} order by ${database.sql.unsafe(order)}`
    ).map(({ seq }) => seq)
  expect(await inOrder('next_attempt_at, delivery_id')).toEqual(seqs as number[])
  const [times] = await database.sql<{ early: number; late: number }[]>`
    select count(*) filter (where d.created_at <> j.at)::int as early, count(*) filter (where d.next_attempt_at > now())::int as late
    from webhook_delivery d join journal j on j.agency_id = d.agency_id and j.seq = d.seq
    where d.endpoint_id = ${endpointId}`
  expect(times).toEqual({ early: 0, late: 0 })
})

test('W7: a new choice applies to events without a delivery; events that are not chosen do not wait', async () => {
  const agency = await addAgency(ledger, { id: systemIds('agc'), slug: 'chosen' })
  const unit = await addUnit(ledger, agency, sampleUnit({ id: systemIds('unt'), slug: 'chosen' }))
  const commands = openWebhookCommands(ledger, { secretKey: new Uint8Array(32), allowHosts: [RECEIVER] })
  const line = () => successLine(ledger, CALLER)
  const outcome = await commands.register(agency.id, { url: `http://${RECEIVER}/chosen`, description: null }, line())
  if (outcome.kind !== 'registered') throw new Error(outcome.kind)
  const { id } = outcome.endpoint
  expect(outcome.endpoint.events).toEqual(['booking.created', 'booking.updated', 'booking.cancelled'])
  const change = (changed: (before: Unit) => Unit) =>
    ledger.commands.setUnit(agency, unit.id, (before) => changed(before ?? unit), CALLER)
  const setPrice = async (nightlyPrice: number) => {
    const season = { name: 'May', from: night('2027-05-01'), to: night('2027-06-01'), nightlyPrice, minStay: null }
    const rates = { seasons: [season], weekdayAdjustments: [], lengthOfStayDiscounts: [] }
    await change((before) => ({ ...before, rules: { ...before.rules, rates } }))
  }
  const waiting = async () => (await commands.find(agency.id, id))?.waitingEvents
  const choose = (...events: readonly WebhookEventKind[]) => commands.change(agency.id, id, { events }, line())
  const deliveredKinds = async () => {
    await makeDeliveries(database.url, ledger.epoch)
    const rows = await database.sql<{ kind: string }[]>`
      select kind from webhook_delivery where endpoint_id = ${uuidOf(id)} order by seq`
    return rows.map(({ kind }) => kind)
  }
  await setPrice(1)
  expect(await waiting()).toBe(0)
  expect(await deliveredKinds()).toEqual([])
  expect(await choose('booking.created', 'rates.updated')).toMatchObject({
    endpoint: { events: ['booking.created', 'rates.updated'] },
  })
  await setPrice(2)
  await change((before) => ({ ...before, name: 'Other' }))
  const booked = await ledger.commands.book(agency, requestFor(unit, '2027-05-01', '2027-05-03'), CALLER)
  if (booked.kind !== 'done') throw new Error(booked.kind)
  await ledger.commands.cancel(agency, { bookingId: booked.booking.id, reason: null }, CALLER)
  expect(await waiting()).toBe(2)
  expect(await deliveredKinds()).toEqual(['rates.updated', 'booking.created'])
  await choose('unit.updated')
  await setPrice(3)
  await change((before) => ({ ...before, name: 'Another' }))
  expect(await waiting()).toBe(1)
  expect(await deliveredKinds()).toEqual(['rates.updated', 'booking.created', 'unit.updated'])
  expect((await verifyDatabase(database.sql)).differences).toEqual([])
  // One that is missing is found all the same.
  await database.sql`delete from webhook_delivery where endpoint_id = ${uuidOf(id)} and kind = 'unit.updated'`
  expect((await verifyDatabase(database.sql)).differences).toMatchObject([{ what: 'delivery' }])
  await database.sql`delete from webhook_endpoint where endpoint_id = ${uuidOf(id)}`
})

test('a process that was replaced registers no endpoint', async () => {
  const agency = await addAgency(ledger, { id: systemIds('agc'), slug: 'replaced' })
  const register = (epoch: number) => database.sql`
    select register_endpoint(${epoch}::text::bigint, ${uuidOf(agency.id)}::text::uuid, ${uuidOf(systemIds('whe'))}::text::uuid,
                             'https://hooks.example', '', '{booking.created}', 'sealed', now(), 10) as registered`
  const codeOf = (params: Promise<unknown>) =>
    params.then(
      () => 'registered',
      ({ code }: { code: string }) => code,
    )
  expect(await codeOf(register(ledger.epochOf(agency.id) - 1))).toBe('NL001')
  expect(await codeOf(register(ledger.epochOf(agency.id)))).toBe('registered')
})
