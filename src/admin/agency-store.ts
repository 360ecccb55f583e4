import type { Guest } from '../core/bookings/guest-list.ts'
import type { AccessToken } from '../core/catalogue/access-token.ts'
import type { Agency, ApiKey } from '../core/catalogue/agency.ts'
import type { Inventory } from '../core/catalogue/inventory.ts'
import type { FeeType } from '../core/domain/rules.ts'
import type { AuditDraft } from '../core/journal/record.ts'

/**
 * Where the agency's own data is written: each change is one statement with its line of the audit trail, so that both are durable
 * or neither. What it writes throws JournalError when another process has taken over, and WriteError, which says what is known.
 */
export interface AgencyStore {
  /** False: another agency has the slug, and nothing is written. */
  insertAgency(agency: Agency, audit: AuditDraft): Promise<boolean>
  updateAgency(agency: Agency, audit: AuditDraft): Promise<void>
  insertKey(key: ApiKey, audit: AuditDraft): Promise<void>
  revokeKey(key: ApiKey, revokedAt: number, audit: AuditDraft): Promise<void>
  insertAccessToken(token: AccessToken, audit: AuditDraft): Promise<void>
  revokeAccessToken(token: AccessToken, revokedAt: number, audit: AuditDraft): Promise<void>
  insertFeeType(agencyId: string, feeType: FeeType, audit: AuditDraft): Promise<void>
  updateFeeType(agencyId: string, feeType: FeeType, audit: AuditDraft): Promise<void>
  /** False: another guest of the agency has the e-mail, and nothing is written. */
  updateGuest(agencyId: string, guest: Guest, audit: AuditDraft): Promise<boolean>
  /**
   * Settles when no write of this process to the agency is in progress any more, not even one whose reply was lost. A read after that
   * shows the final outcome.
   */
  settle(agencyId: string): Promise<void>
  loadAgencies(): Promise<readonly Agency[]>
  loadKeys(): Promise<readonly ApiKey[]>
  loadAccessTokens(): Promise<readonly AccessToken[]>
  loadInventory(agencyId: string): Promise<Inventory>
}
