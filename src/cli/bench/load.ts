/** The requests of a load test: reads of the key's own units, or bookings in a sandbox, which it cancels. */
import { addNights, asNight, formatNight, type Night, parseNight } from '../../core/domain/night.ts'
import { DAY_MS } from '../../lib/clock.ts'
import type { SeededRandom } from '../../lib/seeded-random.ts'
import { CliError, EXIT } from '../exit-codes.ts'
import { isFinal, type PartnerClient } from '../partner-client.ts'
import { type Json, queryOf } from '../portal-client.ts'

export interface LoadRequest {
  readonly operation: string
  readonly method: 'GET' | 'POST'
  /** Begins after `/partner/v1`. */
  readonly path: string
  readonly body?: Json
  readonly idempotencyKey?: string
  /** Called once, with the response. @param answer null: the outcome is unknown */
  settled?(answer: { readonly status: number; readonly text: string } | null): void
}

export interface Load {
  /** Method and path of each operation, by name. */
  readonly operations: Readonly<Record<string, string>>
  /** Operations that the key has no scope for. */
  readonly leftOut: readonly string[]
  /** Null: no request is left. */
  next(): LoadRequest | null
  /** Cancels what was booked. Null for loads that book nothing. */
  readonly cleanUp: ((client: Pick<PartnerClient, 'post'>, report: (left: number) => void) => Promise<Cleanup>) | null
}

export interface Cleanup {
  readonly booked: number
  readonly cancelled: number
  /** Bookings that still block nights, or references of requests with an unknown outcome. */
  readonly left: readonly string[]
}

interface Unit {
  readonly slug: string
  readonly minStay: number
}

interface Read {
  readonly wire: string
  readonly scope: string
  /** Percentage of requests. */
  readonly share: number
  request(unit: Unit, today: Night, random: SeededRandom): Omit<LoadRequest, 'operation'>
}

/** The requests of a website: a calendar for each month viewed, a quote for a stay, now and then a unit or a search. */
const READS: Readonly<Record<string, Read>> = {
  availability: {
    wire: 'GET /availability, 31 nights',
    scope: 'read:availability',
    share: 60,
    request: ({ slug }, today, random) => {
      const from = addNights(today, random.below(330))
      return {
        method: 'GET',
        path: `/availability${queryOf({ unit: slug, from: formatNight(from), to: formatNight(addNights(from, 31)) })}`,
      }
    },
  },
  quote: {
    wire: 'POST /quote, 2 to 10 nights',
    scope: 'read:rates',
    share: 25,
    request: ({ slug, minStay }, today, random) => {
      // Most stays are in the near future.
      const arrival = addNights(today, 1 + Math.floor(300 * random.next() ** 2))
      const departure = addNights(arrival, Math.max(minStay, random.int(2, 10)))
      return {
        method: 'POST',
        path: '/quote',
        body: { unit: slug, arrival: formatNight(arrival), departure: formatNight(departure) },
      }
    },
  },
  unit: {
    wire: 'GET /units/{slug}',
    scope: 'read:units',
    share: 10,
    request: ({ slug }) => ({ method: 'GET', path: `/units/${encodeURIComponent(slug)}` }),
  },
  search: {
    wire: 'GET /search, 31 days',
    scope: 'read:rates',
    share: 5,
    request: (_, today, random) => {
      const from = addNights(today, 1 + random.below(240))
      const to = addNights(from, 31)
      return {
        method: 'GET',
        path: `/search${queryOf({ from: formatNight(from), to: formatNight(to), nights: random.int(3, 7), pageSize: 20 })}`,
      }
    },
  },
}

/** Of a stay. */
const NIGHTS_MAX = 366

/** @throws CliError naming what the key or the agency lacks */
export async function openReads(
  client: Pick<PartnerClient, 'get'>,
  scopes: readonly string[],
  random: SeededRandom,
  today: Night,
): Promise<Load> {
  requireScopes(scopes, ['read:units'])
  const sellable = listIn(await client.get('/units'), 'units')
    .filter(({ status }) => status !== 'draft')
    .map(({ slug, minStay }) => ({ slug: String(slug), minStay: Math.min(Number(minStay) || 1, NIGHTS_MAX) }))
  if (sellable.length === 0) throw new CliError('Cannot run: the agency has no unit that can be booked.')
  const allowed = Object.entries(READS).filter(([, { scope }]) => scopes.includes(scope))
  const deck = allowed.flatMap(([operation, { share }]) => Array.from({ length: share }, () => operation))
  return {
    operations: Object.fromEntries(allowed.map(([operation, { wire }]) => [operation, wire])),
    leftOut: Object.entries(READS)
      .filter(([, { scope }]) => !scopes.includes(scope))
      .map(([operation, { scope }]) => `${operation} (${scope})`),
    next: () => {
      const operation = random.pick(deck)
      return { operation, ...(READS[operation] as Read).request(random.pick(sellable), today, random) }
    },
    cleanUp: null,
  }
}

