/**
 * What agencies no longer keep is removed once a day.
 *
 * - L1 Nothing is removed early: no guest or booking before its agency's time, no month before that of every agency, no booking before all of
 *   its entries are archived.
 */
import { successLine } from '../core/bookings/durable-writes.ts'
import type { Agency } from '../core/catalogue/agency.ts'
import type { Night } from '../core/domain/night.ts'
import type { AuditDraft, Caller, ChangeLine } from '../core/journal/record.ts'
import type { Month } from '../core/journal/shard.ts'
import { type Clock, DAY_MS, sleep } from '../lib/clock.ts'
import type { IdSource } from '../lib/ids.ts'
import { Rounds } from '../lib/rounds.ts'
import type { GuestErasures } from './guest-erasures.ts'
import { type Due, dueAt, longest, type Retention } from './retention.ts'

const FIRST_AFTER_MS = 30_000
/** After a round in which something failed. */
const AGAIN_AFTER_MS = 600_000
/** Rows in one statement: it holds its locks, and a connection of the pool, for some milliseconds. */
const GUESTS_PER_PAGE = 100
/** Each takes some ten statements, one after the other. */
const ERASED_AT_ONCE = 4
const BOOKINGS_PER_SLICE = 500
const PAUSE_MS = 50
/** Who erases guests and deletes bookings that are due. */
const CALLER: Caller = { actor: { kind: 'system', id: null }, route: 'retention', requestId: null }

/** An agency whose data is removed in time, with the settings that are its own. */
export interface RetainedAgency {
  readonly agencyId: string
  readonly own: Partial<Retention>
}

/** Where a page of guests ended. */
export interface GuestPlace {
  readonly createdAt: string
  readonly guestId: string
}

/** The port of what retention reads and removes. */
export interface RetentionRows {
  /** The settings of the agency's own. */
  find(agencyId: string): Promise<Partial<Retention>>
  /** Replaces them. */
  set(agencyId: string, own: Partial<Retention>, audit: ChangeLine): Promise<void>
  /** All but sandboxes and what was deleted. */
  agencies(): Promise<readonly RetainedAgency[]>
  /** The next guests of the agency that are due, oldest first. `next`: null on the last page. */
  dueGuests(
    agencyId: string,
    page: { readonly before: Night; readonly after: GuestPlace | null; readonly limit: number },
  ): Promise<{ readonly guestIds: readonly string[]; readonly next: GuestPlace | null }>
  /** Bookings that are due, and whose entries are archived: a booking is not removed before its history. */
  countDueBookings(agencyId: string, before: Night): Promise<number>
  /**
   * @param params.audit written in the same statement with the number of bookings, if there are any
   * @returns how many were deleted, at most `limit`
   */
  deleteBookings(
    agencyId: string,
    params: { readonly before: Night; readonly limit: number; readonly audit: AuditDraft },
  ): Promise<number>
  /** Months of the ledger before this one. */
  countMonths(before: Month): Promise<number>
  /** Removes the deliveries of all months before this one that have none that is still due. */
  forgetDeliveries(before: Month): Promise<void>
}

/** What a round removed, or would remove. */
export interface RetentionRound {
  readonly guests: number
  readonly bookings: number
  /** Deliveries of months before this one; `YYYY-MM-01`. */
  readonly deliveriesBefore: Month
  /** Months that `nightledger journal archive` may move into files. */
  readonly monthsToArchive: number
}

/** What several processes have removed, each of its own agencies, in a round of theirs at the same time. @param rounds at least one */
export function together(rounds: readonly RetentionRound[]): RetentionRound {
  return rounds.reduce((all, { guests, bookings, ...shared }) => ({
    ...shared,
    guests: all.guests + guests,
    bookings: all.bookings + bookings,
  }))
}

export interface RetentionStats {
  /** Since the start of the process. */
  readonly guests: number
  readonly bookings: number
  /** Of the last round. */
  readonly monthsToArchive: number
  /** Since the last round that did everything it had to; before the first one, since the start. */
  readonly sinceSuccessMs: number
}

/** Guests may have booked, or be kept, since their page was read: each is erased if they are still due. */
type Erasures = Pick<GuestErasures, 'eraseIfDue' | 'finish'>

/**
 * Removes what is due of the agencies of this process. In slices with pauses, so that writes do not wait.
 * Months are archived by the operator (`nightledger journal archive`), who has the files.
 */
export class RetentionJob {
  readonly #rows: RetentionRows
  readonly #defaults: Retention
  readonly #agencyById: (agencyId: string) => Agency | null
  readonly #ownsDeliveries: () => boolean
  readonly #erasures: Erasures
  readonly #clock: Clock
  readonly #newId: IdSource
  readonly #rounds: Rounds
  /** The last one that was begun, on the schedule or by hand. Never rejects. */
  #round: Promise<unknown> = Promise.resolve()
  #guests = 0
  #bookings = 0
  #monthsToArchive = 0
  #succeededAt: number

