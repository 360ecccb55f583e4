/** What requests for the past have in common: the moment they ask for, and why there may be no answer. */

import { Type } from '@sinclair/typebox'
import type { UnitAsOf } from '../../core/bookings/units-as-of.ts'
import type { Instant } from '../../core/domain/booking.ts'
import { assert, unreachable } from '../../lib/assert.ts'
import { type Clock, parseInstant } from '../../lib/clock.ts'
import { invalidField, notFound, type Problem, problem } from '../problems.ts'
import { timestampText } from '../text-schema.ts'

export const asOfField = (description: string) => Type.Optional(timestampText(description))

/** The moment in a parameter that has passed the schema, or why it cannot be asked for. */
export function asOfInstant(asOf: string, clock: Pick<Clock, 'now'>): Instant | Problem {
  const at = parseInstant(asOf)
  assert(at !== null, 'Cannot take a moment: it has not passed the schema')
  return at <= clock.now() ? at : invalidField('asOf', 'must not be in the future')
}

const HISTORY_EXPIRED = problem(
  'HISTORY_EXPIRED',
  'What the unit was at this moment is no longer kept: ask for a later one',
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
