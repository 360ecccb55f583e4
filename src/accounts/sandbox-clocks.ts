/**
 * The time of sandboxes (docs/design.md#sandbox). It stands still until it is moved. A move goes through everything that falls due on the
 * way, in order: holds are released at their own moments, answers expire, and failed deliveries are sent again.
 *
 * - B1 The time of a sandbox never goes back, and whatever was due at a moment that it has passed has happened, or happens before the
 *   move is over. The end of a move is durable before it begins, so a move that was interrupted is resumed.
 */
import type { GroupCommands } from '../core/bookings/group-commands.ts'
import type { Agency, Sandbox } from '../core/catalogue/agency.ts'
import type { Catalogue } from '../core/catalogue/catalogue.ts'
import type { Instant } from '../core/domain/booking.ts'
import { JournalError } from '../core/journal/journal-error.ts'
import { AssertionError } from '../lib/assert.ts'
import { type Clock, DAY_MS, sleep } from '../lib/clock.ts'
import { KeyedTurns } from '../lib/queues.ts'

/** The furthest that one call may move. */
export const MOVE_DAYS_MAX = 800
/** Holds released with one record of the journal. */
const HOLDS_AT_ONCE = 50
/** Deliveries made due with one statement. */
const DELIVERIES_AT_ONCE = 2_000
/** Between the steps of a move, for the others. */
const PAUSE_MS = 1
const RETRY_MS = 500

/** A hold of a sandbox, and when it expires. */
export interface SandboxHold {
  readonly bookingId: string
  readonly at: Instant
}

/** The port through which moves are stored. */
export interface SandboxTimeRows {
  /** Holds that expire by `until`, the first first, ties by id. */
  holdsUntil(agencyId: string, until: Instant, limit: number): Promise<readonly SandboxHold[]>
  /**
   * Stores the time, and where the move ends; makes deliveries due that wait for a moment up to `now`, at most `room`, and deletes answers
   * that have expired.
   * @returns how many deliveries it made due
   * @throws WriteError, JournalError when another process has taken over
   */
  move(
    agencyId: string,
    time: { readonly now: Instant; readonly until: Instant | null; readonly room: number },
  ): Promise<number>
  /** When the next hold expires or the next failed delivery is sent again; null when nothing waits. */
  nextMoment(agencyId: string, after: Instant): Promise<Instant | null>
}

/** What a caller is told of the time of a sandbox. */
export interface SandboxTime {
  readonly now: Instant
  readonly status: 'ready' | 'advancing'
}

export type Moved = SandboxTime | { readonly refused: 'backwards' | 'too_far'; readonly from: Instant }

export class SandboxClocks {
  readonly #catalogue: Catalogue
  readonly #groups: Pick<GroupCommands, 'expire'>
  readonly #rows: SandboxTimeRows
  readonly #clock: Clock
  readonly #onDue: (agencyId: string) => void
  readonly #onFailure: (error: unknown) => void
  readonly #turns = new KeyedTurns()
  readonly #moving = new Set<string>()
  #isStopped = false

  constructor(options: {
    catalogue: Catalogue
    groups: Pick<GroupCommands, 'expire'>
    rows: SandboxTimeRows
    clock: Clock
    /** Called when deliveries of the sandbox have become due. */
    onDue: (agencyId: string) => void
    /** Called when a step of a move has failed. It is repeated. */
    onFailure: (error: unknown) => void
  }) {
    this.#catalogue = options.catalogue
    this.#groups = options.groups
    this.#rows = options.rows
    this.#clock = options.clock
    this.#onDue = options.onDue
    this.#onFailure = options.onFailure
  }

  /** Of a sandbox. Resumes a move that was interrupted. */
  timeOf({ id }: Agency): SandboxTime {
    const { now, until } = this.#sandboxOf(id) ?? { now: this.#clock.now(), until: null }
    if (until !== null) this.#start(id)
    return { now, status: until === null ? 'ready' : 'advancing' }
  }

  /** When anything happens next in a sandbox; null when nothing waits for its time. */
  nextMoment({ id }: Agency): Promise<Instant | null> {
    return this.#rows.nextMoment(id, this.#sandboxOf(id)?.now ?? this.#clock.now())
  }

