import { expect } from 'bun:test'
import { addNights, formatNight } from '../../src/core/domain/night.ts'
import { idOf, sha256Hex, uuidOf } from '../../src/lib/ids.ts'
import { SeededRandom } from '../../src/lib/seeded-random.ts'
import type { Sql } from '../../src/postgres/client/connect.ts'
import { makeKey } from './fixtures.ts'
import { type HttpCall, requestOf } from './http-call.ts'
import { addAgency, addUnit, openTestDatabaseLedger } from './open-ledger.ts'
import { AGENCY, AMPLE_PLAN, night, sampleId, sampleUnit } from './samples.ts'
import { verifyDatabase } from './verify-database.ts'

/** Agencies of three shards, so that batches carry entries of several. The first is the one that tests ask about. */
const AGENCIES = ['k', 'l', 'm'].map((letter, i) => ({
  id: i === 0 ? AGENCY.id : sampleId('agc', letter),
  slug: i === 0 ? AGENCY.slug : `${AGENCY.slug}-${letter}`,
  secret: `hr_live_${letter.repeat(40)}`,
}))
export const LOAD_AGENCY_IDS: readonly string[] = AGENCIES.map(({ id }) => id)
/** Of the first agency's key. */
export const LOAD_SECRET = secretOf(0)
const FIRST = night('2027-01-01')
const ARRIVALS = 20_000

/** Of each agency. */
export const LOAD_UNITS = 12

function secretOf(agency: number): string {
  return AGENCIES[agency]?.secret ?? ''
}

function unitId(agency: number, unit: number): string {
  return sampleId('unt', agency * LOAD_UNITS + unit)
}

/** Agencies with units and a key, for `Load`. */
export async function prepareForLoad(databaseUrl: string): Promise<void> {
  const ledger = await openTestDatabaseLedger(databaseUrl)
  const scopes = ['write:bookings', 'read:availability', 'read:bookings', 'read:units'] as const
  for (const [i, { id, slug, secret }] of AGENCIES.entries()) {
    const agency = await addAgency(ledger, { id, slug, plan: AMPLE_PLAN })
    for (let unit = 0; unit < LOAD_UNITS; unit++)
      await addUnit(ledger, agency, sampleUnit({ id: unitId(i, unit), slug: `unit-${unit}` }))
    const made = { secret, prefix: secret.slice(0, 12), sha256: sha256Hex(secret) }
    await makeKey(ledger, agency, { id: sampleId('key', `load ${i}`), scopes }, made)
  }
  await ledger.close()
}

