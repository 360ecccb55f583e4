/**
 * Erases people: everything that is stored of a guest, in steps that each survive a crash (docs/operating/personal-data.md).
 *
 * - G1 What is erased does not come back. The guest's row goes in the batch of the log's entry (J2), so a booking of the same moment comes
 *   before, and loses its guest too, or after, and gets a new one; so does one of the moment when retention takes the row. The texts of
 *   bookings go in the turns of their units, where nothing is decided from a row that was read before, and a change of notes checks in its
 *   statement that they are still those it read; kept answers are cleaned once no such turn can add one.
 */
import type { BookingCommands } from '../core/bookings/booking-commands.ts'
import type { GuestList } from '../core/bookings/booking-lists.ts'
import { WriteError } from '../core/bookings/write-error.ts'
import type { Agency } from '../core/catalogue/agency.ts'
import type { Catalogue } from '../core/catalogue/catalogue.ts'
import type { Instant } from '../core/domain/booking.ts'
import type { Night } from '../core/domain/night.ts'
import { CorruptLedgerError, JournalError } from '../core/journal/journal-error.ts'
import type { Caller, KeepChange } from '../core/journal/record.ts'
import type { UnitAddress } from '../core/journal/recovery.ts'
import type { UnitDirectory } from '../core/units/unit-directory.ts'
import { AssertionError, assert } from '../lib/assert.ts'
import { KeyedTurns } from '../lib/queues.ts'
import { reasonOf } from '../lib/reason-of.ts'
import { type AgencyOutcome, done, NOT_FOUND } from './store-retries.ts'

/** What an erasure takes away. Numbers only: they are kept with its answer. */
export interface Erasure {
  readonly guestId: string
  /** Null: in a preview. */
  readonly erasedAt: Instant | null
  /** Bookings that lose their guest, and stay as figures. */
  readonly bookings: number
  /** Those of them that are still to begin or to end. */
  readonly upcoming: number
  readonly withNotes: number
  readonly withReference: number
  readonly withReason: number
}

/** An erasure that was begun. */
export interface BegunErasure {
  readonly agencyId: string
  readonly guestId: string
  readonly at: Instant
  /** Whether the log has its entry. It follows when retention began the erasure, or `after-restore` repeated it. */
  readonly isLogged: boolean
  readonly isComplete: boolean
}

/** The last answer of a page; null: before the first. */
export interface AnswerPlace {
  readonly keyId: string
  readonly route: string
  readonly idempotencyKey: string
}

/** Every write is safe to repeat, and fenced (J5). */
export interface ErasureRows {
  /** Null: the guest was never erased. */
  find(agencyId: string, guestId: string): Promise<BegunErasure | null>
  /** @param today `YYYY-MM-DD`, of the agency */
  count(agencyId: string, guestId: string, today: string): Promise<Omit<Erasure, 'guestId' | 'erasedAt'>>
  /** Takes the row of a guest who has no stay that ended on this day or later, and is not to be kept. @returns whether there was one */
  beginIfDue(agencyId: string, guestId: string, before: Night): Promise<boolean>
  /** Some units that bookings of the guest are in; none: there are no more bookings. */
  unitsOf(agencyId: string, guestId: string): Promise<readonly string[]>
  /** Takes guest and texts from some bookings of the unit. @returns whether there may be more */
  eraseBookings(agencyId: string, guestId: string, unitId: string): Promise<boolean>
  /** Cleans a page of kept answers. @returns null after the last one */
  scrubAnswers(agencyId: string, after: AnswerPlace | null): Promise<AnswerPlace | null>
  /** Nothing of the guest is left. */
  finish(agencyId: string, guestId: string): Promise<void>
}

export class GuestErasures {
  readonly #options: ConstructorParameters<typeof GuestErasures>[0]
  readonly #turns = new KeyedTurns()

  constructor(options: {
    readonly rows: ErasureRows
    readonly guests: Pick<GuestList, 'find'>
    readonly commands: Pick<BookingCommands, 'eraseGuest'>
    readonly directory: Pick<UnitDirectory, 'turn'>
    readonly catalogue: Pick<Catalogue, 'agencyById'>
    readonly todayOf: (agency: Agency) => string
    /** Writes it down outside the database; may be repeated. Null: nowhere. */
    readonly list: ((erasure: BegunErasure) => Promise<void>) | null
    /** Called when texts were erased: whatever has them in memory must read them again. */
    readonly onErased: (agencyId: string) => void
  }) {
    this.#options = options
  }

  /** What `erase` would take away. */
  async preview(agency: Agency, guestId: string): Promise<AgencyOutcome<Erasure>> {
    const { rows, guests, todayOf } = this.#options
    if ((await guests.find(agency.id, guestId)) === null) return NOT_FOUND
    const counted = await rows.count(agency.id, guestId, todayOf(agency))
    return done({ guestId, erasedAt: null, ...counted })
  }

