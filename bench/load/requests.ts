/** The requests of each kind of load: an endless sequence, the same in every run except for the nights that are sold. */
import { formatNight, type Night } from '../../src/core/domain/night.ts'
import { SeededRandom } from '../../src/lib/seeded-random.ts'
import { TEST_PORTAL_TOKEN } from '../../test/support/service-process.ts'
import { listedBookingIdOf, nightOf, SALES_PER_UNIT, saleOf, secretOf, slugOf, type WorldSize } from '../world/world.ts'
import type { Planned } from './http-client.ts'

export type Kind =
  | 'availability-31'
  | 'availability-366'
  | 'quote'
  | 'units'
  | 'booking'
  | 'bookings-page-1'
  | 'bookings-page-50'
  | 'guest-search'
  | 'create'
  | 'create-with-key'
  | 'create-cancel'
  | 'contended'
  | 'hold-confirm-cancel'
  | 'mix'
  | 'mcp'

export interface Asked {
  readonly kind: Kind
  readonly size: WorldSize
  /** Units that the load is spread over; all when left out. */
  readonly units?: number
  /** The number of the first night sold: what earlier runs have sold is sold. */
  readonly firstSale: number
}

interface Source {
  next(): Planned
  /** The next run's `firstSale`. */
  sold(): number
}

/** Prepared before the clock starts; more of them than fit a branch predictor or a cache of few. At least one for each unit. */
const PREPARED_MIN = 20_000
/** Of a contended load. */
const CONTENDED_UNITS = 10

export function sourceOf(given: Asked): Source {
  switch (given.kind) {
    case 'create':
    case 'create-with-key':
      return sales(given, unitsOf(given))
    case 'contended':
      return sales(given, CONTENDED_UNITS)
    case 'create-cancel':
      return salesAndCancels(given)
    case 'mix':
      return mix(given)
    case 'hold-confirm-cancel':
      return holds(given)
    default:
      return prepared(given, readerOf(given))
  }
}

type Place = (n: number) => { agency: number; unit: number }

function unitsOf({ size, units }: Asked): number {
  return units ?? size.agencies * size.unitsPerAgency
}

/** The `n`th unit: of another agency each time, so that keys and inventories are all in use. */
function placesOf(given: Asked): Place {
  const units = unitsOf(given)
  const agencies = Math.min(given.size.agencies, units)
  return (n) => ({ agency: n % agencies, unit: Math.floor((n % units) / agencies) % given.size.unitsPerAgency })
}

function readerOf(given: Asked): (n: number) => Planned {
  const place = placesOf(given)
  const random = new SeededRandom(7)
  switch (given.kind) {
    case 'availability-31':
      return (n) => availability(place(n), random.below(300), 31)
    case 'availability-366':
      return (n) => availability(place(n), random.below(30), 366)
    case 'quote':
      return (n) => quote(place(n), random)
    case 'units':
      return (n) => get(n % given.size.agencies, '/partner/v1/units')
    case 'booking':
      return () => get(0, `/partner/v1/bookings/${listedBookingIdOf(random.below(given.size.bookingsOfFirst))}`)
    case 'bookings-page-1':
      return () => get(0, '/partner/v1/bookings?page=1&pageSize=50')
    case 'bookings-page-50':
      return () => get(0, '/partner/v1/bookings?page=50&pageSize=50')
    case 'guest-search':
      return (n) =>
        get(0, `/partner/v1/guests?search=${['reis', 'silva', 'guest77', '+3519', 'ana'][n % 5]}&pageSize=20`)
    case 'mcp':
      return (n) => mcp(place(n), random.below(300))
    default:
      throw new Error(`Cannot make requests: ${given.kind} is not a kind of read`)
  }
}

function prepared(given: Asked, plan: (n: number) => Planned): Source {
  const { firstSale } = given
  const requests = Array.from({ length: Math.max(PREPARED_MIN, unitsOf(given)) }, (_, n) => plan(n))
  let n = 0
  return { next: () => requests[n++ % requests.length] as Planned, sold: () => firstSale }
}

function availability({ agency, unit }: ReturnType<Place>, offset: number, days: number): Planned {
  const from = (nightOf('2026-12-01') + offset) as Night
  const to = formatNight((from + days) as Night)
  return get(agency, `/partner/v1/availability?unit=${slugOf(unit)}&from=${formatNight(from)}&to=${to}`)
}

function quote({ agency, unit }: ReturnType<Place>, random: SeededRandom): Planned {
  const arrival = (nightOf('2026-12-01') + random.below(500)) as Night
  const departure = formatNight((arrival + 2 + random.below(12)) as Night)
  return post(
    agency,
    '/partner/v1/quote',
    { unit: slugOf(unit), arrival: formatNight(arrival), departure, adults: 2 },
    200,
  )
}