interface Slot {
  readonly unit: string
  readonly arrival: string
  readonly departure: string
}

interface Uncertain {
  readonly idempotencyKey: string
  readonly body: Json
}

/** A search looks at three months. Longer stays where a minimum stay asks for them. */
const WINDOW_DAYS = 90
const NIGHTS = [3, 7, 14, 1]
const PAGES_MAX = 5
const PAGE_SIZE = 200
/** Between two stays in a unit: enough for the cleaning after the first. */
const GAP_DAYS = 3

/** @param reference of each booking, so that the agency can find them */
export async function openBookings(
  client: Pick<PartnerClient, 'get'>,
  scopes: readonly string[],
  reference: string,
  today: Night,
): Promise<BookingLoad> {
  requireScopes(scopes, ['read:rates', 'write:bookings'])
  for (const nights of NIGHTS) {
    const slots = apart(await freeStays(client, today, nights))
    if (slots.length > 1) return new BookingLoad(slots, reference)
  }
  throw new CliError(
    'Cannot run: no stay is free in the sandbox within three months. Cancel bookings, or reset the sandbox.',
  )
}

async function freeStays(client: Pick<PartnerClient, 'get'>, today: Night, nights: number): Promise<Slot[]> {
  const from = addNights(today, 2)
  const window = { from: formatNight(from), to: formatNight(addNights(from, WINDOW_DAYS)), nights }
  const found: Slot[] = []
  for (let page = 1; page <= PAGES_MAX; page++) {
    const query = queryOf({ ...window, each: 'stay', sort: 'arrival', page, pageSize: PAGE_SIZE })
    const answer = await client.get(`/search${query}`)
    for (const { unit, arrival, departure } of listIn(answer, 'offers'))
      found.push({ unit: String(unit), arrival: String(arrival), departure: String(departure) })
    if (page >= Number(answer['pageCount'])) break
  }
  return found
}

/** Stays that can all be booked, in any order. @param stays by arrival */
export function apart(stays: readonly Slot[]): Slot[] {
  const freeFrom = new Map<string, number>()
  return stays.filter(({ unit, arrival, departure }) => {
    const [from, to] = [parseNight(arrival) ?? 0, parseNight(departure) ?? 0]
    if (from < (freeFrom.get(unit) ?? 0)) return false
    freeFrom.set(unit, to + GAP_DAYS)
    return true
  })
}

/** Books every stay, alternately confirmed and as an option, and cancels it soon afterwards, so that its nights can be sold again. */
export class BookingLoad implements Load {
  readonly operations = {
    book: 'POST /bookings, confirmed',
    hold: 'POST /bookings, option',
    cancel: 'POST /bookings/{id}/cancel',
  }
  readonly leftOut = []
  readonly cleanUp = (client: Pick<PartnerClient, 'post'>, report: (left: number) => void) => this.#undo(client, report)
  readonly #slots: Slot[]
  readonly #reference: string
  /** To be cancelled. */
  readonly #booked: { id: string; slot: Slot }[] = []
  /** May have been booked. */
  readonly #uncertain: Uncertain[] = []
  #turn = 0
  #bookedCount = 0
  #cancelledCount = 0

  constructor(slots: readonly Slot[], reference: string) {
    this.#slots = [...slots]
    this.#reference = reference
  }

