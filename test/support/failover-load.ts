import { expect } from 'bun:test'
import { addNights, formatNight } from '../../src/core/domain/night.ts'
import type { Sql } from '../../src/postgres/client/connect.ts'
import { LOAD_AGENCY_IDS, LOAD_UNITS, Load } from './load.ts'
import { night } from './samples.ts'

const FIRST = night('2027-01-01')
const NIGHTS = 20_000

/** `made`: acknowledged. `refused`: said not to have been made, and not asked again. `open`: nothing is claimed. */
type Outcome = 'made' | 'refused' | 'open'

/**
 * Clients that book with an `Idempotency-Key`, each booking under a reference of its own. An unknown outcome is asked for again with the
 * same key, as a client does; a refusal is taken for what it says.
 */
export class FailoverLoad {
  readonly outcomes = new Map<string, Outcome>()
  /** Every answer by its status, and `none` for requests without one. */
  readonly answers = new Map<number | 'none', number>()
  made = 0
  /** When the last booking was acknowledged, and the longest time without one since `watchGap`; milliseconds. */
  #lastAt = performance.now()
  #gapMs = 0
  readonly #load: Load
  /** Begins every reference of its bookings. */
  readonly run = crypto.randomUUID().slice(0, 8)
  #clients: Promise<void>[] = []
  #isStopping = false

  constructor(baseUrl: () => string) {
    this.#load = new Load(baseUrl)
  }

  start(clients: number): void {
    this.#isStopping = false
    const from = this.outcomes.size
    this.#clients = Array.from({ length: clients }, (_, client) => this.#book(`${this.run}-${from}-${client}`))
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all(this.#clients)
  }

  watchGap(): void {
    this.#lastAt = performance.now()
    this.#gapMs = 0
  }

  /** The longest time without an acknowledgement, up to now. */
  get gapMs(): number {
    return Math.max(this.#gapMs, performance.now() - this.#lastAt)
  }

  /** Returns when this many more bookings were acknowledged. */
  async more(count: number, withinMs = 60_000): Promise<void> {
    const [until, deadline] = [this.made + count, performance.now() + withinMs]
    while (this.made < until) {
      if (performance.now() > deadline) throw new Error(`Only ${this.made - until + count} bookings in ${withinMs} ms`)
      await Bun.sleep(5)
    }
  }

  async #book(client: string): Promise<void> {
    for (let i = 0; !this.#isStopping; i++) {
      const sourceRef = `${client}-${i}`
      const arrival = addNights(FIRST, Math.floor(Math.random() * NIGHTS))
      const agency = Math.floor(Math.random() * LOAD_AGENCY_IDS.length)
      const unit = `unit-${Math.floor(Math.random() * LOAD_UNITS)}`
      const stay = { unit, arrival: formatNight(arrival), departure: formatNight(addNights(arrival, 2)), sourceRef }
      this.outcomes.set(sourceRef, 'open')
      let outcome: Outcome = 'open'
      while (outcome === 'open' && !this.#isStopping) {
        outcome = await this.#ask(stay, agency).catch(() => {
          this.#count('none')
          return 'open' as const
        })
        if (outcome === 'open') await Bun.sleep(20)
      }
      this.outcomes.set(sourceRef, outcome)
    }
  }

  async #ask(stay: { sourceRef: string }, agency: number): Promise<Outcome> {
    const response = await this.#load.post('/bookings', stay, { 'idempotency-key': stay.sourceRef }, agency)
    const body = (await response.json()) as { title?: string }
    this.#count(response.status)
    if (response.status === 201) {
      this.#noteMade()
      return 'made'
    }
    if (response.status === 503) return 'open'
    return response.status < 500 || body.title?.includes('othing was changed') ? 'refused' : 'open'
  }

  #count(status: number | 'none'): void {
    this.answers.set(status, (this.answers.get(status) ?? 0) + 1)
  }

  #noteMade(): void {
    this.made += 1
    const now = performance.now()
    this.#gapMs = Math.max(this.#gapMs, now - this.#lastAt)
    this.#lastAt = now
  }
}

/** `201: 11472, 409: 284`. */
export function answersText({ answers }: FailoverLoad): string {
  return [...answers]
    .toSorted(([a], [b]) => String(a).localeCompare(String(b)))
    .map(([status, count]) => `${status}: ${count}`)
    .join(', ')
}

/** Of what the clients were told, what is not so. */
async function countLies(sql: Sql, load: FailoverLoad) {
  const rows = await sql<{ ref: string }[]>`
    select source_ref as ref from booking where starts_with(source_ref, ${load.run})`
  const present = new Set(rows.map(({ ref }) => ref))
  const reported = [...load.outcomes]
  const twice = await sql`
    select from booking a join booking b
      on a.unit_id = b.unit_id and a.booking_id < b.booking_id
     and daterange(a.arrival, a.departure) && daterange(b.arrival, b.departure)
    where a.status <> 'cancelled' and b.status <> 'cancelled'`
  return {
    acknowledged: reported.filter(([, outcome]) => outcome === 'made').length,
    refused: reported.filter(([, outcome]) => outcome === 'refused').length,
    acknowledgedAndLost: reported.filter(([ref, outcome]) => outcome === 'made' && !present.has(ref)).length,
    refusedAndPresent: reported.filter(([ref, outcome]) => outcome === 'refused' && present.has(ref)).length,
    madeTwice: rows.length - present.size,
    soldTwice: twice.length,
  }
}

export async function expectNoLies(sql: Sql, load: FailoverLoad): Promise<string> {
  const counts = await countLies(sql, load)
  expect(counts).toMatchObject({ acknowledgedAndLost: 0, refusedAndPresent: 0, madeTwice: 0, soldTwice: 0 })
  const { acknowledged, refused } = counts
  return `${acknowledged} acknowledged, 0 lost; ${refused} refused, 0 present; 0 sold twice`
}
