import { charactersOf } from '../schema/text-schema.ts'

/** A search is applied from this many characters (docs/contract.md#limits). */
export const SEARCH_LENGTH_MIN = 2

/** The search that a list of guests applies; null for none. */
export function searchOf({ search = '' }: { search?: string }): string | null {
  return charactersOf(search) < SEARCH_LENGTH_MIN ? null : search
}
