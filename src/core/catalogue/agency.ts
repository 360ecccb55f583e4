import type { Instant } from '../domain/booking.ts'

/** The plan an agency has bought. */
export interface Plan {
  readonly apiAccess: boolean
  /** Per API key, rolling minute. */
  readonly requestsPerMinute: number
  /** Per agency, calendar month in UTC. */
  readonly requestsPerMonth: number
}

/** A tenant (docs/contract.md#tenant). */
export interface Agency {
  readonly id: string
  readonly slug: string
  readonly name: string
  /** ISO 4217; all amounts are in its minor unit. */
  readonly currency: string
  /** IANA name. Days begin and end in this time zone. */
  readonly timezone: string
  readonly status: 'active' | 'suspended'
  readonly plan: Plan
  /** Hours a hold lasts when the request does not say, 1 to 2160. */
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

/** Pre-selected at key creation (docs/contract.md#authentication, rule 7). */
export const DEFAULT_SCOPES: readonly Scope[] = ['read:units', 'read:availability', 'read:rates', 'read:bookings']

/** The prefix of every key (docs/contract.md#authentication, rule 2). */
export const KEY_PREFIX = 'hr_live_'

/** An API key. Only the hash of its secret is stored (docs/contract.md#authentication, rule 2). */
export interface ApiKey {
  readonly id: string
  readonly agencyId: string
  readonly name: string | null
  /** The first characters of the secret, to recognize the key by. */
  readonly prefix: string
  /** SHA-256 of the secret, lower-case hex. */
  readonly secretSha256: string
  readonly scopes: readonly Scope[]
  readonly createdAt: Instant
  readonly expiresAt: Instant | null
  readonly revokedAt: Instant | null
  /** To the minute; null: never. Changed in place (KeyUses), and stored some time later. */
  lastUsedAt: Instant | null
}
