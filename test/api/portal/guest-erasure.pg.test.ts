/** The erasure of a guest: what goes, what stays, and what happens at the same moment. Roles and bounds are tested with those of all routes. */
import { afterAll, beforeEach, expect, test } from 'bun:test'
import { BookingNotes } from '../../../src/accounts/booking-notes.ts'
import type { Agency } from '../../../src/core/catalogue/agency.ts'
import type { Unit } from '../../../src/core/domain/unit.ts'
import { systemIds, uuidOf } from '../../../src/lib/ids.ts'
import { PostgresAgencyBookings } from '../../../src/postgres/stores/postgres-agency-bookings.ts'
import { PostgresAgencyStore } from '../../../src/postgres/stores/postgres-agency-store.ts'
import { makeDeliveries } from '../../events/webhooks/support/make-deliveries.ts'
import { CALLER } from '../../support/samples.ts'
import { startTestService } from '../../support/test-service.ts'
import { verifyDatabase } from '../../support/verify-database.ts'

let agency: Agency
let path: string
let units: Unit[]
let key: string

const service = await startTestService()
afterAll(async () => {
  expect((await verifyDatabase(service.database.sql)).differences).toEqual([])
  await service.close()
})
beforeEach(async () => {
  agency = await service.agency()
  path = `/agencies/${agency.slug}`
  units = [await service.unit(agency), await service.unit(agency)]
  key = (await service.key(agency)).secret
})

const GUEST = { firstName: 'Ana', lastName: 'Reis', email: 'Ana@example.com', phone: '+351 1', nationality: 'PT' }
const TEXTS = { notes: 'Ana Reis likes tea', sourceRef: 'REIS-1' }

interface BookingAnswer {
  id: string
  guest: { id: string } | null
}

let day = 0
function nextStay() {
  const date = (offset: number) => new Date(Date.UTC(2030, 0, 1 + 2 * day + offset)).toISOString().slice(0, 10)
  const stay = { arrival: date(0), departure: date(1) }
  day += 1
  return stay
}

async function booked(change: object = {}): Promise<BookingAnswer & { guestId: string }> {
  const body = { unit: units[day % 2]?.slug, ...nextStay(), ...TEXTS, guest: GUEST, ...change }
  const { booking } = (await service.ask(`${path}/bookings`, body)).body as { booking: BookingAnswer }
  return { ...booking, guestId: booking.guest?.id ?? '' }
}

const erase = (guestId: string, query = '', headers: Record<string, string> = {}) =>
  service.ask(`${path}/guests/${guestId}/erase${query}`, undefined, { method: 'POST', headers })

const bookingOf = async (id: string) => (await service.get(`${path}/bookings/${id}`)).body.booking

/** The names of the tables that have the text anywhere. */
async function tablesWith(text: string): Promise<string[]> {
  const { sql } = service.database
  const tables = await sql<{ name: string }[]>`
    select format('%I', relname) as "name" from pg_class
    where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace`
  const found = await Promise.all(
    tables.map(({ name }) =>
      sql
        .unsafe(`select from ${name} t where t.agency_id = $1 and t::text ilike $2`, [uuidOf(agency.id), `%${text}%`])
        .catch(() => []),
    ),
  )
  return tables.filter((_, i) => (found[i]?.length ?? 0) > 0).map(({ name }) => name)
}

