/**
 * Moves the clocks of sandboxes (docs/design.md#the-clock-of-a-sandbox).
 *
 * - E1 A clock never goes back. On its way to `target` every hold of the agency is released at its own moment, in order, before the clock
 *   shows a later one. What it shows and where it goes are stored, so a move that was cut short is resumed by the next owner of the shard.
 *
 * Holds are released a few at a time, several in one append, with a pause after each append, in which others are served. A clock shows the
 * moment of the last of them; webhooks that fall due by it may be sent from then on.
 */
import { AssertionError } from '../../lib/assert.ts'
import { type Clock, DAY_MS, sleep } from '../../lib/clock.ts'
import { KeyedTurns } from '../../lib/queues.ts'
import type { Agency } from '../catalogue/agency.ts'
import type { SandboxClock } from '../catalogue/agency-time.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { Booking, Instant } from '../domain/booking.ts'
import type { Caller, ChangeLine, KeepChange } from '../journal/record.ts'
import { type ExpiredHold, isTransientFailure } from '../units/hold-timer.ts'
import { type AuditSource, changeLine, sourceOf } from './durable-writes.ts'
import { isNotWritten, SandboxEndsError, WriteError } from './write-error.ts'

/** How far one request may move a clock. */
export const MOVE_DAYS_MAX = 800
/** No clock goes further: the dates of stays end five years later, and windows and holds are measured from what it shows. */
const CLOCK_MAX = Date.UTC(2095, 0, 1)
/** Released in one append: another agency's request waits for as many decisions at most. */
export const HOLDS_AT_ONCE = 20
/** Clocks that are on their way at once, all agencies together; the others wait for their turn. */
export const MOVES_AT_ONCE_MAX = 2
/** The pause after an append, in times that it took: a move uses a quarter of the time, however slow the machine is. */
const PAUSE_TIMES = 3
/** The end of the process waits for it. */
const PAUSE_MS_MAX = 250

/** A hold with the moment when it expires, to the millisecond. */
export interface DueHold extends ExpiredHold {
  readonly at: Instant
}

/** The port behind the clocks. Writes are under the fence of the agency's shard. */
export interface ClockRows {
  /** Stores where the clock goes, with its line of the audit trail. @throws what an audited write throws */
  aim(agencyId: string, target: Instant, audit: ChangeLine): Promise<void>
  /** Stores what the clock shows. @throws as `aim` */
  reach(agencyId: string, now: Instant): Promise<void>
  /** Null: the agency has none. */
  read(agencyId: string): Promise<SandboxClock | null>
  /** Holds of the agency that expire at `until` or before, as `Holds.expired`. */
  expiredHolds(agencyId: string, until: Instant, after: ExpiredHold | null, limit: number): Promise<readonly DueHold[]>
}

/** `ready` once everything up to `now` has happened. */
export interface ClockView {
  readonly now: Instant
  readonly status: 'ready' | 'advancing'
}

/** Where a request wants the clock to go. */
export type ClockMove = { readonly now: Instant } | { readonly advanceSeconds: number }

type MoveOutcome =
  | { readonly kind: 'done'; readonly clock: ClockView }
  /** `message` says what is accepted. */
  | { readonly kind: 'refused'; readonly field: 'now' | 'advanceSeconds'; readonly message: string }

interface SandboxClocksOptions {
  readonly catalogue: Pick<Catalogue, 'agencyById' | 'movingClocks'>
  readonly rows: ClockRows
  /** Releases holds (GroupCommands.expire). */
  readonly expire: (agency: Agency, holds: readonly ExpiredHold[], until: Instant) => Promise<number>
  readonly audit: AuditSource
  readonly clock: Clock
  /** The clock shows a later moment: webhooks may be due. */
  readonly onMoved: (agencyId: string) => void
  readonly isTransient: (error: unknown) => boolean
  readonly watch: {
    /** A move was interrupted; `resume` continues it. */
    onFailure(error: unknown): void
    onHoldFailure(hold: ExpiredHold, error: unknown): void
    onBug(error: AssertionError): void
  }
}

export function clockView({ now, target }: SandboxClock): ClockView {
  return { now, status: now < target ? 'advancing' : 'ready' }
}

/**
 * Where a move leads; a text says what is accepted instead.
 * @param from where the clock stands, or is going already
 */
export function targetOf(move: ClockMove, from: Instant): Instant | string {
  const target = 'now' in move ? move.now : from + move.advanceSeconds * 1_000
  const latest = Math.min(from + MOVE_DAYS_MAX * DAY_MS, CLOCK_MAX)
  if (target < from) return `must not be before ${new Date(from).toISOString()}: the clock only goes forward`
  if (target <= latest) return target
  if ('now' in move) return `must not be after ${new Date(latest).toISOString()}`
  return `must be at most ${Math.floor((latest - from) / 1_000)}`
}

export class SandboxClocks {
  readonly #options: SandboxClocksOptions
  readonly #turns = new KeyedTurns()
  readonly #waiting = new Set<string>()
  readonly #running = new Map<string, Promise<void>>()
  /** Clocks that must look at all holds once more. */
  readonly #again = new Set<string>()
  /** Agencies whose last aim may be stored or not. */
  readonly #doubtful = new Set<string>()
  #isStopped = false

  constructor(options: SandboxClocksOptions) {
    this.#options = options
  }

