import type { AgencyStore, GuestWritten } from '../../accounts/agency-store.ts'
import type { Guest } from '../../core/bookings/booking-lists.ts'
import { WriteError } from '../../core/bookings/write-error.ts'
import type { AccessToken, Agency, ApiKey, Inventory } from '../../core/catalogue/agency.ts'
import type { Person } from '../../core/catalogue/people.ts'
import { HOLD_EXPIRED } from '../../core/domain/booking.ts'
import type { FeeType } from '../../core/domain/unit.ts'
import { encodeInstant, encoderOf } from '../../core/journal/fields.ts'
import type { ChangeLine } from '../../core/journal/record.ts'
import { shardOf } from '../../core/journal/shard.ts'
import { uuidOf } from '../../lib/ids.ts'
import type { Fragment, Sql } from '../client/connect.ts'
import { auditedWrite, fencedWrite } from './audited-write.ts'
import { PostgresCatalogueStore } from './postgres-catalogue-store.ts'
import { inserted } from './table.ts'
import { ACCESS_TOKEN, AGENCY, API_KEY, FEE_TYPE } from './tables.ts'

const UNIQUE_VIOLATION = '23505'

const encodeKey = encoderOf(API_KEY.fields)
const encodeAccessToken = encoderOf(ACCESS_TOKEN.fields)

/** Changes of the agency's own data, each one statement with its line of the audit trail. */
export class PostgresAgencyStore implements AgencyStore {
  readonly #sql: Sql
  readonly #catalogue: PostgresCatalogueStore
  readonly #epochOf: (agencyId: string) => number

  /** @param epochOf returns the current epoch of this writer for the agency, which may rise (Journal.epochOf) */
  constructor(sql: Sql, epochOf: (agencyId: string) => number) {
    this.#sql = sql
    this.#epochOf = epochOf
    this.#catalogue = new PostgresCatalogueStore(sql)
  }

  async insertAgency({ plan, clock, sandboxOf = null, ...agency }: Agency, audit: ChangeLine): Promise<boolean> {
    const clocks = {
      clockNow: clock === undefined ? null : encodeInstant(clock.now),
      clockTarget: clock === undefined ? null : encodeInstant(clock.target),
    }
    const row = { ...agency, ...plan, ...clocks, sandboxOf, createdAt: encodeInstant(agency.createdAt) }
    const insert = this.#sql`${inserted(this.#sql, AGENCY, row)} on conflict (slug) do nothing`
    // The sandbox of an agency is made in the agency's own trail. Both have the same shard.
    return this.#write(sandboxOf ?? agency.id, audit, insert)
  }

