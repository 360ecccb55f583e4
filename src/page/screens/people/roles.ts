import type { Schema } from '../../api/schema.ts'

export type Token = Schema<'AccessToken'>
export type Role = Token['role']

/** What each role lets a person do, the least first. Each includes those before it. */
export const ROLES: readonly { readonly role: Role; readonly label: string; readonly hint: string }[] = [
  { role: 'viewer', label: 'Viewer', hint: 'Sees everything but secrets, and changes nothing.' },
  { role: 'desk', label: 'Desk', hint: 'Also makes, changes and cancels bookings, and keeps the guests.' },
  { role: 'manager', label: 'Manager', hint: 'Also changes units, rates and fees, and sends webhooks again.' },
  { role: 'owner', label: 'Owner', hint: 'Does everything: also API keys, webhook endpoints and this list of people.' },
]

export function roleLabel(role: Role): string {
  return ROLES.find((known) => known.role === role)?.label ?? role
}

/** @param now milliseconds */
export function tokenState({ revokedAt, expiresAt }: Token, now: number): 'active' | 'expired' | 'revoked' {
  if (revokedAt !== null) return 'revoked'
  return expiresAt !== null && Date.parse(expiresAt) <= now ? 'expired' : 'active'
}
