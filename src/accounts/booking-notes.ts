/** Changes to the free texts of bookings by the agency: in Postgres only, and in no journal entry (docs/decisions.md#the-ledger). */

import type { AgencyBooking, AgencyBookings } from '../core/bookings/booking-lists.ts'
import { successLine } from '../core/bookings/durable-writes.ts'
import type { Agency } from '../core/catalogue/agency.ts'
import { HOLD_EXPIRED } from '../core/domain/booking.ts'
import type { Caller, ChangeLine, KeepChange } from '../core/journal/record.ts'
import type { Clock } from '../lib/clock.ts'
import type { IdSource } from '../lib/ids.ts'
import { KeyedTurns } from '../lib/queues.ts'
import type { AgencyStore } from './agency-store.ts'
import { type AgencyOutcome, done, NOT_FOUND, refused } from './store-retries.ts'

interface NotesChange {
  readonly bookingId: string
  /** Null: none. */
  readonly notes: string | null
  /** The notes that the change is based on: refused if the booking has others in its turn. Left out: any. */
  readonly replaces?: string | null | undefined
}

export class BookingNotes {
  readonly #bookings: Pick<AgencyBookings, 'find'>
  readonly #store: Pick<AgencyStore, 'updateNotes' | 'eraseTexts'>
  readonly #dependencies: {
    readonly clock: Clock
    readonly newId: IdSource
    readonly onErased: (agencyId: string) => void
  }
  readonly #turns = new KeyedTurns()

  constructor(options: {
    bookings: Pick<AgencyBookings, 'find'>
    store: Pick<AgencyStore, 'updateNotes' | 'eraseTexts'>
    /** Called when texts were erased: whatever has them in memory must read them again. */
    onErased: (agencyId: string) => void
    clock: Clock
    newId: IdSource
  }) {
    this.#bookings = options.bookings
    this.#store = options.store
    this.#dependencies = options
  }

  /** The version of the booking stays as it is: it counts what the rules depend on. */
  set(
    agency: Agency,
    { bookingId, notes, replaces }: NotesChange,
    caller: Caller,
    keep?: KeepChange<AgencyBooking>,
  ): Promise<AgencyOutcome<AgencyBooking>> {
    return this.#turns.run(bookingId, async () => {
      for (;;) {
        const current = await this.#bookings.find(agency.id, bookingId)
        if (current === null) return NOT_FOUND
        if (replaces !== undefined && replaces !== current.notes)
          return refused({ code: 'NOTES_CHANGED', notes: current.notes })
        const after = { ...current, notes }
        const line = this.#line(bookingId, caller, keep?.(after))
        // An erasure of the guest does not wait for this turn: what was read may be gone (G1).
        if (await this.#store.updateNotes(agency.id, { bookingId, notes, replaces: current.notes }, line))
          return done(after)
      }
    })
  }

  /**
   * Erases what may say who the guest is beside the guest's own data: notes, reference, and the reason of a cancellation. Version and feed
   * of changes stay as they are; what was sent to partners before cannot be taken back.
   */
  eraseTexts(
    agency: Agency,
    bookingId: string,
    caller: Caller,
    keep?: KeepChange<AgencyBooking>,
  ): Promise<AgencyOutcome<AgencyBooking>> {
    return this.#turns.run(bookingId, async () => {
      const current = await this.#bookings.find(agency.id, bookingId)
      if (current === null) return NOT_FOUND
      const { booking } = current
      const cancelReason = booking.cancelReason === HOLD_EXPIRED ? HOLD_EXPIRED : null
      const after = { ...current, notes: null, booking: { ...booking, sourceRef: null, cancelReason } }
      await this.#store.eraseTexts(agency.id, bookingId, this.#line(bookingId, caller, keep?.(after)))
      this.#dependencies.onErased(agency.id)
      return done(after)
    })
  }

  #line(bookingId: string, caller: Caller, answer?: ReturnType<KeepChange<AgencyBooking>>): ChangeLine {
    const line = successLine(this.#dependencies, caller, bookingId)
    return answer === undefined ? line : { ...line, answer }
  }
}
