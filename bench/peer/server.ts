/**
 * The SQL-first peer: Elysia and postgres.js, availability and booking as SQL, an exclusion constraint against selling twice,
 * one transaction per booking. Written to be fast at that: one statement per read, pipelined statements in the transaction,
 * prepared statements, a pool as large as was measured to be best. It prices with the ledger's own pricing code, and it
 * has no requests-per-minute limit and no quota, which is in its favour.
 */
import { Elysia, t } from 'elysia'
import postgres from 'postgres'
import { formatNight, type Night } from '../../src/core/domain/night.ts'
import { effectiveMinStay, priceStay } from '../../src/core/domain/pricing.ts'
import type { FeeType, UnitRules } from '../../src/core/domain/unit.ts'
import { decodeRates } from '../../src/core/journal/entry-codec.ts'
import type { Sql } from '../../src/postgres/client/connect.ts'
import { linesOf } from '../support/json-child.ts'
import { nightOf } from '../world/world.ts'
import {
  bookingById,
  bookingsPage,
  cancelBooking,
  guestsFound,
  insertBooking,
  staysOf,
  type UnitRow,
  unitsOfKey,
  unitWithStays,
} from './statements.ts'

const POOL = Number(process.env['PEER_POOL'] ?? 16)
const sql: Sql = postgres(process.env['DATABASE_URL'] ?? '', {
  max: POOL,
  idle_timeout: 0,
  max_lifetime: null,
  connection: { synchronous_commit: 'on', application_name: 'peer' },
})

const DATE = t.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$' })
const STAY = t.Object({
  unit: t.String({ minLength: 1 }),
  arrival: DATE,
  departure: DATE,
  adults: t.Optional(t.Integer({ minimum: 1, maximum: 20 })),
  sourceRef: t.Optional(t.String({ maxLength: 120 })),
})

/** Transactions wait here rather than in the pool, where postgres.js loses track of them when very many wait. */
const waiting: (() => void)[] = []
let running = 0
async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (running >= POOL) await new Promise<void>((resolve) => waiting.push(resolve))
  else running += 1
  try {
    return await work()
  } finally {
    const next = waiting.shift()
    if (next === undefined) running -= 1
    else next()
  }
}

const EXCLUSION_VIOLATION = '23P01'
const UNAUTHORIZED = problem(401, 'UNAUTHORIZED')
const NOT_FOUND = problem(404, 'NOT_FOUND')

const app = new Elysia({ serve: { development: false, reusePort: false } })
  .get(
    '/partner/v1/availability',
    async ({ query, request }) => {
      const { unit, from, to } = query
      const [row] = await staysOf(sql, hashOf(request), unit, from, to)
      if (row === undefined) return UNAUTHORIZED()
      if (row.unit_id === null) return NOT_FOUND()
      const blocked = blockedNights(row.stays, row.turnover_nights, nightOf(from), nightOf(to))
      return json({ unit, from, to, blockedNights: blocked.map(formatNight) })
    },
    { query: t.Object({ unit: t.String({ minLength: 1 }), from: DATE, to: DATE }) },
  )
  .post(
    '/partner/v1/quote',
    async ({ body, request }) => {
      const [row] = await unitWithStays(sql, hashOf(request), body.unit, body.arrival, body.departure)
      if (row === undefined) return UNAUTHORIZED()
      if (row.unit_id === null) return NOT_FOUND()
      const priced = price(row, body)
      if (priced === null) return problem(422, 'MIN_STAY')()
      const reasons = conflictsOf(row, body)
      const { quote } = priced
      return json({
        available: reasons.length === 0,
        instantBook: row.instant_book,
        currency: row.currency,
        reasons,
        quote: {
          ...quote,
          lines: quote.lines.map((line) => ({ ...line, from: dateOf(line.from), to: dateOf(line.to) })),
        },
      })
    },
    { body: STAY },
  )
  .get('/partner/v1/units', async ({ request }) => json({ units: await unitsOfKey(sql, hashOf(request)) }))
  .post(
    '/partner/v1/bookings',
    async ({ body, request }) => {
      const [row] = await unitWithStays(sql, hashOf(request), body.unit, body.arrival, body.departure)
      if (row === undefined) return UNAUTHORIZED()
      const unitId = row.unit_id
      if (unitId === null) return NOT_FOUND()
      const priced = price(row, body)
      if (priced === null) return problem(422, 'MIN_STAY')()
      const [conflict] = conflictsOf(row, body)
      if (conflict !== undefined) return problem(409, conflict)()
      const at = new Date().toISOString()
      const { arrival, departure, adults = 2, sourceRef = null } = body
      const totalAmount = priced.quote.total
      const booking = {
        id: newId('bkg'),
        unitSlug: body.unit,
        unitName: row.name,
        type: 'guest',
        status: 'confirmed',
        source: 'partner',
        arrival,
        departure,
        nights: nightOf(departure) - nightOf(arrival),
        adults,
        children: 0,
        totalAmount,
        sourceRef,
        createdAt: at,
        updatedAt: at,
        holdExpiresAt: null,
        cancelledAt: null,
        cancelReason: null,
      }
      const event = JSON.stringify({ event: 'booking.created', occurredAt: at, data: booking })
      try {
        await inTurn(() =>
          insertBooking(sql, {
            agencyId: row.agency_id,
            keyId: row.key_id,
            unitId,
            bookingId: booking.id,
            arrival,
            departure,
            adults,
            totalAmount,
            sourceRef,
            event,
            requestId: newId('req'),
          }),
        )
      } catch (error) {
        if ((error as { code?: string }).code === EXCLUSION_VIOLATION) return problem(409, 'BOOKING_CONFLICT')()
        throw error
      }
      return json({ booking }, 201)
    },
    { body: STAY },
  )
  .post(
    '/partner/v1/bookings/:id/cancel',
    async ({ params, body, request }) => {
      const [found] = await bookingById(sql, hashOf(request), params.id)
      if (found === undefined) return NOT_FOUND()
      const [key] = await sql`
        select agency_id, key_id from peer.api_key where secret_sha256 = ${hashOf(request)} and revoked_at is null`
      const at = new Date().toISOString()
      const reason = body.reason ?? null
      const booking = { ...found, status: 'cancelled', updatedAt: at, cancelledAt: at, cancelReason: reason }
      const event = JSON.stringify({ event: 'booking.cancelled', occurredAt: at, data: booking })
      await inTurn(() =>
        cancelBooking(sql, {
          agencyId: key?.['agency_id'],
          keyId: key?.['key_id'],
          bookingId: params.id,
          reason,
          event,
          requestId: newId('req'),
        }),
      )
      return json({ booking })
    },
    { body: t.Object({ reason: t.Optional(t.String()) }) },
  )
  .get('/partner/v1/bookings/:id', async ({ params, request }) => {
    const [booking] = await bookingById(sql, hashOf(request), params.id)
    return booking === undefined ? NOT_FOUND() : json({ booking })
  })
  .get(
    '/partner/v1/bookings',
    async ({ query, request }) => {
      const { page, pageSize } = query
      const rows = await bookingsPage(sql, hashOf(request), { offset: (page - 1) * pageSize, limit: pageSize })
      const total = rows[0]?.total ?? 0
      return json({ bookings: rows.map(({ total: _, ...booking }) => booking), page, pageSize, total })
    },
    { query: t.Object({ page: t.Numeric(), pageSize: t.Numeric() }) },
  )
  .get(
    '/partner/v1/guests',
    async ({ query, request }) => {
      const rows = await guestsFound(sql, hashOf(request), `%${query.search}%`, query.pageSize)
      const total = rows[0]?.['total'] ?? 0
      return json({ guests: rows.map(({ total: _, ...guest }) => guest), page: 1, pageSize: query.pageSize, total })
    },
    { query: t.Object({ search: t.String({ minLength: 2 }), pageSize: t.Numeric() }) },
  )
  .listen({ hostname: '127.0.0.1', port: 0 })