test('an erased guest is not found, their bookings stay as figures without a guest and texts, and the same e-mail makes a new one', async () => {
  const bookings = [await booked(), await booked(), await booked()]
  const [first, second] = bookings
  const guestId = first?.guestId ?? ''
  await service.ask(`${path}/bookings/${second?.id}/cancel`, { reason: 'Ana Reis is ill' })
  const before = await Promise.all(bookings.map(({ id }) => bookingOf(id)))

  const { status, body } = await erase(guestId)
  expect([status, body]).toEqual([
    200,
    {
      erasure: {
        guestId,
        erasedAt: expect.any(String),
        bookings: 3,
        upcoming: 2,
        withNotes: 3,
        withReference: 3,
        withReason: 1,
      },
    },
  ])
  expect((await service.get(`${path}/guests/${guestId}`)).status).toBe(404)
  expect((await service.call(`/guests/${guestId}`, { key })).status).toBe(404)
  expect((await service.get(`${path}/guests?search=reis`)).body.guests).toEqual([])
  expect((await service.patch(`${path}/guests/${guestId}`, { phone: '1' })).status).toBe(404)
  const none = { guest: null, notes: null, sourceRef: null, cancelReason: null }
  expect(await Promise.all(bookings.map(({ id }) => bookingOf(id)))).toEqual(
    before.map((each) => ({ ...each, ...none })),
  )
  expect((await service.get(`${path}/bookings?guest=${guestId}`)).body.bookings).toEqual([])
  expect(await tablesWith('reis')).toEqual([])
  expect((await booked()).guestId).not.toBe(guestId)
})

test('an erasure leaves the reason of a hold that expired, which names nobody', async () => {
  const { id, guestId } = await booked()
  await service.ask(`${path}/bookings/${id}/cancel`, { reason: 'hold_expired' })
  const { erasure } = (await erase(guestId)).body
  expect(erasure).toMatchObject({ bookings: 1, withReason: 0 })
  expect(await bookingOf(id)).toMatchObject({ guest: null, sourceRef: null, cancelReason: 'hold_expired' })
})

test('a preview says what would go, and neither writes nor records anything', async () => {
  const { id, guestId } = await booked()
  const count = async () => (await service.get(`${path}/audit`)).body.totalItems
  const before = [await bookingOf(id), await count()]
  const { erasure } = (await erase(guestId, '?dryRun=true')).body
  const counts = { bookings: 1, upcoming: 1, withNotes: 1, withReference: 1, withReason: 0 }
  expect(erasure).toEqual({ guestId, erasedAt: null, ...counts })
  expect([await bookingOf(id), await count()]).toEqual(before)
  expect((await erase(`gst_${'0'.repeat(32)}`, '?dryRun=true')).status).toBe(404)
  expect((await erase('nobody')).status).toBe(404)
})

test('erasing twice is harmless: the log says it once, and the second answer has the time of the first', async () => {
  const { guestId } = await booked()
  const { erasure } = (await erase(guestId)).body
  const again = (await erase(guestId)).body.erasure
  expect(again).toEqual({
    guestId,
    erasedAt: erasure.erasedAt,
    bookings: 0,
    upcoming: 0,
    withNotes: 0,
    withReference: 0,
    withReason: 0,
  })
  const [entries] = await service.database.sql`
    select count(*)::int as n from journal where kind = 'guest_erased' and agency_id = ${uuidOf(agency.id)}`
  expect(entries?.['n']).toBe(1)
  const { audit } = (await service.get(`${path}/audit`)).body
  expect(audit.slice(0, 2).map(({ route, outcome }: Record<string, string>) => [route, outcome])).toEqual(
    [1, 2].map(() => ['POST /portal/v1/agencies/{agencySlug}/guests/{guestId}/erase', 'OK']),
  )
  expect(audit.map(({ change }: { change: object | null }) => change)).toContainEqual({
    ...{ kind: 'guest_erased', guestId },
  })
})

test("an erasure is in the agency's feed, in no partner's, and fires no webhook", async () => {
  const { guestId } = await booked()
  const url = 'https://hooks.example.com/a'
  const events = ['booking.created', 'booking.updated', 'booking.cancelled', 'rates.updated', 'unit.updated']
  await service.ask(`${path}/webhook-endpoints`, { url, events })
  const partner = (await service.call('/changes', { key })).body.cursor
  const own = (await service.get(`${path}/changes`)).body.cursor
  await erase(guestId)
  const { changes } = (await service.get(`${path}/changes?after=${own}`)).body
  expect(changes).toEqual([
    {
      ...{
        cursor: expect.any(String),
        id: expect.any(String),
        seq: expect.any(Number),
        occurredAt: expect.any(String),
      },
      ...{ event: 'guest.erased', data: { guestId } },
    },
  ])
  expect((await service.call(`/changes?after=${partner}&include=rates,units`, { key })).body.changes).toEqual([])
  await makeDeliveries(service.database.url, service.ledger.epochOf(agency.id))
  expect(await service.database.sql`select from webhook_delivery where agency_id = ${uuidOf(agency.id)}`).toHaveLength(
    0,
  )
})

