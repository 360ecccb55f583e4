import type { Instant } from '../domain/booking.ts'

/** What an agency has bought. */
export interface Plan {
  readonly apiAccess: boolean
  /** Per API key, rolling minute. */
  readonly requestsPerMinute: number
  /** Per agency, calendar month in UTC. */
  readonly requestsPerMonth: number
}

/** A tenant (contract, Tenant). */
export interface Agency {
  readonly id: string
  readonly slug: string
  readonly name: string
  /** ISO 4217; all amounts are in its minor unit. */
  readonly currency: string
  /** IANA name; day boundaries are meant in it. */
  readonly timezone: string
  readonly status: 'active' | 'suspended'
  readonly plan: Plan
  /** Lifetime of a hold for which none was asked, 1 to 2160. */
  readonly defaultHoldHours: number
  readonly createdAt: Instant
}

export const SCOPES = [
  'read:units',
  'read:availability',
  'read:rates',
  'read:bookings',
  'read:guests',
  'write:bookings',
] as const
export type Scope = (typeof SCOPES)[number]

/** Pre-selected at key creation (contract, Authentication rule 7). */
export const DEFAULT_SCOPES: readonly Scope[] = ['read:units', 'read:availability', 'read:rates', 'read:bookings']

/** Every key begins with it (contract, Authentication rule 2). */
export const KEY_PREFIX = 'hr_live_'

/** An API key; of the secret only the hash is known (contract, Authentication rule 2). */
export interface ApiKey {
  readonly id: string
  readonly agencyId: string
  readonly name: string | null
  /** The leading part of the secret, for recognition. */
  readonly prefix: string
  /** SHA-256 of the secret, lower-case hex. */
  readonly secretSha256: string
  readonly scopes: readonly Scope[]
  readonly createdAt: Instant
  readonly expiresAt: Instant | null
  readonly revokedAt: Instant | null
}
