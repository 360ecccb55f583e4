import type { Agency, ApiKey, Scope } from '../../core/catalogue/agency.ts'
import type { CatalogueStore } from '../../core/catalogue/catalogue.ts'
import { Inventory } from '../../core/catalogue/inventory.ts'
import type { FeeType } from '../../core/domain/rules.ts'
import type { Unit, UnitStatus } from '../../core/domain/unit.ts'
import { decodeRates } from '../../core/journal/entry-codec.ts'
import { withDeadline } from '../../lib/deadline.ts'
import type { Sql } from '../client/connect.ts'
import { QUERY_DEADLINE_MS } from './postgres-booking-rows.ts'

/** Reading everything at start may take longer than one request may. */
const LOAD_DEADLINE_MS = 30_000

/** Agencies, keys, units and fees as Postgres keeps them. Units are written by the journal only. */
export class PostgresCatalogueStore implements CatalogueStore {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  async loadAgencies(): Promise<readonly Agency[]> {
    const rows = await withDeadline(
      this.#sql<StoredAgency[]>`
        select agency_id as "id", slug, name, currency, timezone, status, api_access as "apiAccess",
               requests_per_minute as "requestsPerMinute", requests_per_month::float8 as "requestsPerMonth",
               default_hold_hours as "defaultHoldHours", created_at as "createdAt"
        from agency`,
      LOAD_DEADLINE_MS,
    )
    return rows.map(agencyOf)
  }

  async loadKeys(): Promise<readonly ApiKey[]> {
    const rows = await withDeadline(
      this.#sql<StoredKey[]>`
        select agency_id as "agencyId", key_id as "id", name, prefix, secret_sha256 as "secretSha256",
               to_jsonb(scopes) as scopes, created_at as "createdAt", expires_at as "expiresAt", revoked_at as "revokedAt"
        from api_key`,
      LOAD_DEADLINE_MS,
    )
    return rows.map(keyOf)
  }

  async loadInventory(agencyId: string): Promise<Inventory> {
    const [units, feeTypes] = await withDeadline(
      Promise.all([this.#loadUnits(agencyId), this.#loadFeeTypes(agencyId)]),
      QUERY_DEADLINE_MS,
    )
    return new Inventory(units.map(unitOf), feeTypes)
  }

  async insertAgency(agency: Agency): Promise<void> {
    await withDeadline(agencyInsert(this.#sql, agency), QUERY_DEADLINE_MS)
  }

  async insertKey(key: ApiKey): Promise<void> {
    await withDeadline(keyInsert(this.#sql, key), QUERY_DEADLINE_MS)
  }

  async revokeKey(key: ApiKey, revokedAt: number): Promise<void> {
    await withDeadline(keyRevocation(this.#sql, key, revokedAt), QUERY_DEADLINE_MS)
  }

  async insertFeeType(agencyId: string, feeType: FeeType): Promise<void> {
    await withDeadline(feeTypeInsert(this.#sql, agencyId, feeType), QUERY_DEADLINE_MS)
  }

  #loadUnits(agencyId: string): PromiseLike<StoredUnitRow[]> {
    return this.#sql<StoredUnitRow[]>`
      select unit_id as "id", slug, name, status, city, area, building, bedrooms, beds, bathrooms,
             max_guests as "maxGuests", size_sqm as "sizeSqm", checkin_time as "checkinTime",
             checkout_time as "checkoutTime", instant_book as "instantBook", base_price::float8 as "basePrice",
             cleaning_fee::float8 as "cleaningFee", extra_bed_fee::float8 as "extraBedFee", min_stay as "minStay",
             turnover_nights as "turnoverNights", rates
      from unit where agency_id = ${agencyId}`
  }

  #loadFeeTypes(agencyId: string): PromiseLike<FeeType[]> {
    return this.#sql<FeeType[]>`
      select fee_type_id as "id", label, kind, amount::float8 as "amount", basis_points as "basisPoints",
             includes_weekly_cleaning as "includesWeeklyCleaning", application, active
      from fee_type where agency_id = ${agencyId} order by position`
  }
}

interface StoredAgency {
  id: string
  slug: string
  name: string
  currency: string
  timezone: string
  status: Agency['status']
  apiAccess: boolean
  requestsPerMinute: number
  requestsPerMonth: number
  defaultHoldHours: number
  createdAt: Date
}

interface StoredKey {
  agencyId: string
  id: string
  name: string | null
  prefix: string
  secretSha256: string
  scopes: Scope[]
  createdAt: Date
  expiresAt: Date | null
  revokedAt: Date | null
}

interface StoredUnitRow {
  id: string
  slug: string
  name: string
  status: UnitStatus
  city: string | null
  area: string | null
  building: string | null
  bedrooms: number
  beds: number
  bathrooms: number
  maxGuests: number
  sizeSqm: number | null
  checkinTime: string
  checkoutTime: string
  instantBook: boolean
  basePrice: number
  cleaningFee: number
  extraBedFee: number
  minStay: number
  turnoverNights: number
  rates: Record<string, unknown>
}

function agencyOf(row: StoredAgency): Agency {
  const { apiAccess, requestsPerMinute, requestsPerMonth, createdAt, ...rest } = row
  return { ...rest, plan: { apiAccess, requestsPerMinute, requestsPerMonth }, createdAt: createdAt.getTime() }
}

function keyOf(row: StoredKey): ApiKey {
  return {
    ...row,
    createdAt: row.createdAt.getTime(),
    expiresAt: row.expiresAt?.getTime() ?? null,
    revokedAt: row.revokedAt?.getTime() ?? null,
  }
}

function unitOf(row: StoredUnitRow): Unit {
  const { basePrice, cleaningFee, extraBedFee, minStay, turnoverNights, rates, ...unit } = row
  return {
    ...unit,
    rules: { basePrice, cleaningFee, extraBedFee, minStay, turnoverNights, rates: decodeRates(rates) },
  }
}

function instant(value: number | null): Date | null {
  return value === null ? null : new Date(value)
}

/*
 * Statements that run alone, or as a part of one that writes its line of the audit trail too (src/postgres/stores/postgres-agency-store.ts).
 */

export function agencyInsert(sql: Sql, agency: Agency) {
  const { plan } = agency
  return sql`
    insert into agency (agency_id, slug, name, currency, timezone, status, api_access, requests_per_minute,
                        requests_per_month, default_hold_hours, created_at)
    values (${agency.id}, ${agency.slug}, ${agency.name}, ${agency.currency}, ${agency.timezone},
            ${agency.status}, ${plan.apiAccess}, ${plan.requestsPerMinute}, ${plan.requestsPerMonth},
            ${agency.defaultHoldHours}, ${new Date(agency.createdAt)})`
}

/** Slug, currency and time zone never change: amounts and day boundaries already stored depend on them. */
export function agencyUpdate(sql: Sql, agency: Agency) {
  const { plan } = agency
  return sql`
    update agency set name = ${agency.name}, status = ${agency.status}, api_access = ${plan.apiAccess},
           requests_per_minute = ${plan.requestsPerMinute}, requests_per_month = ${plan.requestsPerMonth},
           default_hold_hours = ${agency.defaultHoldHours}
    where agency_id = ${agency.id}`
}

export function keyInsert(sql: Sql, key: ApiKey) {
  return sql`
    insert into api_key (agency_id, key_id, name, prefix, secret_sha256, scopes, created_at, expires_at, revoked_at)
    values (${key.agencyId}, ${key.id}, ${key.name}, ${key.prefix}, ${key.secretSha256},
            array(select jsonb_array_elements_text(${JSON.stringify(key.scopes)}::text::jsonb)),
            ${new Date(key.createdAt)}, ${instant(key.expiresAt)}, ${instant(key.revokedAt)})`
}

/** Permanent: an earlier revocation keeps its time (contract, Authentication rule 8). */
export function keyRevocation(sql: Sql, key: ApiKey, revokedAt: number) {
  return sql`
    update api_key set revoked_at = coalesce(revoked_at, ${new Date(revokedAt)})
    where agency_id = ${key.agencyId} and key_id = ${key.id}`
}

export function feeTypeInsert(sql: Sql, agencyId: string, feeType: FeeType) {
  return sql`
    insert into fee_type (agency_id, fee_type_id, label, kind, amount, basis_points, includes_weekly_cleaning,
                          application, active)
    values (${agencyId}, ${feeType.id}, ${feeType.label}, ${feeType.kind}, ${feeType.amount},
            ${feeType.basisPoints}, ${feeType.includesWeeklyCleaning}, ${feeType.application},
            ${feeType.active})`
}

export function feeTypeUpdate(sql: Sql, agencyId: string, feeType: FeeType) {
  return sql`
    update fee_type set label = ${feeType.label}, kind = ${feeType.kind}, amount = ${feeType.amount},
           basis_points = ${feeType.basisPoints}, includes_weekly_cleaning = ${feeType.includesWeeklyCleaning},
           application = ${feeType.application}, active = ${feeType.active}
    where agency_id = ${agencyId} and fee_type_id = ${feeType.id}`
}
