import type { Agency } from '../../core/catalogue/agency.ts'
import { assert } from '../../lib/assert.ts'
import { dayStart } from '../../lib/clock.ts'
import { parseInstant } from './portal-schema.ts'

/** A text that passed `instantOrDate`, in milliseconds; a date is the beginning of that day in the time zone of the agency. */
export function agencyInstant(agency: Agency, text: string): number {
  if (text.length === 10) return dayStart(text, agency.timezone)
  const at = parseInstant(text)
  assert(at !== null, 'Cannot take a moment: it has not passed the schema')
  return at
}
