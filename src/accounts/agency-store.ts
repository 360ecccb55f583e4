import type { Guest } from '../core/bookings/booking-lists.ts'
import type { AccessToken, Agency, ApiKey, Inventory } from '../core/catalogue/agency.ts'
import type { Person } from '../core/catalogue/people.ts'
import type { FeeType } from '../core/domain/unit.ts'
import type { ChangeLine } from '../core/journal/record.ts'

/** `email_taken`: another guest of the agency has the e-mail. `gone`: the guest was erased. Nothing is written then. */
export type GuestWritten = 'written' | 'email_taken' | 'gone'

/**
 * Where the agency's own data is written: each change is one statement with its line of the audit trail, so that both are durable
 * or neither. What it writes throws JournalError when another process has taken over, and WriteError, which says what is known.
 */
export interface AgencyStore {
  /** False: another agency has the slug, and nothing is written. */
  insertAgency(agency: Agency, audit: ChangeLine): Promise<boolean>
  updateAgency(agency: Agency, audit: ChangeLine): Promise<void>
  insertKey(key: ApiKey, audit: ChangeLine): Promise<void>
  revokeKey(key: ApiKey, revokedAt: number, audit: ChangeLine): Promise<void>
  insertAccessToken(token: AccessToken, audit: ChangeLine): Promise<void>
  revokeAccessToken(token: AccessToken, revokedAt: number, audit: ChangeLine): Promise<void>
  insertFeeType(agencyId: string, feeType: FeeType, audit: ChangeLine): Promise<void>
  updateFeeType(agencyId: string, feeType: FeeType, audit: ChangeLine): Promise<void>
  updateGuest(agencyId: string, guest: Guest, audit: ChangeLine): Promise<GuestWritten>
  /** @returns false when the booking has other notes than `replaces`, or is gone: nothing is written */
  updateNotes(
    agencyId: string,
    change: { readonly bookingId: string; readonly notes: string | null; readonly replaces: string | null },
    audit: ChangeLine,
  ): Promise<boolean>
  /** Notes, reference and the reason of a cancellation, unless that is the service's own. */
  eraseTexts(agencyId: string, bookingId: string, audit: ChangeLine): Promise<void>
  /**
   * Settles when no write of this process to the agency is in progress any more, not even one whose reply was lost. A read after that
   * shows the final outcome.
   */
  settle(agencyId: string): Promise<void>
  loadAgencies(): Promise<readonly Agency[]>
  loadKeys(): Promise<readonly ApiKey[]>
  loadAccessTokens(): Promise<readonly AccessToken[]>
  loadPeople(): Promise<readonly Person[]>
  loadInventory(agencyId: string): Promise<Inventory>
}