  /**
   * Begins to move the time of a sandbox. While it moves, the end of the move counts as its time: a further move begins there.
   * @param to the new time, or milliseconds from the time before
   * @throws WriteError, JournalError when the move was not stored
   */
  move({ id }: Agency, to: { readonly at: Instant } | { readonly byMs: number }): Promise<Moved> {
    return this.#turns.run(id, async () => {
      const sandbox = this.#sandboxOf(id)
      if (sandbox === null) return { refused: 'backwards', from: this.#clock.now() }
      const from = sandbox.until ?? sandbox.now
      const until = 'at' in to ? to.at : from + to.byMs
      if (until < from) return { refused: 'backwards', from }
      if (until - from > MOVE_DAYS_MAX * DAY_MS) return { refused: 'too_far', from }
      await this.#rows.move(id, { now: sandbox.now, until, room: 0 })
      this.#put(id, { until })
      return { ...this.timeOf({ id } as Agency), status: 'advancing' }
    })
  }

  /** Resumes every move that a former process did not finish. */
  resume(): void {
    for (const { id, sandbox } of this.#catalogue.agencies()) {
      if (sandbox !== undefined && sandbox !== null && sandbox.until !== null) this.#start(id)
    }
  }

  /** Moves stop where they are, and are resumed by the next process. */
  stop(): void {
    this.#isStopped = true
  }

  #start(agencyId: string): void {
    if (this.#moving.has(agencyId) || this.#isStopped) return
    this.#moving.add(agencyId)
    void this.#run(agencyId).finally(() => this.#moving.delete(agencyId))
  }

  async #run(agencyId: string): Promise<void> {
    while (!this.#isStopped) {
      try {
        if (await this.#step(agencyId)) return
        await sleep(this.#clock, PAUSE_MS)
      } catch (error) {
        if (error instanceof AssertionError) throw error
        if (error instanceof JournalError && (error.kind === 'not_owner' || error.kind === 'fenced')) return
        this.#onFailure(error)
        await sleep(this.#clock, RETRY_MS)
      }
    }
  }

  /** The next holds, and the deliveries up to the last of them. @returns whether the move is over */
  async #step(agencyId: string): Promise<boolean> {
    const agency = this.#catalogue.agencyById(agencyId)
    const until = agency?.sandbox?.until ?? null
    // Finished, made new, or of another node by now.
    if (agency === null || until === null) return true
    const holds = await this.#rows.holdsUntil(agencyId, until, HOLDS_AT_ONCE)
    const last = holds.at(-1)
    if (last !== undefined) {
      await this.#groups.expire(agency, holds)
      await this.#moveTo(agencyId, last.at, until)
      return false
    }
    await this.#moveTo(agencyId, until, until)
    return this.#turns.run(agencyId, async () => {
      // A further move may have begun meanwhile.
      if (this.#sandboxOf(agencyId)?.until !== until) return false
      await this.#rows.move(agencyId, { now: until, until: null, room: DELIVERIES_AT_ONCE })
      this.#put(agencyId, { now: until, until: null })
      this.#onDue(agencyId)
      return true
    })
  }

  async #moveTo(agencyId: string, at: Instant, until: Instant): Promise<void> {
    const now = Math.max(at, this.#sandboxOf(agencyId)?.now ?? at)
    this.#put(agencyId, { now })
    for (;;) {
      const end = this.#sandboxOf(agencyId)?.until ?? until
      const made = await this.#rows.move(agencyId, { now, until: end, room: DELIVERIES_AT_ONCE })
      if (made > 0) this.#onDue(agencyId)
      if (made < DELIVERIES_AT_ONCE) return
      await sleep(this.#clock, PAUSE_MS)
    }
  }

  #sandboxOf(agencyId: string): Sandbox | null {
    return this.#catalogue.agencyById(agencyId)?.sandbox ?? null
  }

  #put(agencyId: string, change: Partial<Sandbox>): void {
    const agency = this.#catalogue.agencyById(agencyId)
    if (agency?.sandbox === undefined || agency.sandbox === null) return
    this.#catalogue.putAgency({ ...agency, sandbox: { ...agency.sandbox, ...change } })
  }
}
