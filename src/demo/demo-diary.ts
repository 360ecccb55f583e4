import type { PartnerAccess } from '../accounts/partner-access.ts'
import type { BookingCommands } from '../core/bookings/booking-commands.ts'
import type { BookingRequest } from '../core/bookings/booking-turns.ts'
import type { Agency } from '../core/catalogue/agency.ts'
import type { Booking } from '../core/domain/booking.ts'
import type { Night } from '../core/domain/night.ts'
import type { Caller } from '../core/journal/record.ts'
import { demoCancellations } from './demo-bookings.ts'
import type { WebsiteKey } from './demo-keys.ts'

/** On whose behalf the demo is made. */
export const DEMO_CALLER: Caller = { actor: { kind: 'system', id: null }, route: 'demo', requestId: null }

/**
 * Makes the demo's bookings. Those to come that are of the website are made with its key: they count as its requests, and the audit
 * trail names it.
 */
export class DemoDiary {
  readonly #commands: BookingCommands
  readonly #access: Pick<PartnerAccess, 'admit'>
  readonly #agency: Agency
  readonly #website: WebsiteKey | null
  readonly #today: Night
  readonly #booked: Booking[] = []

  constructor(options: {
    commands: BookingCommands
    access: Pick<PartnerAccess, 'admit'>
    agency: Agency
    website: WebsiteKey | null
    today: Night
  }) {
    this.#commands = options.commands
    this.#access = options.access
    this.#agency = options.agency
    this.#website = options.website
    this.#today = options.today
  }

  /** @throws Error when two of them overlap */
  async book(requests: readonly BookingRequest[]): Promise<void> {
    const outcomes = await Promise.all(
      requests.map((request) => this.#commands.book(this.#agency, request, this.#callerOf(request, 'bookings'))),
    )
    for (const outcome of outcomes) {
      if (outcome.kind !== 'done') throw new Error('Cannot make the demo: two of its bookings overlap')
      this.#booked.push(outcome.booking)
    }
  }

  async cancelSome(): Promise<void> {
    await Promise.all(
      demoCancellations(this.#booked, this.#today).map(({ booking, reason }) => {
        const caller = this.#callerOf({ source: booking.source, stay: booking }, 'bookings/{id}/cancel')
        return this.#commands.cancel(this.#agency, { bookingId: booking.id, reason }, caller)
      }),
    )
  }

  /** Takes the request of a website from its limits, as the partner surface does. */
  #callerOf({ source, stay }: Pick<BookingRequest, 'source' | 'stay'>, path: string): Caller {
    if (this.#website === null || source !== 'website' || stay.arrival < this.#today) return DEMO_CALLER
    const { id, secret } = this.#website
    this.#access.admit(`Bearer ${secret}`)
    return { actor: { kind: 'key', id }, route: `POST /partner/v1/${path}`, requestId: null }
  }
}
