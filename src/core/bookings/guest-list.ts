import type { Instant } from '../domain/booking.ts'
import type { Listed } from './booking-list.ts'

/** A guest of an agency (docs/contract.md#guest): personal data, in Postgres only. */
export interface Guest {
  readonly id: string
  readonly firstName: string
  readonly lastName: string
  readonly email: string | null
  readonly phone: string | null
  readonly nationality: string | null
  readonly createdAt: Instant
}

export interface GuestList {
  /**
   * Newest first, ties by id (docs/contract.md#get-guests).
   * @param search part of a first name, last name, e-mail or phone, whatever the case; null: all guests
   */
  list(agencyId: string, search: string | null, page: { offset: number; limit: number }): Promise<Listed<Guest>>
  /** Null for an unknown id, and for a guest of another agency. */
  find(agencyId: string, guestId: string): Promise<Guest | null>
}