  /** Slug, currency and time zone never change: amounts and day boundaries already stored depend on them. */
  async updateAgency(agency: Agency, audit: ChangeLine): Promise<void> {
    const { plan } = agency
    const update = this.#sql`
      update agency set name = ${agency.name}, status = ${agency.status}, api_access = ${plan.apiAccess},
             requests_per_minute = ${plan.requestsPerMinute}, requests_per_month = ${plan.requestsPerMonth},
             default_hold_hours = ${agency.defaultHoldHours}
      where agency_id = ${uuidOf(agency.id)}`
    await this.#write(agency.id, audit, update)
  }

  async insertKey(key: ApiKey, audit: ChangeLine): Promise<void> {
    await this.#write(key.agencyId, audit, inserted(this.#sql, API_KEY, encodeKey(key)))
  }

  /**
   * Permanent: an earlier revocation keeps its time (docs/contract.md#authentication, rule 8). By the hash, because a reset of a sandbox
   * may have given the key to another agency since the caller found it: whichever has it, it must not open anything.
   */
  async revokeKey(key: ApiKey, revokedAt: number, audit: ChangeLine): Promise<void> {
    const update = this.#sql`
      update api_key set revoked_at = coalesce(revoked_at, ${new Date(revokedAt)})
      where secret_sha256 = ${key.secretSha256} and key_id = ${uuidOf(key.id)}`
    await this.#write(key.agencyId, audit, update, { isOfEnded: true })
  }

  async insertAccessToken(token: AccessToken, audit: ChangeLine): Promise<void> {
    await this.#write(token.agencyId, audit, inserted(this.#sql, ACCESS_TOKEN, encodeAccessToken(token)))
  }

  /** Permanent, as that of a key. */
  async revokeAccessToken(token: AccessToken, revokedAt: number, audit: ChangeLine): Promise<void> {
    const update = this.#sql`
      update access_token set revoked_at = coalesce(revoked_at, ${new Date(revokedAt)})
      where agency_id = ${uuidOf(token.agencyId)} and token_id = ${uuidOf(token.id)}`
    await this.#write(token.agencyId, audit, update)
  }

  async insertFeeType(agencyId: string, feeType: FeeType, audit: ChangeLine): Promise<void> {
    await this.#write(agencyId, audit, inserted(this.#sql, FEE_TYPE, { ...feeType, agencyId }))
  }

  async updateFeeType(agencyId: string, feeType: FeeType, audit: ChangeLine): Promise<void> {
    const update = this.#sql`
      update fee_type set label = ${feeType.label}, kind = ${feeType.kind}, amount = ${feeType.amount},
             basis_points = ${feeType.basisPoints}, includes_weekly_cleaning = ${feeType.includesWeeklyCleaning},
             application = ${feeType.application}, active = ${feeType.active}
      where agency_id = ${uuidOf(agencyId)} and fee_type_id = ${uuidOf(feeType.id)}`
    await this.#write(agencyId, audit, update)
  }

  async updateGuest(agencyId: string, guest: Guest, audit: ChangeLine): Promise<GuestWritten> {
    const update = this.#sql`
      update guest set first_name = ${guest.firstName}, last_name = ${guest.lastName}, email = ${guest.email},
             phone = ${guest.phone}, nationality = ${guest.nationality}, keep = ${guest.keep}
      where agency_id = ${uuidOf(agencyId)} and guest_id = ${uuidOf(guest.id)}`
    try {
      return (await this.#write(agencyId, audit, update)) ? 'written' : 'gone'
    } catch (error) {
      const cause = error instanceof WriteError ? error.cause : null
      if (cause instanceof Error && 'code' in cause && cause.code === UNIQUE_VIOLATION) return 'email_taken'
      throw error
    }
  }

  /** Journal batches write no notes of a booking that exists already, so neither overwrites the other. */
  async updateNotes(
    agencyId: string,
    { bookingId, notes, replaces }: Parameters<AgencyStore['updateNotes']>[1],
    audit: ChangeLine,
  ): Promise<boolean> {
    const update = this.#sql`
      update booking set notes = ${notes}
      where agency_id = ${uuidOf(agencyId)} and booking_id = ${uuidOf(bookingId)} and notes is not distinct from ${replaces}`
    return this.#write(agencyId, audit, update)
  }

  async eraseTexts(agencyId: string, bookingId: string, audit: ChangeLine): Promise<void> {
    const update = this.#sql`
      update booking set notes = null, source_ref = null,
                         cancel_reason = case when cancel_reason = ${HOLD_EXPIRED} then cancel_reason end
      where agency_id = ${uuidOf(agencyId)} and booking_id = ${uuidOf(bookingId)}`
    await this.#write(agencyId, audit, update)
  }

  async settle(agencyId: string): Promise<void> {
    await fencedWrite(this.#sql`select check_fence(${shardOf(agencyId)}, ${this.#epochOf(agencyId)}, true)`)
  }

  loadAgencies(): Promise<readonly Agency[]> {
    return this.#catalogue.loadAgencies()
  }

  loadKeys(): Promise<readonly ApiKey[]> {
    return this.#catalogue.loadKeys()
  }

  loadAccessTokens(): Promise<readonly AccessToken[]> {
    return this.#catalogue.loadAccessTokens()
  }

  loadPeople(): Promise<readonly Person[]> {
    return this.#catalogue.loadPeople()
  }

  loadInventory(agencyId: string): Promise<Inventory> {
    return this.#catalogue.loadInventory(agencyId)
  }

  /** @returns whether a row changed */
  async #write(
    agencyId: string,
    audit: ChangeLine,
    change: Fragment,
    options: { readonly isOfEnded?: boolean } = {},
  ): Promise<boolean> {
    const returning = this.#sql`${change} returning true`
    const write = { agencyId, epoch: this.#epochOf(agencyId), audit, change: returning, ...options }
    return (await auditedWrite(this.#sql, write)) !== null
  }
}