function mcp({ agency, unit }: ReturnType<Place>, offset: number): Planned {
  const from = (nightOf('2026-12-01') + offset) as Night
  const dates = { unit: slugOf(unit), from: formatNight(from), to: formatNight((from + 31) as Night) }
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'get_availability', arguments: dates } }
  const accept = 'accept: application/json, text/event-stream\r\nmcp-protocol-version: 2025-11-25\r\n'
  return post(agency, '/mcp', call, 200, accept)
}

function sales(given: Asked, units: number): Source {
  const sell = salesmanOf(given, units)
  let n = given.firstSale
  return { next: () => sell(n++), sold: () => n }
}

/** Every second request cancels what an earlier one of them has booked. */
function salesAndCancels(given: Asked): Source {
  const sell = salesmanOf(given, unitsOf(given))
  const booked: { agency: number; id: string }[] = []
  let n = given.firstSale
  let turn = 0
  return {
    sold: () => n,
    next: () => {
      const done = turn++ % 2 === 0 ? undefined : booked.shift()
      if (done !== undefined)
        return post(done.agency, `/partner/v1/bookings/${done.id}/cancel`, { reason: 'bench' }, 200)
      const sale = n++
      const agency = sale % Math.min(given.size.agencies, unitsOf(given))
      const onAnswer = (body: string) => {
        booked.push({ agency, id: bookingIdIn(body) })
        return undefined
      }
      return { ...sell(sale), onAnswer }
    },
  }
}

/** Flows of three requests: a partner holds nights, the agency confirms them in its portal, the partner cancels. */
function holds(given: Asked): Source {
  const units = unitsOf(given)
  const sell = salesmanOf(given, units, { status: 'option' })
  const place = placesOf(given)
  let n = given.firstSale
  return {
    sold: () => n,
    next: () => {
      const sale = n++
      const { agency } = place(sale)
      const onAnswer = (body: string) => {
        const id = bookingIdIn(body)
        const cancel = post(agency, `/partner/v1/bookings/${id}/cancel`, { reason: 'bench' }, 200)
        return { ...confirm(agency, id), onAnswer: () => cancel }
      }
      return { ...sell(sale), onAnswer }
    },
  }
}

function bookingIdIn(body: string): string {
  return /bkg_[0-9a-f]+/.exec(body)?.[0] ?? ''
}

function salesmanOf(given: Asked, units: number, more: object = {}): (n: number) => Planned {
  const place = placesOf({ ...given, units })
  return (n) => {
    const round = Math.floor(n / units)
    if (round >= SALES_PER_UNIT) throw new Error('Cannot sell: every night is sold')
    const { agency, unit } = place(n)
    const stay = saleOf(round)
    const key = given.kind === 'create-with-key' ? `idempotency-key: B-${n}\r\n` : ''
    const body = { unit: slugOf(unit), ...stay, adults: 2, sourceRef: `B-${n}`, ...more }
    return post(agency, '/partner/v1/bookings', body, 201, key)
  }
}

/** 90 reads, 9 quotes, 1 booking of every hundred. */
function mix(given: Asked): Source {
  const reads = prepared(given, readerOf({ ...given, kind: 'availability-31' }))
  const quotes = prepared(given, readerOf({ ...given, kind: 'quote' }))
  const bookings = sales(given, unitsOf(given))
  let n = 0
  return {
    sold: bookings.sold,
    next: () => {
      const of100 = (n++ * 37) % 100
      return of100 === 0 ? bookings.next() : of100 < 10 ? quotes.next() : reads.next()
    },
  }
}

function get(agency: number, path: string): Planned {
  return { status: 200, bytes: Buffer.from(`GET ${path} HTTP/1.1\r\n${commonOf(secretOf(agency))}\r\n`) }
}

function post(agency: number, path: string, body: unknown, status: number, more = ''): Planned {
  const text = JSON.stringify(body)
  const head = `POST ${path} HTTP/1.1\r\n${commonOf(secretOf(agency))}content-type: application/json\r\n${more}`
  return { status, bytes: Buffer.from(`${head}content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`) }
}

/** By the operator, who has no limit. */
function confirm(agency: number, id: string): Planned {
  const text = JSON.stringify({ status: 'confirmed' })
  const path = `/portal/v1/agencies/agency-${agency}/bookings/${id}`
  const head = `PATCH ${path} HTTP/1.1\r\n${commonOf(TEST_PORTAL_TOKEN)}content-type: application/json\r\n`
  return { status: 200, bytes: Buffer.from(`${head}content-length: ${text.length}\r\n\r\n${text}`) }
}

function commonOf(secret: string): string {
  return `host: 127.0.0.1\r\nauthorization: Bearer ${secret}\r\n`
}
