import type { Catalogue } from '../catalogue/catalogue.ts'
import type { Inventory } from '../catalogue/inventory.ts'
import type { UnitState } from '../domain/unit-state.ts'
import { CorruptLedgerError } from '../journal/corrupt-ledger-error.ts'
import { JournalError } from '../journal/journal-error.ts'
import type { UnitDirectory } from '../units/unit-directory.ts'
import type { NotFound } from './booking-request.ts'
import type { BookingRow, BookingRows } from './booking-rows.ts'
import type { Write } from './write-limit.ts'

/** A booking that keeps moving between units while we look for it is looked for this often. */
const FIND_ATTEMPTS_MAX = 8

/** What a command decides from, all as it is in its turn: nothing of it changes until the command waits for something. */
export interface Turn {
  /** The unit's; of a move, that of the unit the booking is in. */
  readonly state: UnitState
  /** Of a move, that of the unit it goes to; else the same as `state`. */
  readonly target: UnitState
  readonly inventory: Inventory
}

/** Gives a command the turn of the units it needs, and the current row of the booking it is about. */
export class BookingTurns {
  readonly #directory: UnitDirectory
  readonly #catalogue: Catalogue
  readonly #rows: BookingRows

  constructor(options: { directory: UnitDirectory; catalogue: Catalogue; rows: BookingRows }) {
    this.#directory = options.directory
    this.#catalogue = options.catalogue
    this.#rows = options.rows
  }

  /** Runs when it is the command's turn, unless its caller has been refused by then. */
  of<T>(write: Write, unitId: string, run: (turn: Turn) => Promise<T>): Promise<T> {
    return this.#directory.turn({ agencyId: write.agency.id, unitId }, (state) => this.#run(write, state, state, run))
  }

  /**
   * Runs with the unit that the booking is in and its current row. Another write may move it while we wait: look again.
   * @param targetId of the unit that the booking moves to; left out: it stays
   */
  async ofBooking<O>(
    write: Write,
    { bookingId, targetId }: { bookingId: string; targetId?: string | undefined },
    run: (turn: Turn, row: BookingRow) => Promise<O>,
  ): Promise<O | NotFound> {
    const agencyId = write.agency.id
    for (let attempt = 0; attempt < FIND_ATTEMPTS_MAX; attempt++) {
      const found = await this.#rows.find(agencyId, bookingId)
      if (found === null) return { kind: 'not_found' }
      const { unitId } = found.booking
      const runIfThere = async (turn: Turn): Promise<O | null> => {
        const row = await this.#currentRow(turn.state, found)
        return row.booking.unitId === unitId ? run(turn, row) : null
      }
      const outcome =
        targetId === undefined || targetId === unitId
          ? await this.of(write, unitId, runIfThere)
          : await this.#directory.turnOfTwo({ agencyId, unitId }, { agencyId, unitId: targetId }, (state, target) =>
              this.#run(write, state, target, runIfThere),
            )
      if (outcome !== null) return outcome
    }
    throw new JournalError('held_too_long', 'Cannot find a booking: it keeps moving between units')
  }

  /** At once when the agency's units and fees are in memory. */
  #run<T>(write: Write, state: UnitState, target: UnitState, run: (turn: Turn) => Promise<T>): Promise<T> {
    write.limit.mustBeOpen()
    const inventory = this.#catalogue.peekInventory(write.agency.id)
    return inventory === null ? this.#runLater(write, state, target, run) : run({ state, target, inventory })
  }

  async #runLater<T>(write: Write, state: UnitState, target: UnitState, run: (turn: Turn) => Promise<T>): Promise<T> {
    // It was put back while the command waited for its turn, and may be again while it is taken out.
    await this.#catalogue.inventory(write.agency.id)
    return this.#run(write, state, target, run)
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
