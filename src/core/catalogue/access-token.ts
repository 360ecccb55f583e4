/** Access tokens: how people of an agency use the portal (docs/design.md#portal-access). */
import type { Instant } from '../domain/booking.ts'

/** What an access token may do, lowest first: each role may do everything that those before it may. */
export const ROLES = ['viewer', 'desk', 'manager', 'owner'] as const
export type Role = (typeof ROLES)[number]

/** The least that a portal operation asks for. `operator`: no access token suffices. */
export type RequiredRole = Role | 'operator'

const LOWEST_FIRST: readonly RequiredRole[] = [...ROLES, 'operator']

export function suffices(held: RequiredRole, required: RequiredRole): boolean {
  return LOWEST_FIRST.indexOf(held) >= LOWEST_FIRST.indexOf(required)
}

/** The prefix of every access token. */
export const TOKEN_PREFIX = 'hp_live_'

/** An access token. Only the hash of its secret is stored. */
export interface AccessToken {
  readonly id: string
  readonly agencyId: string
  /** For people: whose it is. */
  readonly name: string
  readonly role: Role
  /** The first characters of the secret, to recognize the token by. */
  readonly prefix: string
  /** SHA-256 of the secret, lower-case hex. */
  readonly secretSha256: string
  readonly createdAt: Instant
  readonly expiresAt: Instant | null
  readonly revokedAt: Instant | null
}
