/** Changes to guests by the agency. Personal data: in Postgres only, and no part of any event (docs/decisions.md#the-ledger). */

import type { Guest, GuestList } from '../core/bookings/booking-lists.ts'
import { changeLine } from '../core/bookings/durable-writes.ts'
import type { Agency } from '../core/catalogue/agency.ts'
import type { Caller, KeepChange } from '../core/journal/record.ts'
import type { Clock } from '../lib/clock.ts'
import type { IdSource } from '../lib/ids.ts'
import { KeyedTurns } from '../lib/queues.ts'
import type { AgencyStore } from './agency-store.ts'
import { type AgencyOutcome, done, NOT_FOUND, refused } from './store-retries.ts'

/** Members left out stay as they are. */
export type GuestChange = Partial<Omit<Guest, 'id' | 'createdAt'>>

export class GuestCommands {
  readonly #guests: Pick<GuestList, 'find'>
  readonly #store: AgencyStore
  readonly #dependencies: { readonly clock: Clock; readonly newId: IdSource }
  readonly #turns = new KeyedTurns()
  /** By agency. */
  readonly #changes = new Map<string, number>()

  constructor(options: { guests: Pick<GuestList, 'find'>; store: AgencyStore; clock: Clock; newId: IdSource }) {
    this.#guests = options.guests
    this.#store = options.store
    this.#dependencies = options
  }

  change(
    agency: Agency,
    guestId: string,
    change: GuestChange,
    caller: Caller,
    keep?: KeepChange<Guest>,
  ): Promise<AgencyOutcome<Guest>> {
    return this.#turns.run(guestId, async () => {
      const current = await this.#guests.find(agency.id, guestId)
      if (current === null) return NOT_FOUND
      const guest: Guest = { ...current, ...change }
      const line = changeLine(this.#dependencies, caller, keep?.(guest))
      // Counted also when it fails: it may have been written.
      const written = await this.#store.updateGuest(agency.id, guest, line).finally(() => this.#count(agency))
      // Erased meanwhile.
      if (written === 'gone') return NOT_FOUND
      return written === 'written' ? done(guest) : refused({ code: 'EMAIL_TAKEN', email: guest.email ?? '' })
    })
  }

  /** How many changes were tried since the start; it rises before a change is answered. New guests come with bookings, and do not count. */
  changesOf({ id }: Agency): number {
    return this.#changes.get(id) ?? 0
  }

  #count(agency: Agency): void {
    this.#changes.set(agency.id, this.changesOf(agency) + 1)
  }
}