test('what is in memory of the newest changes is read again: their reference is gone', async () => {
  const { cursor } = (await service.call('/changes', { key })).body
  const { guestId } = await booked()
  const references = async () =>
    (await service.call(`/changes?after=${cursor}`, { key })).body.changes.map(
      ({ data }: { data: { sourceRef: string | null } }) => data.sourceRef,
    )
  expect(await references()).toEqual([TEXTS.sourceRef])
  await erase(guestId)
  expect(await references()).toEqual([null])
})

test('the tape has another entity tag once its guest is gone', async () => {
  const { guestId } = await booked()
  const tape = `${path}/tape?from=2030-01-01&to=2030-03-01`
  const etag = (await service.get(tape)).headers.get('etag') ?? ''
  await erase(guestId)
  const after = await service.ask(tape, undefined, { headers: { 'if-none-match': etag } })
  expect(after.status).toBe(200)
  expect(after.text).not.toContain('Reis')
})

test('kept answers lose the texts and are still replayed; one that shows the guest is gone with them', async () => {
  const book = { unit: units[0]?.slug, ...nextStay(), sourceRef: 'REIS "1"', guest: GUEST }
  const asKey = (idempotencyKey: string) => ({ key, headers: { 'idempotency-key': idempotencyKey } })
  const create = () => service.call('/bookings', { ...asKey('create'), json: book })
  const { booking } = (await create()).body
  const cancel = () => service.call(`/bookings/${booking.id}/cancel`, { ...asKey('cancel'), json: { reason: 'Reis' } })
  const cancelled = (await cancel()).body.booking
  const { guest } = (await service.get(`${path}/bookings/${booking.id}`)).body.booking
  const change = () =>
    service.ask(`${path}/guests/${guest.id}`, { phone: '2' }, { method: 'PATCH', headers: { 'idempotency-key': 'a' } })
  expect((await change()).status).toBe(200)
  const note = () =>
    service.ask(
      `${path}/bookings/${booking.id}/notes`,
      { notes: 'Ana Reis' },
      { method: 'PUT', headers: { 'idempotency-key': 'a' } },
    )
  expect((await note()).body.booking).toMatchObject({ notes: 'Ana Reis', sourceRef: 'REIS "1"' })
  const other = await booked({ guest: { ...GUEST, email: 'b@example.com' } })

  await erase(guest.id)
  expect(await tablesWith('REIS "')).toEqual([])
  expect(await tablesWith('REIS \\\\"')).toEqual([])
  expect((await create()).body.booking).toEqual({ ...booking, sourceRef: null })
  expect((await cancel()).body.booking).toEqual({ ...cancelled, sourceRef: null, cancelReason: null })
  expect((await note()).body.booking).toMatchObject({ notes: null, sourceRef: null })
  expect((await change()).status).toBe(404)
  expect((await bookingOf(other.id)).sourceRef).toBe(TEXTS.sourceRef)
})

test('an erasure is answered once per Idempotency-Key', async () => {
  const { guestId } = await booked()
  const first = await erase(guestId, '', { 'idempotency-key': 'e' })
  const second = await erase(guestId, '', { 'idempotency-key': 'e' })
  expect([second.status, second.text]).toEqual([200, first.text])
  expect((await service.get(`${path}/audit`)).body.audit[0].outcome).toBe('REPLAYED')
})