console.log(JSON.stringify({ url: `http://127.0.0.1:${app.server?.port}` }))
for await (const _ of linesOf(Bun.stdin.stream())) {
}
process.exit(0)

function hashOf(request: Request): string {
  const header = request.headers.get('authorization') ?? ''
  return Bun.SHA256.hash(header.slice('Bearer '.length), 'hex')
}

function rulesOf(row: UnitRow): UnitRules {
  return {
    basePrice: row.base_price,
    cleaningFee: row.cleaning_fee,
    extraBedFee: row.extra_bed_fee,
    minStay: row.min_stay,
    turnoverNights: row.turnover_nights,
    rates: decodeRates(row.rates),
  }
}

/** Null below the minimum stay. */
function price(row: UnitRow, { arrival, departure }: { arrival: string; departure: string }) {
  const stay = { arrival: nightOf(arrival), departure: nightOf(departure) }
  const rules = rulesOf(row)
  if (stay.departure - stay.arrival < effectiveMinStay(rules, stay.arrival)) return null
  const feeTypes = row.fees as unknown as FeeType[]
  return { quote: priceStay({ rules, stay, children: 0, extraBed: false, feeTypes, currency: row.currency }) }
}

function conflictsOf(row: UnitRow, { arrival, departure }: { arrival: string; departure: string }): string[] {
  const [from, to] = [nightOf(arrival), nightOf(departure)]
  const codes: string[] = []
  if (row.stays.some(([, left]) => left <= from && from < left + row.turnover_nights))
    codes.push('TURNOVER_BLOCK_CONFLICT')
  if (row.stays.some(([came, left]) => came < to && from < left)) codes.push('BOOKING_CONFLICT')
  return codes
}

function blockedNights(stays: [number, number][], turnover: number, from: Night, to: Night): Night[] {
  const blocked = new Set<number>()
  for (const [came, left] of stays)
    for (let night = Math.max(came, from); night < Math.min(left + turnover, to); night++) blocked.add(night)
  return [...blocked].sort((a, b) => a - b) as Night[]
}

function dateOf(night: Night | null): string | null {
  return night === null ? null : formatNight(night)
}

function newId(prefix: string): string {
  return `${prefix}_${Bun.randomUUIDv7().replaceAll('-', '')}`
}

function json(body: unknown, status = 200): Response {
  return new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json' } })
}

function problem(status: number, code: string): () => Response {
  return () => json({ code, title: code }, status)
}
