import type { KeyCommands, NewKey } from '../accounts/key-commands.ts'
import { type Agency, SCOPES } from '../core/catalogue/agency.ts'
import type { Catalogue } from '../core/catalogue/catalogue.ts'
import type { Caller } from '../core/journal/record.ts'
import { DAY_MS } from '../lib/clock.ts'

/** Comes last: a demo without it was interrupted. Its secret is in a file; the other keys' are nowhere. */
export const DEMO_KEY: NewKey = { name: 'Demo key', scopes: SCOPES, expiresAt: null }

/** Of the demo's sandbox. Its secret is in a file too. */
export const SANDBOX_KEY: NewKey = { name: 'Sandbox key', scopes: SCOPES, expiresAt: null }

/** Books what the demo's partner has booked. */
const WEBSITE = 'Website'
/** Revoked as soon as it has been made. */
export const REVOKED_KEY = 'Old website'

/** Besides the demo key. @param now wall clock, ms */
export function partnerKeys(now: number): readonly NewKey[] {
  return [
    { name: REVOKED_KEY, scopes: ['read:units', 'read:availability'], expiresAt: null },
    {
      name: WEBSITE,
      scopes: ['read:units', 'read:availability', 'read:rates', 'read:bookings', 'write:bookings'],
      expiresAt: null,
    },
    { name: 'Channel manager', scopes: SCOPES, expiresAt: now + 180 * DAY_MS },
    {
      name: 'Price comparison',
      scopes: ['read:units', 'read:availability', 'read:rates'],
      expiresAt: now + 12 * DAY_MS,
    },
  ]
}

/** The website's key, while it is known: its secret is forgotten at the end of the run that creates it. */
export interface WebsiteKey {
  readonly id: string
  readonly secret: string
}

/**
 * Creates the keys that are not there yet, and revokes the old one.
 * @returns null when an earlier run has created the website's key
 */
export async function ensurePartnerKeys(
  agency: Agency,
  { catalogue, keys, now, caller }: { catalogue: Catalogue; keys: KeyCommands; now: number; caller: Caller },
): Promise<WebsiteKey | null> {
  let website: WebsiteKey | null = null
  for (const draft of partnerKeys(now)) {
    if (catalogue.keys.of(agency.id).some(({ name }) => name === draft.name)) continue
    const made = await keys.create(agency, draft, caller)
    if (made.kind !== 'done') continue
    const { key, secret } = made.value
    if (draft.name === REVOKED_KEY) await keys.revoke(agency, key.id, caller)
    if (draft.name === WEBSITE) website = { id: key.id, secret }
  }
  return website
}