  /**
   * Sends the clock of a sandbox forward, from where it is going already. Settles when that is stored.
   * @throws what an audited write throws; the error says what is known about the outcome
   */
  move(
    agency: Agency & { readonly clock: SandboxClock },
    move: ClockMove,
    caller: Caller,
    keep?: KeepChange<ClockView>,
  ): Promise<MoveOutcome> {
    const { clock } = agency
    return this.#turns.run(agency.id, async () => {
      await this.#settleDoubt(agency.id, clock)
      const target = targetOf(move, clock.target)
      if (typeof target === 'string') {
        const field = 'now' in move ? 'now' : 'advanceSeconds'
        return { kind: 'refused', field, message: target }
      }
      const view: ClockView = { now: clock.now, status: 'advancing' }
      // Its line, and with it the answer that is kept, is of the moment that the clock goes to: the move itself must not let it expire.
      const line = { ...changeLine(sourceOf(this.#options.audit, agency), caller, keep?.(view)), at: target }
      try {
        await this.#options.rows.aim(agency.id, target, line)
      } catch (error) {
        if (!isNotWritten(error)) this.#doubtful.add(agency.id)
        throw error
      }
      clock.target = target
      this.#start(agency.id)
      return { kind: 'done', clock: view }
    })
  }

  /** A hold became durable: if the clock may have passed it meanwhile, it is looked for again. */
  expectExpiry({ id, clock }: Agency, { holdExpiresAt }: Booking): void {
    if (clock === undefined || holdExpiresAt === null || holdExpiresAt > clock.target) return
    this.#again.add(id)
    this.#start(id)
  }

  /** Continues every move that is not finished, or may be stored. Cheap: can be called at any rate. */
  resume(): void {
    for (const agencyId of this.#doubtful) void this.#turns.run(agencyId, () => this.#resumeDoubtful(agencyId))
    for (const { id } of this.#options.catalogue.movingClocks()) this.#start(id)
    for (const id of this.#again) this.#start(id)
  }

  /** Waits for the appends in progress, and moves no clock any more. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all(this.#running.values())
  }

  /** A repeated request is answered without `move`, so nothing else would settle the doubt. */
  async #resumeDoubtful(agencyId: string): Promise<void> {
    const clock = this.#options.catalogue.agencyById(agencyId)?.clock
    // Whoever has it now has read it from the database.
    if (clock === undefined) this.#doubtful.delete(agencyId)
    // If that fails, again when `resume` is next called.
    else await this.#settleDoubt(agencyId, clock).catch(() => {})
  }

  async #settleDoubt(agencyId: string, clock: SandboxClock): Promise<void> {
    if (!this.#doubtful.has(agencyId)) return
    const stored = await this.#options.rows.read(agencyId).catch((cause: unknown) => {
      throw new WriteError('not_written', 'Cannot move a clock: where it goes cannot be read', { cause })
    })
    if (stored !== null) clock.target = stored.target
    this.#doubtful.delete(agencyId)
    this.#start(agencyId)
  }

  #start(agencyId: string): void {
    if (this.#isStopped || this.#running.has(agencyId)) return
    this.#waiting.add(agencyId)
    this.#startWaiting()
  }

  #startWaiting(): void {
    for (const agencyId of this.#waiting) {
      if (this.#running.size >= MOVES_AT_ONCE_MAX) return
      this.#waiting.delete(agencyId)
      this.#running.set(agencyId, this.#run(agencyId))
    }
  }

  async #run(agencyId: string): Promise<void> {
    try {
      await this.#advance(agencyId)
      if (this.#again.has(agencyId)) this.#waiting.add(agencyId)
    } catch (error) {
      if (error instanceof AssertionError) {
        this.#isStopped = true
        this.#options.watch.onBug(error)
      } else {
        // Not at once: `resume` comes every few seconds.
        this.#again.add(agencyId)
        this.#options.watch.onFailure(error)
      }
    }
    this.#running.delete(agencyId)
    if (!this.#isStopped) this.#startWaiting()
  }

  async #advance(agencyId: string): Promise<void> {
    const { catalogue, rows, clock: time, onMoved } = this.#options
    let after: DueHold | null = null
    for (;;) {
      const since = time.monotonicMs()
      const agency = catalogue.agencyById(agencyId)
      // Another node has its shard, and continues.
      if (this.#isStopped || agency?.clock === undefined) {
        this.#again.delete(agencyId)
        return
      }
      const { clock } = agency
      const { target } = clock
      if (after === null) this.#again.delete(agencyId)
      const page: readonly DueHold[] = await rows.expiredHolds(agencyId, target, after, HOLDS_AT_ONCE)
      await this.#release(agency, page, target)
      const isEnd = page.length < HOLDS_AT_ONCE
      after = isEnd ? null : (page.at(-1) ?? null)
      const reached = after?.at ?? target
      if (reached > clock.now) {
        await rows.reach(agencyId, reached)
        clock.now = reached
        onMoved(agencyId)
      }
      if (isEnd && clock.target === target && !this.#again.has(agencyId)) return
      await sleep(time, Math.min(PAUSE_TIMES * (time.monotonicMs() - since), PAUSE_MS_MAX))
    }
  }

  /** @throws what is no fault of the holds; those that are at fault stay, and are tried again by the next move */
  async #release(agency: Agency, holds: readonly DueHold[], until: Instant): Promise<void> {
    if (holds.length === 0) return
    const { expire, isTransient, watch } = this.#options
    try {
      if ((await expire(agency, holds, until)) > 0) this.#again.add(agency.id)
    } catch (error) {
      const isNoFault = error instanceof SandboxEndsError || isTransientFailure(error, isTransient)
      if (isNoFault || error instanceof AssertionError) throw error
      const [hold] = holds
      if (holds.length === 1 && hold !== undefined) watch.onHoldFailure(hold, error)
      else for (const one of holds) await this.#release(agency, [one], until)
    }
  }
}
