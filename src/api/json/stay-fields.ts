import { formatNight, type Night, parseNight } from '../../core/domain/night.ts'
import { nightsOf, STAY_NIGHTS_MAX, type Stay } from '../../core/domain/stay.ts'
import { assert } from '../../lib/assert.ts'
import { invalidField, type Problem } from '../problems/problems.ts'

/** Both dates have passed the schema, so they exist. */
export function nightOf(date: string): Night {
  const night = parseNight(date)
  assert(night !== null, 'Cannot take a date: it has not passed the schema')
  return night
}

/**
 * The stay, or why the two dates make none (docs/contract.md#post-bookings; docs/design.md#nights).
 * @param within what the dates are members of, with a dot after it; empty: of the body itself
 */
export function stayOf(body: { arrival: string; departure: string }, within = ''): Stay | Problem {
  const stay = { arrival: nightOf(body.arrival), departure: nightOf(body.departure) }
  const nights = nightsOf(stay)
  if (nights < 1) return invalidField(`${within}departure`, `must be after arrival (${body.arrival})`)
  if (nights <= STAY_NIGHTS_MAX) return stay
  const last = formatNight((stay.arrival + STAY_NIGHTS_MAX) as Night)
  return invalidField(`${within}departure`, `must be at most ${STAY_NIGHTS_MAX} nights after arrival (${last})`)
}