/** What the clients wish for can be repeated; how the answers interleave cannot. */
const SEED = Number(process.env['LOAD_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
const dice = new SeededRandom(SEED)
let isSeedTold = false

function someStay(): BookedStay {
  const arrival = addNights(FIRST, dice.int(0, ARRIVALS - 1))
  return {
    agency: dice.int(0, AGENCIES.length - 1),
    unit: `unit-${dice.int(0, LOAD_UNITS - 1)}`,
    arrival: formatNight(arrival),
    departure: formatNight(addNights(arrival, dice.int(1, 4))),
  }
}

interface BookedStay {
  readonly agency: number
  readonly unit: string
  readonly arrival: string
  readonly departure: string
}

/** Clients that book and cancel without pause, and remember what they were told. */
export class Load {
  readonly booked = new Map<string, BookedStay>()
  readonly cancelled = new Set<string>()
  /** Answers by status, the body's code appended where it is an error. */
  readonly answers = new Map<string, number>()
  /** Requests that got no answer: nothing is claimed about them. */
  unanswered = 0
  readonly #baseUrl: () => string
  #clients: Promise<void>[] = []
  #isStopping = false

  /** @param baseUrl asked again for every request */
  constructor(baseUrl: () => string) {
    this.#baseUrl = baseUrl
    if (!isSeedTold) console.log(`LOAD_SEED=${SEED}`)
    isSeedTold = true
  }

  start(clients: number): void {
    this.#isStopping = false
    this.#clients = Array.from({ length: clients }, () => this.#run())
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all(this.#clients)
  }

  /** For the first agency, unless told otherwise. */
  post(path: string, body: unknown, headers: Record<string, string> = {}, agency = 0): Promise<Response> {
    return this.#fetch(path, { token: secretOf(agency), headers, json: body })
  }

  get(path: string, agency = 0): Promise<Response> {
    return this.#fetch(path, { token: secretOf(agency) })
  }

  #fetch(path: string, call: HttpCall): Promise<Response> {
    return fetch(`${this.#baseUrl()}/partner/v1${path}`, requestOf(call))
  }

  /** Requests to book and to read, as they go over the wire. */
  rawRequests(count: number): string[] {
    return Array.from({ length: count }, (_, i) => {
      const { agency, unit, arrival, departure } = someStay()
      const head = (line: string) => `${line} HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer ${secretOf(agency)}\r\n`
      const query = `unit=${unit}&from=${arrival}&to=${departure}`
      if (i % 3 === 0) return `${head(`GET /partner/v1/availability?${query}`)}\r\n`
      const body = JSON.stringify({ unit, arrival, departure })
      const type = 'Content-Type: application/json'
      return `${head('POST /partner/v1/bookings')}${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    })
  }

  /** One attempt to book a stay chosen at random. */
  async bookOnce(): Promise<string | null> {
    const { agency, ...stay } = someStay()
    const answer = await this.#answerOf(await this.post('/bookings', stay, {}, agency))
    if (answer === null) return null
    this.booked.set(answer.id, { agency, ...stay })
    return answer.id
  }

  /** Tries stays chosen at random until one is free. @throws Error when there is no answer, or twenty refusals in a row */
  async book(): Promise<string> {
    for (let attempt = 0; attempt < 20; attempt++) {
      const id = await this.bookOnce()
      if (id !== null) return id
    }
    throw new Error(`Cannot book: twenty refusals in a row, ${JSON.stringify([...this.answers])}`)
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      try {
        const id = await this.bookOnce()
        if (id === null || dice.chance(0.7)) continue
        const response = await this.post(`/bookings/${id}/cancel`, {}, {}, this.booked.get(id)?.agency)
        if ((await this.#answerOf(response)) !== null) this.cancelled.add(id)
      } catch {
        this.unanswered += 1
        await Bun.sleep(5)
      }
    }
  }

  async #answerOf(response: Response): Promise<{ id: string } | null> {
    const body = (await response.json()) as { booking?: { id: string }; code?: string }
    const kind = body.code === undefined ? String(response.status) : `${response.status} ${body.code}`
    this.answers.set(kind, (this.answers.get(kind) ?? 0) + 1)
    return body.booking ?? null
  }
}

/** What was acknowledged is there. */
export async function expectAcknowledged(sql: Sql, load: Load): Promise<void> {
  const rows = await sql<{ id: string; status: string; arrival: string }[]>`
    select booking_id as id, status, arrival::text from booking`
  const byId = new Map(rows.map((row) => [idOf('bkg', row.id), row]))
  expect([...load.booked].filter(([id, stay]) => byId.get(id)?.arrival !== stay.arrival)).toEqual([])
  expect([...load.cancelled].filter((id) => byId.get(id)?.status !== 'cancelled')).toEqual([])
}

/**
 * The oracle of every fault test: what was acknowledged is there, once; the journal has no gap; rows, events, audit and
 * snapshots are what it says; no night is sold twice.
 */
export async function expectNothingLost(sql: Sql, load: Load): Promise<void> {
  await expectAcknowledged(sql, load)
  const twice = await sql`
    select a.booking_id, b.booking_id from booking a join booking b
      on a.unit_id = b.unit_id and a.booking_id < b.booking_id
     and daterange(a.arrival, a.departure) && daterange(b.arrival, b.departure)
    where a.status <> 'cancelled' and b.status <> 'cancelled'`
  expect([...twice]).toEqual([])
  expect((await verifyDatabase(sql)).differences).toEqual([])
}

/** The nights that the service answers from memory are those of the rows. */
export async function expectCalendarOfRows(sql: Sql, load: Load): Promise<void> {
  for (let i = 0; i < AGENCIES.length * LOAD_UNITS; i++) {
    const [agency, unit] = [Math.floor(i / LOAD_UNITS), i % LOAD_UNITS]
    const response = await load.get(`/availability?unit=unit-${unit}&from=2030-01-01&to=2031-01-02`, agency)
    const body = (await response.json()) as { blockedNights: string[] }
    // Anything else says in the body why.
    expect({ status: response.status, body }).toMatchObject({ status: 200 })
    const { blockedNights } = body
    const nights = await sql`
      select n::date::text as night from booking, generate_series(arrival, departure - 1, interval '1 day') n
      where unit_id = ${uuidOf(unitId(agency, unit))} and status <> 'cancelled' and n >= '2030-01-01' and n < '2031-01-02' order by 1`
    expect(blockedNights).toEqual(nights.map((row) => row['night']))
  }
}
