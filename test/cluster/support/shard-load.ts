import { shardOf } from '../../../src/core/journal/shard.ts'
import { idOf } from '../../../src/lib/ids.ts'
import type { SeededRandom } from '../../../src/lib/seeded-random.ts'
import type { Sql } from '../../../src/postgres/client/connect.ts'
import { requestOf } from '../../support/http-call.ts'
import type { TestLedger } from '../../support/ledger.ts'
import { verifyDatabase } from '../../support/verify-database.ts'

export interface LoadedAgency {
  readonly id: string
  readonly shard: number
  readonly secret: string
  readonly units: readonly string[]
}

/** Agencies of random shards, with units and a key each. */
export async function makeAgencies(test: TestLedger, count: number, units: number): Promise<LoadedAgency[]> {
  const made: LoadedAgency[] = []
  for (let i = 0; i < count; i++) {
    const agency = await test.agency()
    const slugs: string[] = []
    for (let unit = 0; unit < units; unit++) slugs.push((await test.unit(agency)).slug)
    const { secret } = await test.key(agency)
    made.push({ id: agency.id, shard: shardOf(agency.id), secret, units: slugs })
  }
  return made
}

interface Acknowledged {
  readonly id: string
  readonly op: string
  isCancelled: boolean
}

/** Clients that repeat a write with its Idempotency-Key, at whoever owns the shard by then, until they are told its outcome. */
export class ShardLoad {
  readonly acknowledged: Acknowledged[] = []
  readonly refused: string[] = []
  /** Of every agency: the changes that a reader was shown, by id, in order. */
  readonly seen = new Map<string, string[]>()
  /** The longest that a client waited for the outcome of a write, ms. */
  longestMs = 0
  repeats = 0
  /** Final answers that nobody expects. */
  readonly strange: string[] = []
  readonly #agencies: readonly LoadedAgency[]
  readonly #urlOf: (shard: number) => string
  readonly #dice: SeededRandom
  #writers: Promise<void>[] = []
  #readers: Promise<void>[] = []
  #isStopping = false
  #isWritten = false
  #isAbandoned = false
  #ops = 0
  /** Of this load alone. */
  readonly #name = crypto.randomUUID().slice(0, 8)

  constructor(agencies: readonly LoadedAgency[], urlOf: (shard: number) => string, dice: SeededRandom) {
    this.#agencies = agencies
    this.#urlOf = urlOf
    this.#dice = dice
  }

  start(clients: number, readers: number): void {
    this.#writers = Array.from({ length: clients }, () => this.#write())
    this.#readers = this.#agencies.slice(0, readers).map((agency) => this.#follow(agency))
  }

