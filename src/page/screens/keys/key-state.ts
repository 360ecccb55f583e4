import type { Schema } from '../../api/schema.ts'
import { relativeTime } from '../../format/instants.ts'

export type Key = Schema<'Key'>

type KeyState = 'active' | 'expired' | 'revoked'

/** @param now milliseconds */
export function keyState({ revokedAt, expiresAt }: Pick<Key, 'revokedAt' | 'expiresAt'>, now: number): KeyState {
  if (revokedAt !== null) return 'revoked'
  return expiresAt !== null && Date.parse(expiresAt) <= now ? 'expired' : 'active'
}

/** What a key is called where it has no name. */
export function keyName({ name, prefix }: Pick<Key, 'name' | 'prefix'>): string {
  return name ?? `${prefix}…`
}

/** The service knows the minute, not the second: within two minutes it may be now. @param now milliseconds */
export function lastUseText(lastUsedAt: string, now: number, locale?: string): string {
  return now - Date.parse(lastUsedAt) < 2 * 60_000 ? 'just now' : relativeTime(lastUsedAt, now, locale)
}
