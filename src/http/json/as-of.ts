/** What requests with `asOf` have in common: reading the moment, and refusing it. */

import { Type } from '@sinclair/typebox'
import type { UnitAsOf } from '../../core/bookings/units-as-of.ts'
import type { Instant } from '../../core/domain/booking.ts'
import { assert, unreachable } from '../../lib/assert.ts'
import { parseInstant } from '../../lib/clock.ts'
import { invalidField, notFound, type Problem, problem } from '../problems.ts'
import { timestampText } from '../text-schema.ts'

export const asOfField = (description: string) => Type.Optional(timestampText(description))

/**
 * The moment in a parameter that has passed the schema, or its refusal.
 * @param now of the agency (`timeOf`)
 */
export function asOfInstant(asOf: string, now: Instant): Instant | Problem {
  const at = parseInstant(asOf)
  assert(at !== null, 'Cannot take a moment: it has not passed the schema')
  return at <= now ? at : invalidField('asOf', 'must not be in the future')
}

const HISTORY_EXPIRED = problem(
  'HISTORY_EXPIRED',
  'The history of the unit at asOf is no longer kept: ask for a later moment',
  {},
)

/** Why there is no answer about that moment. */
export function problemOfAsOf(outcome: Exclude<UnitAsOf<Problem>, { kind: 'found' }>): Problem {
  switch (outcome.kind) {
    case 'refused':
      return outcome.refusal
    case 'expired':
      return HISTORY_EXPIRED
    case 'before_unit':
      return notFound('unit')
    default:
      return unreachable(outcome)
  }
}
