/** Turns a guest search into a condition that the trigram index answers with few reads. */
import { uuidOf } from '../../lib/ids.ts'
import type { Fragment, Sql } from '../client/connect.ts'

/**
 * The most trigrams looked up one by one. A trigram that every guest has costs two blocks for each guest that has all the previous
 * ones, up to 260 in a million guests.
 */
const TRIGRAMS_MAX = 6
/** Trigrams of the domain when the part before the `@` is looked up: most guests share their domain with many others. */
const DOMAIN_TRIGRAMS_MAX = 2
/**
 * Up to this many, the text that contains them is looked up as well: its other trigrams show where words begin and end. They are
 * looked up all at once, so for a longer text they would cost more than they save.
 */
const WHOLE_TRIGRAMS_MAX = 4

/** In every locale, a text with such a part has at least one trigram. */
const HAS_TRIGRAM = /[a-z0-9]{3}|[^a-z0-9][a-z0-9]|[a-z0-9]{2}[^a-z0-9]/i

/**
 * The condition on `guest` for the agency's guests with `search` in first name, last name, e-mail or phone, whatever the case:
 * what `ilike` on each of the four columns finds.
 */
export function guestMatches(sql: Sql, agencyId: string, search: string): Fragment {
  const pattern = patternOf(search)
  // The text has line breaks between the columns, so only a search that contains one could match across two of them.
  const isInOneColumn = search.includes('\n')
    ? sql`and (first_name ilike ${pattern} or last_name ilike ${pattern} or email ilike ${pattern} or phone ilike ${pattern})`
    : sql``
  const text = sql`guest_text(first_name, last_name, email, phone)`
  // An index scan without any trigram would read all of the index, so the concatenation keeps the planner from it.
  if (!hasTrigram(search))
    return sql`agency_id = ${uuidOf(agencyId)} and (${text} || '') like lower(${pattern}) ${isInOneColumn}`
  const parts = indexedParts(search)
  // GIN takes the conditions in their order, and looks the next one up only for guests that meet those before it.
  return sql`
    ${parts.map((part) => sql`${text} like lower(${patternOf(part)}) and `)}
    agency_id::text = ${uuidOf(agencyId)}::text::uuid::text
    ${parts.includes(search) ? sql`` : sql`and (${text} || '') like lower(${pattern})`} ${isInOneColumn}`
}

/** Whether a text of three or more characters is certain to have a trigram that the index can look up. */
export function hasTrigram(search: string): boolean {
  return [...search].length >= 3 && HAS_TRIGRAM.test(search)
}

/**
 * The parts of a search that has a trigram, to be looked up in this order, at least one: first those that the fewest guests are
 * likely to have.
 */
export function indexedParts(search: string): readonly string[] {
  const at = search.indexOf('@')
  const local = at === -1 ? search : search.slice(0, at + 1)
  const domain = rareTrigrams(search.slice(local.length))
  if (hasTrigram(local)) return [...withWhole(rareTrigrams(local), local), ...domain.slice(0, DOMAIN_TRIGRAMS_MAX)]
  return withWhole(domain, search)
}

function withWhole(trigrams: readonly string[], whole: string): readonly string[] {
  if (trigrams.length > WHOLE_TRIGRAMS_MAX) return trigrams.slice(0, TRIGRAMS_MAX)
  return [...trigrams.filter((trigram) => trigram !== whole), whole]
}

/**
 * Trigrams of ASCII letters and digits, those with digits before those of letters, and the ends of a word before its middle:
 * many names begin or end alike.
 */
function rareTrigrams(text: string): readonly string[] {
  const commonness = new Map<string, number>()
  for (const [word] of text.matchAll(/[a-z0-9]{3,}/gi)) {
    const last = word.length - 3
    for (let i = 0; i <= last; i++) {
      const trigram = word.slice(i, i + 3)
      const digits = trigram.replace(/[^0-9]/g, '').length
      if (!commonness.has(trigram)) commonness.set(trigram, Math.min(i, last - i, 99) - digits * 100)
    }
  }
  return [...commonness].sort(([, a], [, b]) => a - b).map(([trigram]) => trigram)
}

function patternOf(part: string): string {
  return `%${part.replace(/[\\%_]/g, '\\$&')}%`
}