  constructor(options: {
    rows: RetentionRows
    /** The operator's, for whatever an agency has not set. */
    defaults: Retention
    /** Null: another process serves it. */
    agencyById: (agencyId: string) => Agency | null
    /** Whether this process removes deliveries: one of several does. */
    ownsDeliveries: () => boolean
    erasures: Erasures
    clock: Clock
    newId: IdSource
    onFailure: (error: unknown) => void
  }) {
    this.#rows = options.rows
    this.#defaults = options.defaults
    this.#agencyById = options.agencyById
    this.#ownsDeliveries = options.ownsDeliveries
    this.#erasures = options.erasures
    this.#clock = options.clock
    this.#newId = options.newId
    this.#succeededAt = options.clock.now()
    this.#rounds = new Rounds({
      clock: options.clock,
      firstMs: FIRST_AFTER_MS,
      everyMs: DAY_MS,
      failedMs: AGAIN_AFTER_MS,
      run: () => this.run({ isDryRun: false }),
      onFailure: options.onFailure,
    })
  }

  /** The first round is half a minute from now. */
  start(): void {
    this.#rounds.start()
  }

  /** Waits for the statement, or the erasures, in progress; then nothing more is removed. */
  async stop(): Promise<void> {
    await Promise.all([this.#rounds.stop(), this.#round])
  }

  get stats(): RetentionStats {
    return {
      guests: this.#guests,
      bookings: this.#bookings,
      monthsToArchive: this.#monthsToArchive,
      sinceSuccessMs: Math.max(0, this.#clock.now() - this.#succeededAt),
    }
  }

  get defaults(): Retention {
    return this.#defaults
  }

  /**
   * A round now, after one that is running.
   * @param isDryRun only says what would be removed
   * @throws what the database says; the round has then removed a part
   */
  run({ isDryRun }: { isDryRun: boolean }): Promise<RetentionRound> {
    const round = this.#round.then(() => this.#runRound(isDryRun))
    this.#round = round.catch(() => {})
    return round
  }

  /** What fails for one guest or agency does not hold up the others: the first failure is thrown at the end. */
  async #runRound(isDryRun: boolean): Promise<RetentionRound> {
    const now = this.#clock.now()
    const failures: unknown[] = []
    const noteFailure = (error: unknown) => {
      failures[0] ??= error
    }
    const agencies = await this.#rows.agencies()
    let [guests, bookings] = [0, 0]
    for (const { agencyId, own } of agencies) {
      if (this.#rounds.isStopped) break
      const agency = this.#agencyById(agencyId)
      if (agency === null) continue
      const due = dueAt(now, { ...this.#defaults, ...own })
      try {
        guests += await this.#removeGuests(agency, due, isDryRun, noteFailure)
        bookings += await this.#removeBookings(agencyId, due, isDryRun)
      } catch (error) {
        noteFailure(error)
      }
    }
    const settings = agencies.map(({ own }) => ({ ...this.#defaults, ...own }))
    const { deliveriesBefore, logBefore } = dueAt(now, longest(settings, this.#defaults))
    const monthsToArchive = await this.#rows.countMonths(logBefore)
    if (!isDryRun && !this.#rounds.isStopped) {
      this.#monthsToArchive = monthsToArchive
      if (this.#ownsDeliveries()) await this.#rows.forgetDeliveries(deliveriesBefore).catch(noteFailure)
    }
    if (failures.length > 0) throw failures[0]
    if (!isDryRun && !this.#rounds.isStopped) this.#succeededAt = now
    return { guests, bookings, deliveriesBefore, monthsToArchive }
  }

  async #removeGuests(
    agency: Agency,
    { guestsBefore }: Due,
    isDryRun: boolean,
    noteFailure: (error: unknown) => void,
  ): Promise<number> {
    let count = 0
    for (let after: GuestPlace | null = null; !this.#rounds.isStopped; ) {
      const page = await this.#rows.dueGuests(agency.id, { before: guestsBefore, after, limit: GUESTS_PER_PAGE })
      if (isDryRun) count += page.guestIds.length
      const erased: string[] = []
      for (let from = 0; !isDryRun && !this.#rounds.isStopped && from < page.guestIds.length; from += ERASED_AT_ONCE) {
        const some = page.guestIds.slice(from, from + ERASED_AT_ONCE)
        const wereDue = await Promise.all(
          some.map((guestId) =>
            this.#erasures.eraseIfDue(agency, guestId, guestsBefore, CALLER).catch((error) => {
              noteFailure(error)
              return false
            }),
          ),
        )
        erased.push(...some.filter((_, i) => wereDue[i]))
      }
      // If it fails, they are completed one by one (erasure-rounds.ts).
      if (erased.length > 0) await this.#erasures.finish(agency.id, erased).catch(noteFailure)
      this.#guests += erased.length
      count += erased.length
      if (page.next === null) break
      after = page.next
      await sleep(this.#clock, PAUSE_MS)
    }
    return count
  }

  async #removeBookings(agencyId: string, { bookingsBefore: before }: Due, isDryRun: boolean): Promise<number> {
    if (isDryRun) return this.#rows.countDueBookings(agencyId, before)
    let count = 0
    while (!this.#rounds.isStopped) {
      const audit = successLine({ clock: this.#clock, newId: this.#newId }, CALLER)
      const deleted = await this.#rows.deleteBookings(agencyId, { before, limit: BOOKINGS_PER_SLICE, audit })
      count += deleted
      this.#bookings += deleted
      if (deleted < BOOKINGS_PER_SLICE) break
      await sleep(this.#clock, PAUSE_MS)
    }
    return count
  }
}
