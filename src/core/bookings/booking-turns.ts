import type { UnitState } from '../domain/unit-state.ts'
import { CorruptLedgerError } from '../journal/corrupt-ledger-error.ts'
import { JournalError } from '../journal/journal-error.ts'
import type { UnitDirectory } from '../units/unit-directory.ts'
import type { BookingRow, BookingRows } from './booking-rows.ts'
import type { WriteLimit } from './write-limit.ts'

/** A booking that keeps moving between units while we look for it is looked for this often. */
const FIND_ATTEMPTS_MAX = 8

export interface NotFound {
  readonly kind: 'not_found'
}

/** Gives a command the turn of the units it needs, and the current row of the booking it is about. */
export class BookingTurns {
  readonly #directory: UnitDirectory
  readonly #rows: BookingRows

  constructor(options: { directory: UnitDirectory; rows: BookingRows }) {
    this.#directory = options.directory
    this.#rows = options.rows
  }

  /** Runs when it is the command's turn, unless its caller has been refused by then. */
  of<T>(limit: WriteLimit, agencyId: string, unitId: string, run: (state: UnitState) => Promise<T>): Promise<T> {
    return this.#directory.turn({ agencyId, unitId }, (state) => {
      limit.mustBeOpen()
      return run(state)
    })
  }

  /** Runs with the unit that the booking is in and its current row. Another write may move it while we wait: look again. */
  async ofBooking<O>(
    limit: WriteLimit,
    agencyId: string,
    bookingId: string,
    run: (state: UnitState, row: BookingRow) => Promise<O>,
  ): Promise<O | NotFound> {
    for (let attempt = 0; attempt < FIND_ATTEMPTS_MAX; attempt++) {
      const found = await this.#rows.find(agencyId, bookingId)
      if (found === null) return { kind: 'not_found' }
      const unitId = found.booking.unitId
      const outcome = await this.of(limit, agencyId, unitId, async (state) => {
        const row = await this.#currentRow(state, found)
        return row.booking.unitId === unitId ? run(state, row) : null
      })
      if (outcome !== null) return outcome
    }
    throw new JournalError('held_too_long', 'Cannot find a booking: it keeps moving between units')
  }

  async ofMove<O>(
    limit: WriteLimit,
    agencyId: string,
    bookingId: string,
    targetUnitId: string,
    run: (from: UnitState, to: UnitState, row: BookingRow) => Promise<O>,
  ): Promise<O | NotFound> {
    for (let attempt = 0; attempt < FIND_ATTEMPTS_MAX; attempt++) {
      const found = await this.#rows.find(agencyId, bookingId)
      if (found === null) return { kind: 'not_found' }
      const unitId = found.booking.unitId
      const settle = async (from: UnitState, to: UnitState): Promise<O | null> => {
        limit.mustBeOpen()
        const row = await this.#currentRow(from, found)
        return row.booking.unitId === unitId ? run(from, to, row) : null
      }
      const outcome =
        unitId === targetUnitId
          ? await this.of(limit, agencyId, unitId, (state) => settle(state, state))
          : await this.#directory.turnOfTwo({ agencyId, unitId }, { agencyId, unitId: targetUnitId }, settle)
      if (outcome !== null) return outcome
    }
    throw new JournalError('held_too_long', 'Cannot find a booking: it keeps moving between units')
  }

  /**
   * The current row. No other write changes it while we hold the unit's turn, so one more read is enough.
   * @throws CorruptLedgerError when the row and the log of its unit contradict each other: what is decided from them could not be applied (D1)
   */
  async #currentRow(state: UnitState, found: BookingRow): Promise<BookingRow> {
    const { agencyId, booking } = found
    const current = found.seq === state.seq ? found : await this.#rows.find(agencyId, booking.id)
    if (current === null) throw new CorruptLedgerError(`Cannot change booking ${booking.id}: its row has vanished`)
    if (current.booking.unitId === state.unitId && !state.hasNightsOf(current.booking))
      throw new CorruptLedgerError(
        `Cannot change booking ${booking.id}: the log of its unit has some of its nights free`,
      )
    return current
  }
}