test('an erasure that was interrupted has taken the guest, and is completed by the next attempt', async () => {
  const { id, guestId } = await booked()
  await service.ledger.commands.eraseGuest(agency, { guestId, isErased: false }, CALLER)
  expect((await bookingOf(id)).guest).toBeNull()
  expect((await verifyDatabase(service.database.sql)).differences).toEqual([])
  expect(await tablesWith('reis')).toEqual(['booking'])
  expect((await erase(guestId)).body.erasure).toMatchObject({ bookings: 1, withNotes: 1 })
  expect(await tablesWith('reis')).toEqual([])
})

test('bookings, changes and an erasure of the same guest at one moment: each comes before or after, and nothing is left of what came before', async () => {
  for (let round = 0; round < 8; round++) {
    const { guestId } = await booked()
    const writes = [0, 1, 2, 3].map((i) =>
      service.ask(
        `${path}/bookings`,
        { unit: units[i % 2]?.slug, ...nextStay(), ...TEXTS, guest: GUEST },
        { headers: { 'idempotency-key': `r${round}-${i}` } },
      ),
    )
    const change = service.patch(`${path}/guests/${guestId}`, { lastName: 'Reis Sousa' })
    const answers = await Promise.all([erase(guestId), ...writes])
    expect(answers.map(({ status }) => status)).toEqual([200, 201, 201, 201, 201])
    expect([200, 404]).toContain((await change).status)
    const after = await Promise.all(answers.slice(1).map(({ body }) => bookingOf(body.booking.id)))
    for (const { guest, notes, sourceRef } of after) {
      expect(guest?.id).not.toBe(guestId)
      expect({ notes, sourceRef }).toEqual(guest === null ? { notes: null, sourceRef: null } : TEXTS)
    }
    expect((await service.get(`${path}/guests/${guestId}`)).status).toBe(404)
    const rest = (await service.get(`${path}/guests?search=reis`)).body.guests
    for (const { id } of rest) await erase(id)
    expect(await tablesWith('reis')).toEqual([])
  }
})

test('notes that are changed at the same moment: the change is refused if it is based on those that were erased', async () => {
  const { sql } = service.database
  const bookings = new PostgresAgencyBookings(sql, service.ledger.lists)
  for (const replaces of [TEXTS.notes, undefined]) {
    const { id, guestId } = await booked()
    const notes = new BookingNotes({
      bookings: {
        find: async (...params) => {
          const found = await bookings.find(...params)
          await erase(guestId)
          return found
        },
      },
      store: new PostgresAgencyStore(sql, (agencyId) => service.ledger.epochOf(agencyId)),
      onErased: () => {},
      clock: service.ledger.clock,
      newId: systemIds,
    })
    const outcome = await notes.set(agency, { bookingId: id, notes: 'Ana Reis likes coffee', replaces }, CALLER)
    const isBased = replaces !== undefined
    if (isBased) expect(outcome).toEqual({ kind: 'refused', refusal: { code: 'NOTES_CHANGED', notes: null } })
    else expect(outcome).toMatchObject({ kind: 'done', value: { guest: null, notes: 'Ana Reis likes coffee' } })
    expect(await tablesWith('reis')).toEqual(isBased ? [] : ['booking'])
  }
})

test('more bookings than one statement takes are erased too', async () => {
  const { id, guestId } = await booked()
  const { sql } = service.database
  await sql`
    insert into booking (total_amount, seq, created_at, updated_at, agency_id, booking_id, unit_id, guest_id, arrival, departure, adults,
                         children, version, extra_bed, type, status, source, notes)
    select total_amount, seq, created_at, updated_at, agency_id, gen_random_uuid(), unit_id, guest_id, date '2040-01-01' + i,
           date '2040-01-01' + i + 1, adults, children, 1, extra_bed, type, 'cancelled', source, 'Ana Reis'
    from booking, generate_series(1, 1200) i where booking_id = ${uuidOf(id)}`
  expect((await erase(guestId)).body.erasure.bookings).toBe(1_201)
  expect(await tablesWith('reis')).toEqual([])
  await sql`delete from booking where arrival > '2040-01-01'`
})
