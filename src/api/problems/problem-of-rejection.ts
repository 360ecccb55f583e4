import { formatNight, type Night } from '../../core/domain/night.ts'
import type { Rejection } from '../../core/domain/rejection.ts'
import { unreachable } from '../../lib/assert.ts'
import { invalid, type Problem, problem } from './problems.ts'

/** More dates than this are not listed in a title; the body has them all. */
const TITLE_NIGHTS_MAX = 5

/** A unit's refusal as it is answered: dates as text, and a title for people (docs/contract.md#errors; docs/design.md#night-guard). */
export function problemOfRejection(rejection: Rejection): Problem {
  switch (rejection.code) {
    case 'MIN_STAY': {
      const { minStay } = rejection
      return problem('MIN_STAY', `Minimum stay for this arrival: ${minStay} nights`, { minStay })
    }
    case 'BOOKING_CONFLICT': {
      const { from, to, nights, bookableFrom } = rejection.conflict
      return problem('BOOKING_CONFLICT', `These nights are already booked: ${listed(nights)}`, {
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
      return problem(
        'TURNOVER_BLOCK_CONFLICT',
        `The arrival falls on a cleaning night after the departure on ${departure}`,
        {
          conflict: { bookableFrom: formatOrNull(rejection.conflict.bookableFrom), departure },
        },
      )
    }
    case 'EXPECTED_EXTENSION_CONFLICT':
      return problem(
        'EXPECTED_EXTENSION_CONFLICT',
        'The current guest is expected to extend their stay into these nights',
        {
          conflicts: rejection.conflicts.map(({ from, to }) => ({ from: formatNight(from), to: formatNight(to) })),
        },
      )
    case 'QUOTE_CHANGED': {
      const { nights, currency, total, lines } = rejection.quote
      return problem(
        'QUOTE_CHANGED',
        `The price is not the quoted one any more: it is now ${total} in minor units of ${currency}`,
        {
          quote: {
            ...{ nights, currency, total },
            lines: lines.map((line) => ({ ...line, from: formatOrNull(line.from), to: formatOrNull(line.to) })),
          },
        },
      )
    }
    case 'INVALID_TRANSITION': {
      const { from, to, possible } = rejection
      return problem('INVALID_TRANSITION', `Cannot change the status of a booking from ${from} to ${to}`, {
        from,
        to,
        possible: [...possible],
      })
    }
    case 'VERSION_CHANGED': {
      const { version } = rejection
      return problem('VERSION_CHANGED', `The booking has changed: its version is now ${version}`, { version })
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
