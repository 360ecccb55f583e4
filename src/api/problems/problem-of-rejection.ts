import { formatNight, type Night } from '../../core/domain/night.ts'
import type { Rejection } from '../../core/domain/rejection.ts'
import { unreachable } from '../../lib/assert.ts'
import { invalid, type Problem, problem } from './problems.ts'

/** More dates than this are not listed in a title; the body has them all. */
const TITLE_NIGHTS_MAX = 5

/** A unit's refusal as it is answered: dates as text, and a title for people (contract, Errors; design, Night guard). */
export function problemOfRejection(rejection: Rejection): Problem {
  switch (rejection.code) {
    case 'MIN_STAY': {
      const { minStay } = rejection
      return problem('MIN_STAY', `A stay with this arrival has at least ${minStay} nights`, { minStay })
    }
    case 'BOOKING_CONFLICT': {
      const { from, to, nights, bookableFrom } = rejection.conflict
      return problem('BOOKING_CONFLICT', `Nights of the stay are taken: ${listed(nights)}`, {
        conflict: {
          from: formatNight(from),
          to: formatNight(to),
          nights: nights.map(formatNight),
          bookableFrom: formatOrNull(bookableFrom),
        },
      })
    }
    case 'TURNOVER_BLOCK_CONFLICT': {
      const departure = formatNight(rejection.conflict.departure)
      return problem('TURNOVER_BLOCK_CONFLICT', `The unit is being cleaned after the departure of ${departure}`, {
        conflict: { bookableFrom: formatOrNull(rejection.conflict.bookableFrom), departure },
      })
    }
    case 'EXPECTED_EXTENSION_CONFLICT':
      return problem('EXPECTED_EXTENSION_CONFLICT', 'A guest in house is expected to stay on into these nights', {
        conflicts: rejection.conflicts.map(({ from, to }) => ({ from: formatNight(from), to: formatNight(to) })),
      })
    case 'INVALID_TRANSITION': {
      const { from, to, possible } = rejection
      return problem('INVALID_TRANSITION', `A booking that is ${from} cannot become ${to}`, {
        from,
        to,
        possible: [...possible],
      })
    }
    case 'VALIDATION':
      return invalid([{ field: rejection.field, message: rejection.message }])
    default:
      return unreachable(rejection)
  }
}

function formatOrNull(night: Night | null): string | null {
  return night === null ? null : formatNight(night)
}

function listed(nights: readonly Night[]): string {
  const shown = nights.slice(0, TITLE_NIGHTS_MAX).map(formatNight).join(', ')
  const more = nights.length - TITLE_NIGHTS_MAX
  return more > 0 ? `${shown} and ${more} more` : shown
}