  /**
   * Erasing a second time completes what an interrupted erasure has left, and changes nothing else.
   * @throws JournalError, WriteError: if the erasure was begun (`started`), `completeBegun` finishes it later
   */
  erase(agency: Agency, guestId: string, caller: Caller, keep?: KeepChange<Erasure>): Promise<AgencyOutcome<Erasure>> {
    const { rows, guests, commands, todayOf } = this.#options
    return this.#turns.run(guestId, async () => {
      const before = await rows.find(agency.id, guestId)
      if (before === null && (await guests.find(agency.id, guestId)) === null) return NOT_FOUND
      const counted = await rows.count(agency.id, guestId, todayOf(agency))
      const erasureAt = (at: Instant): Erasure => ({ guestId, erasedAt: before?.at ?? at, ...counted })
      const guest = { guestId, isErased: before?.isLogged ?? false }
      await commands.eraseGuest(agency, guest, caller, keep && ((at) => keep(erasureAt(at))))
      return done(erasureAt(await afterBegin(this.#completeNow(agency.id, guestId))))
    })
  }

  /**
   * Erases a guest who is still due, up to what `finish` does. Whether they are is decided with the row locked, and its entry follows:
   * entries that depend on a condition would fail the batch that they are in.
   * @returns whether they were due
   * @throws as `erase` does
   */
  eraseIfDue(agency: Agency, guestId: string, before: Night, caller: Caller): Promise<boolean> {
    const { rows } = this.#options
    return this.#turns.run(guestId, async () => {
      if (!(await rows.beginIfDue(agency.id, guestId, before))) return false
      const begun = await rows.find(agency.id, guestId)
      assert(begun !== null, 'Cannot complete an erasure: its row is missing')
      await this.#eraseRows(begun, caller)
      return true
    })
  }

  /** Cleans the kept answers of an agency, once for all of these guests, of whom nothing else is left. */
  async finish(agencyId: string, guestIds: readonly string[]): Promise<void> {
    const { rows, onErased } = this.#options
    for (let place = await rows.scrubAnswers(agencyId, null); place !== null; )
      place = await rows.scrubAnswers(agencyId, place)
    onErased(agencyId)
    for (const guestId of guestIds) await rows.finish(agencyId, guestId)
  }

  /** Completes the erasure of a guest, if one was interrupted, or repeated after a restore. */
  completeBegun(agency: Pick<Agency, 'id'>, guestId: string): Promise<void> {
    return this.#turns.run(guestId, async () => {
      const begun = await this.#options.rows.find(agency.id, guestId)
      if (begun !== null && !begun.isComplete) await this.#complete(begun)
    })
  }

  /** @returns when it was begun */
  async #completeNow(agencyId: string, guestId: string): Promise<Instant> {
    const begun = await this.#options.rows.find(agencyId, guestId)
    assert(begun !== null, 'Cannot complete an erasure: its row is missing')
    await this.#complete(begun)
    return begun.at
  }

  /** @param caller of the entry, if the log has none */
  async #complete(begun: BegunErasure, caller: Caller = REPEATED): Promise<void> {
    await this.#eraseRows(begun, caller)
    await this.finish(begun.agencyId, [begun.guestId])
  }

  async #eraseRows(begun: BegunErasure, caller: Caller): Promise<void> {
    const { rows, list } = this.#options
    const { agencyId, guestId } = begun
    await this.#log(begun, caller)
    await list?.(begun)
    for (
      let units = await rows.unitsOf(agencyId, guestId);
      units.length > 0;
      units = await rows.unitsOf(agencyId, guestId)
    )
      for (const unitId of units) await this.#eraseIn({ agencyId, unitId }, guestId)
  }

  async #log({ agencyId, guestId, isLogged }: BegunErasure, caller: Caller): Promise<void> {
    const agency = isLogged ? null : this.#options.catalogue.agencyById(agencyId)
    // Of a sandbox that has ended, the log says nothing more.
    if (agency !== null) await this.#options.commands.eraseGuest(agency, { guestId, isErased: false }, caller)
  }

  async #eraseIn(unit: UnitAddress, guestId: string): Promise<void> {
    const { rows, directory } = this.#options
    const erase = async () => {
      while (await rows.eraseBookings(unit.agencyId, guestId, unit.unitId));
    }
    try {
      await directory.turn(unit, erase)
    } catch (error) {
      // Nothing is decided in a unit that is damaged.
      if (!(error instanceof CorruptLedgerError)) throw error
      await erase()
    }
  }
}

/**
 * For what follows once the guest is gone. Its errors say that nothing was changed, which is not true here any more. Another node can
 * complete the erasure, and gets the request.
 */
async function afterBegin<T>(rest: Promise<T>): Promise<T> {
  try {
    return await rest
  } catch (error) {
    if (error instanceof AssertionError || (error instanceof JournalError && error.kind === 'not_owner')) throw error
    throw new WriteError('started', `Cannot complete the erasure of a guest: ${reasonOf(error)}`, { cause: error })
  }
}

/** Who repeats an erasure that the log has lost. */
const REPEATED: Caller = { actor: { kind: 'system', id: null }, route: 'after-restore', requestId: null }
