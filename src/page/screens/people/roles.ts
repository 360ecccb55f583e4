import type { Schema } from '../../api/schema.ts'

export type Token = Schema<'AccessToken'>
export type Role = Token['role']

/** What each role lets a person do, the least first. Each includes those before it. */
export const ROLES: readonly { readonly role: Role; readonly label: string; readonly hint: string }[] = [
  { role: 'viewer', label: 'Viewer', hint: 'Can see everything except secrets, but cannot change anything.' },
  { role: 'desk', label: 'Desk', hint: 'Can also make, change and cancel bookings, and edit guests.' },
  { role: 'manager', label: 'Manager', hint: 'Can also change units, rates and fees, and resend webhooks.' },
  {
    role: 'owner',
    label: 'Owner',
    hint: 'Can do everything, including API keys, webhook endpoints and who has access.',
  },
]

export function roleLabel(role: Role | 'operator'): string {
  return ROLES.find((known) => known.role === role)?.label ?? role
}

/** @param now milliseconds */
export function tokenState({ revokedAt, expiresAt }: Token, now: number): 'active' | 'expired' | 'revoked' {
  if (revokedAt !== null) return 'revoked'
  return expiresAt !== null && Date.parse(expiresAt) <= now ? 'expired' : 'active'
}