  /** What is not answered yet is given up: nothing is known about it. */
  async abandon(): Promise<void> {
    this.#isAbandoned = true
    await this.stop()
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all(this.#writers)
    this.#isWritten = true
    await Promise.all(this.#readers)
  }

  async #write(): Promise<void> {
    while (!this.#isStopping) {
      const agency = this.#dice.pick(this.#agencies)
      const from = new Date(Date.UTC(2027, 0, 1) + this.#dice.int(0, 700) * 86_400_000)
      const to = new Date(from.getTime() + this.#dice.int(1, 3) * 86_400_000)
      const op = `${this.#name}-${++this.#ops}`
      const day = (at: Date) => at.toISOString().slice(0, 10)
      const stay = { unit: this.#dice.pick(agency.units), arrival: day(from), departure: day(to), sourceRef: op }
      const answer = await this.#untilKnown(agency, '/bookings', op, stay)
      if (this.#isAbandoned) return
      if (answer.status === 409) this.refused.push(op)
      else if (answer.status !== 201) this.strange.push(`${answer.status} ${answer.text}`)
      else {
        const { booking } = JSON.parse(answer.text) as { booking: { id: string } }
        const entry = { id: booking.id, op, isCancelled: false }
        this.acknowledged.push(entry)
        if (this.#dice.chance(0.6)) {
          const cancelled = await this.#untilKnown(agency, `/bookings/${booking.id}/cancel`, `${op}-c`, {})
          if (cancelled.status === 200) entry.isCancelled = true
          else this.strange.push(`cancel ${cancelled.status} ${cancelled.text}`)
        }
      }
    }
  }

  async #untilKnown(
    agency: LoadedAgency,
    path: string,
    op: string,
    body: object,
  ): Promise<{ status: number; text: string }> {
    const since = performance.now()
    for (;;) {
      try {
        const response = await fetch(`${this.#urlOf(agency.shard)}/partner/v1${path}`, {
          ...requestOf({ token: agency.secret, headers: { 'idempotency-key': op }, json: body }),
          signal: AbortSignal.timeout(3_000),
        })
        const text = await response.text()
        if (!isElsewhere(response)) {
          this.longestMs = Math.max(this.longestMs, performance.now() - since)
          return { status: response.status, text }
        }
      } catch {
        // The engine is gone, or stopped.
      }
      this.repeats += 1
      if (this.#isAbandoned) return { status: 0, text: '' }
      await Bun.sleep(10)
    }
  }

  /** Reads the changes of an agency, wherever it is, from its cursor. */
  async #follow(agency: LoadedAgency): Promise<void> {
    const seen: string[] = []
    this.seen.set(agency.id, seen)
    let after = 'start'
    let isLast = false
    for (;;) {
      // Once more after the load has ended, until there is nothing more.
      if (this.#isWritten) isLast = true
      try {
        const response = await fetch(
          `${this.#urlOf(agency.shard)}/partner/v1/changes?after=${encodeURIComponent(after)}&wait=${isLast ? 0 : 2}`,
          { headers: { authorization: `Bearer ${agency.secret}` }, signal: AbortSignal.timeout(5_000) },
        )
        if (response.status === 200) {
          const page = (await response.json()) as { changes: { id: string }[]; cursor: string; hasMore: boolean }
          seen.push(...page.changes.map(({ id }) => id))
          after = page.cursor
          if (isLast && !page.hasMore && page.changes.length === 0) return
          continue
        }
        if (!isElsewhere(response)) this.strange.push(`changes ${response.status}`)
      } catch {
        // The engine is gone, or stopped.
      }
      await Bun.sleep(20)
    }
  }

  /** What is wrong, in sentences; empty when nothing was lost, doubled or left out. */
  async faults(sql: Sql): Promise<string[]> {
    const rows = await sql<{ id: string; op: string; status: string }[]>`
      select booking_id as id, source_ref as op, status from booking`
    const byOp = Map.groupBy(rows, ({ op }) => op)
    const faults = [...this.strange.slice(0, 5)]
    for (const { id, op, isCancelled } of this.acknowledged) {
      const [row] = byOp.get(op) ?? []
      if (row === undefined || idOf('bkg', row.id) !== id) faults.push(`${op} was acknowledged and is lost`)
      else if (isCancelled && row.status !== 'cancelled') faults.push(`the cancellation of ${op} is lost`)
    }
    for (const [op, same] of byOp) if (same.length > 1) faults.push(`${op} was booked ${same.length} times`)
    for (const op of this.refused) if (byOp.has(op)) faults.push(`${op} was refused and is there`)
    const twice = await sql`
      select a.booking_id from booking a join booking b
        on a.unit_id = b.unit_id and a.booking_id < b.booking_id
       and daterange(a.arrival, a.departure) && daterange(b.arrival, b.departure)
      where a.status <> 'cancelled' and b.status <> 'cancelled'`
    if (twice.length > 0) faults.push(`${twice.length} nights were sold twice`)
    const gaps = await sql`
      select shard from (select shard, count(*) as entries, max(seq) - min(seq) + 1 as numbers, min(seq) as first, max(seq) as last
                         from journal group by shard) s
      where entries <> numbers`
    if (gaps.length > 0) faults.push(`${gaps.length} shards have a gap in their numbers`)
    const { differences } = await verifyDatabase(sql)
    faults.push(...differences.slice(0, 5).map((difference) => JSON.stringify(difference)))
    for (const [agencyId, seen] of this.seen) {
      const log = await sql<{ id: string }[]>`
        select entry_id as id from journal
        where agency_id = ${agencyId.slice(4)}::text::uuid and is_announced and booking_id is not null order by seq`
      const ids = log.map(({ id }) => idOf('evt', id))
      if (ids.join() !== seen.join()) {
        const missed = ids.filter((id) => !seen.includes(id)).length
        faults.push(`a reader saw ${seen.length} of ${ids.length} changes, and missed ${missed}`)
      }
    }
    return faults
  }
}

/** 421: the shard was lost meanwhile. 401: an engine knows the keys of its own shards only. Beyond: it cannot tell. */
function isElsewhere({ status }: Response): boolean {
  return status >= 500 || status === 421 || status === 401
}
