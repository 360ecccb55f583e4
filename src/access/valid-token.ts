import type { TokenHolder } from '../core/catalogue/catalogue.ts'

/** Whether an access token opens its agency at `now`: it is not revoked and has not expired, and the agency is active. */
export function isTokenValid({ token, agency }: TokenHolder, now: number): boolean {
  if (token.revokedAt !== null || agency.status !== 'active') return false
  return token.expiresAt === null || now <= token.expiresAt
}