  /** The number of concurrent requests for which stays always suffice: each may have one in flight and one waiting to be cancelled. */
  get connectionsMax(): number {
    return Math.floor(this.#slots.length / 2)
  }

  next(): LoadRequest | null {
    const booked = this.#booked.shift()
    if (booked !== undefined) return this.#cancel(booked)
    const slot = this.#slots.shift()
    return slot === undefined ? null : this.#create(slot)
  }

  #create(slot: Slot): LoadRequest {
    const isHold = this.#turn++ % 2 === 1
    const hold = isHold ? { status: 'option', holdHours: 1 } : {}
    const body = { ...slot, ...hold, sourceRef: this.#reference }
    const idempotencyKey = crypto.randomUUID()
    return {
      operation: isHold ? 'hold' : 'book',
      method: 'POST',
      path: '/bookings',
      body,
      idempotencyKey,
      settled: (answer) => {
        const id = answer?.status === 201 ? bookingIn(jsonIn(answer.text)) : null
        if (id !== null) {
          this.#bookedCount += 1
          this.#booked.push({ id, slot })
        } else if (answer !== null && answer.status >= 400 && answer.status < 500) this.#slots.push(slot)
        else this.#uncertain.push({ idempotencyKey, body })
      },
    }
  }

  #cancel(booked: { id: string; slot: Slot }): LoadRequest {
    return {
      operation: 'cancel',
      method: 'POST',
      path: `/bookings/${encodeURIComponent(booked.id)}/cancel`,
      body: { reason: this.#reference },
      idempotencyKey: crypto.randomUUID(),
      settled: (answer) => {
        if (answer?.status !== 200) {
          this.#booked.push(booked)
          return
        }
        this.#cancelledCount += 1
        this.#slots.push(booked.slot)
      },
    }
  }

  /** Retries a request whose outcome is unknown with its Idempotency-Key: the response is the stored one, or it is carried out now. */
  async #undo(client: Pick<PartnerClient, 'post'>, report: (left: number) => void): Promise<Cleanup> {
    const left: string[] = []
    const patient = new PatientSender()
    const toCancel = this.#booked.splice(0).map(({ id }) => id)
    const uncertain = this.#uncertain.splice(0)
    for (const [i, { idempotencyKey, body }] of uncertain.entries()) {
      report(uncertain.length - i + toCancel.length)
      const outcome = await patient.send(() => client.post('/bookings', body, idempotencyKey))
      if (outcome === 'refused') continue
      const id = outcome === 'unknown' ? null : bookingIn(outcome)
      if (id === null) {
        left.push(`${body['unit']} from ${body['arrival']}, perhaps`)
        continue
      }
      this.#bookedCount += 1
      toCancel.push(id)
    }
    for (const [i, id] of toCancel.entries()) {
      report(toCancel.length - i)
      const outcome = await patient.send(() => client.post(`/bookings/${encodeURIComponent(id)}/cancel`, {}))
      if (typeof outcome === 'object') this.#cancelledCount += 1
      else left.push(id)
    }
    return { booked: this.#bookedCount, cancelled: this.#cancelledCount, left }
  }
}

/** Together longer than the rolling minute of the rate limit. */
const PAUSES_S = [1, 5, 15, 45] as const

/** Waits for a limit or a failure to pass, once for all requests, so that a dead service is not waited for at each of them. */
class PatientSender {
  readonly #pausesS: number[] = [...PAUSES_S]
  #hasGivenUp = false

  async send(request: () => Promise<Json>): Promise<Json | 'refused' | 'unknown'> {
    while (!this.#hasGivenUp) {
      try {
        return await request()
      } catch (error) {
        if (!(error instanceof CliError)) throw error
        if (isFinal(error)) return 'refused'
        const pauseS = this.#pausesS.shift()
        if (pauseS === undefined) this.#hasGivenUp = true
        else await Bun.sleep(pauseS * 1_000)
      }
    }
    return 'unknown'
  }
}

function bookingIn(answer: Json | null): string | null {
  const id = (answer?.['booking'] as Json | null | undefined)?.['id']
  return typeof id === 'string' ? id : null
}

function jsonIn(text: string): Json | null {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** @throws CliError when the answer has no such list */
function listIn(answer: Json, member: string): Json[] {
  const list = answer[member]
  if (!Array.isArray(list))
    throw new CliError(`Cannot read the response: it has no list of ${member}. Is it nightledger?`)
  return list
}

/** @throws CliError naming the scopes that are missing */
function requireScopes(scopes: readonly string[], needed: readonly string[]): void {
  const missing = needed.filter((scope) => !scopes.includes(scope))
  if (missing.length > 0)
    throw new CliError(
      `Cannot run: the key lacks the scope ${missing.join(' and ')}. Use a key that has it.`,
      EXIT.refused,
    )
}

/** The agency's date: a sandbox has its own clock. */
export async function todayOf(
  client: Pick<PartnerClient, 'get'>,
  scopes: readonly string[],
  { isSandbox }: { isSandbox: boolean },
): Promise<Night> {
  const hasClock = isSandbox && scopes.includes('read:availability')
  const now = hasClock ? Date.parse(String((await client.get('/test/clock'))['now'])) : Date.now()
  return asNight(Math.floor(now / DAY_MS))
}
