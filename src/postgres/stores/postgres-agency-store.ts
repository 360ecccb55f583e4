import type { PendingQuery, Row } from 'postgres'
import type { AgencyStore } from '../../admin/agency-store.ts'
import type { Guest } from '../../core/bookings/guest-list.ts'
import { WriteError } from '../../core/bookings/write-error.ts'
import type { Agency, ApiKey } from '../../core/catalogue/agency.ts'
import type { Inventory } from '../../core/catalogue/inventory.ts'
import type { FeeType } from '../../core/domain/rules.ts'
import type { AuditDraft } from '../../core/journal/record.ts'
import type { Sql } from '../client/connect.ts'
import { auditedWrite, fencedWrite } from './audited-write.ts'
import {
  agencyInsert,
  agencyUpdate,
  feeTypeInsert,
  feeTypeUpdate,
  keyInsert,
  keyRevocation,
  PostgresCatalogueStore,
} from './postgres-catalogue-store.ts'

const UNIQUE_VIOLATION = '23505'

/** Changes of the agency's own data, each one statement with its line of the audit trail. */
export class PostgresAgencyStore implements AgencyStore {
  readonly #sql: Sql
  readonly #catalogue: PostgresCatalogueStore
  readonly #epoch: () => number

  /** @param epoch returns the current epoch of this writer, which may rise (Journal.epoch) */
  constructor(sql: Sql, epoch: () => number) {
    this.#sql = sql
    this.#epoch = epoch
    this.#catalogue = new PostgresCatalogueStore(sql)
  }

  async insertAgency(agency: Agency, audit: AuditDraft): Promise<boolean> {
    const insert = this.#sql`${agencyInsert(this.#sql, agency)} on conflict (slug) do nothing`
    return this.#write(agency.id, audit, insert)
  }

  async updateAgency(agency: Agency, audit: AuditDraft): Promise<void> {
    await this.#write(agency.id, audit, agencyUpdate(this.#sql, agency))
  }

  async insertKey(key: ApiKey, audit: AuditDraft): Promise<void> {
    await this.#write(key.agencyId, audit, keyInsert(this.#sql, key))
  }

  async revokeKey(key: ApiKey, revokedAt: number, audit: AuditDraft): Promise<void> {
    await this.#write(key.agencyId, audit, keyRevocation(this.#sql, key, revokedAt))
  }

  async insertFeeType(agencyId: string, feeType: FeeType, audit: AuditDraft): Promise<void> {
    await this.#write(agencyId, audit, feeTypeInsert(this.#sql, agencyId, feeType))
  }

  async updateFeeType(agencyId: string, feeType: FeeType, audit: AuditDraft): Promise<void> {
    await this.#write(agencyId, audit, feeTypeUpdate(this.#sql, agencyId, feeType))
  }

  async updateGuest(agencyId: string, guest: Guest, audit: AuditDraft): Promise<boolean> {
    const update = this.#sql`
      update guest set first_name = ${guest.firstName}, last_name = ${guest.lastName}, email = ${guest.email},
             phone = ${guest.phone}, nationality = ${guest.nationality}
      where agency_id = ${agencyId} and guest_id = ${guest.id}`
    try {
      await this.#write(agencyId, audit, update)
      return true
    } catch (error) {
      const cause = error instanceof WriteError ? error.cause : null
      if (cause instanceof Error && 'code' in cause && cause.code === UNIQUE_VIOLATION) return false
      throw error
    }
  }

  async settle(): Promise<void> {
    await fencedWrite(this.#sql`select check_fence(${this.#epoch()}, true)`)
  }

  loadAgencies(): Promise<readonly Agency[]> {
    return this.#catalogue.loadAgencies()
  }

  loadKeys(): Promise<readonly ApiKey[]> {
    return this.#catalogue.loadKeys()
  }

  loadInventory(agencyId: string): Promise<Inventory> {
    return this.#catalogue.loadInventory(agencyId)
  }

  /** @returns whether a row changed */
  async #write(agencyId: string, audit: AuditDraft, change: PendingQuery<Row[]>): Promise<boolean> {
    const returning = this.#sql`${change} returning true`
    return (await auditedWrite(this.#sql, { ...{ agencyId, epoch: this.#epoch(), audit }, change: returning })) !== null
  }
}
