/** Changes to the notes of bookings by the agency. Free text: in Postgres only, and no part of any event (docs/decisions.md#the-ledger). */

import type { AgencyBooking, AgencyBookings } from '../core/bookings/agency-bookings.ts'
import { successLine } from '../core/bookings/audit-lines.ts'
import type { Agency } from '../core/catalogue/agency.ts'
import type { Caller, KeepChange } from '../core/journal/record.ts'
import type { Clock } from '../lib/clock.ts'
import type { IdSource } from '../lib/ids.ts'
import { KeyedTurns } from '../lib/keyed-turns.ts'
import type { AgencyStore } from './agency-store.ts'
import { type AgencyOutcome, done, NOT_FOUND, refused } from './outcome.ts'

export interface NotesAsked {
  readonly bookingId: string
  /** Null: none. */
  readonly notes: string | null
  /** The notes that the change is based on: refused if the booking has others in its turn. Left out: any. */
  readonly replaces?: string | null | undefined
}

export class BookingNotes {
  readonly #bookings: Pick<AgencyBookings, 'find'>
  readonly #store: Pick<AgencyStore, 'updateNotes'>
  readonly #dependencies: { readonly clock: Clock; readonly newId: IdSource }
  readonly #turns = new KeyedTurns()

  constructor(options: {
    bookings: Pick<AgencyBookings, 'find'>
    store: Pick<AgencyStore, 'updateNotes'>
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
    { bookingId, notes, replaces }: NotesAsked,
    caller: Caller,
    keep?: KeepChange<AgencyBooking>,
  ): Promise<AgencyOutcome<AgencyBooking>> {
    return this.#turns.run(bookingId, async () => {
      const current = await this.#bookings.find(agency.id, bookingId)
      if (current === null) return NOT_FOUND
      if (replaces !== undefined && replaces !== current.notes)
        return refused({ code: 'NOTES_CHANGED', notes: current.notes })
      const after = { ...current, notes }
      const answer = keep?.(after)
      const line = {
        ...successLine(this.#dependencies, caller, bookingId),
        ...(answer === undefined ? {} : { answer }),
      }
      await this.#store.updateNotes(agency.id, { bookingId, notes }, line)
      return done(after)
    })
  }
}
