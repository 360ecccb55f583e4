/**
 * Nights as a JSON list of dates. The most requested answer consists of little else, so it is cut out of one text of
 * all dates, a piece for every run of nights: measured, a third of the time of adding date to date for a month, and
 * less for a year (docs/decisions.md#speed).
 */

import { Type } from '@sinclair/typebox'
import { formatNight, NIGHT_MAX, NIGHT_MIN, type Night } from '../../core/domain/night.ts'
import { forEachRunInUnion, type NightBitmap } from '../../core/domain/night-bitmap.ts'
import { forEachNightPriceRun, type NightPriceRun } from '../../core/domain/priced-nights.ts'
import {
  ANY_ARRIVAL,
  type ArrivalRange,
  restrictedMinStayFrom,
  restrictedRange,
} from '../../core/domain/restrictions.ts'
import type { UnitState } from '../../core/domain/unit-state.ts'
import { dateText } from '../text-schema.ts'
import { type NightRange, RANGE_DAYS_MAX } from './request-fields.ts'

/** `"2000-01-01",` */
const CHARS_PER_DATE = 13

/** Every date that is accepted, in order; made when the first list is. */
let allDates = ''

/** The nights of `[from, to)` in either set. Both dates lie within those accepted (docs/design.md#nights). */
export function nightListJson(a: NightBitmap, b: NightBitmap, from: Night, to: Night): string {
  if (allDates === '') allDates = writeAllDates()
  let list = ''
  forEachRunInUnion(a, b, from, to, (first, end) => {
    const run = allDates.slice((first - NIGHT_MIN) * CHARS_PER_DATE, (end - NIGHT_MIN) * CHARS_PER_DATE - 1)
    list = list === '' ? run : `${list},${run}`
  })
  return `[${list}]`
}

function writeAllDates(): string {
  const dates: string[] = []
  for (let night = NIGHT_MIN; night <= NIGHT_MAX; night++) dates.push(`"${formatNight(night as Night)}",`)
  return dates.join('')
}

/**
 * The calendars of many units as one JSON text (docs/partner-additions.md#2-get-calendar-all-units-at-once). Written run by run: a season of a
 * hundred nights costs little more than one night, because its prices repeat every week.
 */

export const UnitCalendarJson = Type.Object(
  {
    unit: Type.String({ description: 'Slug.' }),
    blocked: Type.Array(
      Type.Object({
        from: dateText('First unavailable night.'),
        to: dateText('The next available night, or the end of the range: exclusive.'),
      }),
      { description: 'Runs of unavailable nights, as long as possible, in ascending order.' },
    ),
    prices: Type.Optional(
      Type.Array(Type.Integer({ minimum: 0 }), {
        maxItems: RANGE_DAYS_MAX,
        description:
          'Only with `prices=true`. Element i is the price of the night `from` + i in minor units, with season and weekday, before ' +
          'discounts, cleaning and fees.',
      }),
    ),
    minStay: Type.Optional(
      Type.Array(Type.Integer({ minimum: 1 }), {
        maxItems: RANGE_DAYS_MAX,
        description:
          'Only with `prices=true` or `restrictions=true`. Element i is the shortest stay, in nights, for an arrival on `from` + i that ' +
          'meets the minimum of every night it includes, restrictions too.',
      }),
    ),
    arrival: Type.Optional(
      Type.String({
        description:
          'Only with `restrictions=true`. Character i is 1 if a stay can arrive on `from` + i, and 0 if the date is closed to arrival, too ' +
          'soon for the advance notice or beyond the booking window. Nights that are not for sale are in `blocked`.',
      }),
    ),
    departure: Type.Optional(
      Type.String({
        description:
          'Only with `restrictions=true`. Character i is 1 if a stay can depart on `from` + i, and 0 if the date is closed to departure. The ' +
          'last character is that of `to`.',
      }),
    ),
    maxStay: Type.Optional(
      Type.Array(Type.Integer({ minimum: 0 }), {
        maxItems: RANGE_DAYS_MAX,
        description:
          'Only with `restrictions=true`. Element i is the maximum stay, in nights, for an arrival on `from` + i; 0: none.',
      }),
    ),
  },
  { $id: 'UnitCalendar' },
)

/** What a calendar has in addition to the unavailable nights. */
export interface CalendarMembers {
  readonly prices?: boolean
  readonly restrictions?: boolean
}

/** This many dates count as one step. */
const DATES_PER_STEP = 16

/** Writes one unit after the other. */
export class CalendarText {
  readonly #range: NightRange
  readonly #with: CalendarMembers
  readonly #units: string[] = []
  #steps = 0

  constructor(range: NightRange, members: CalendarMembers = {}) {
    this.#range = range
    this.#with = members
  }

  /** Runs that were looked at so far: what the work is counted in. */
  get steps(): number {
    return this.#steps
  }

  /** @param arrivals only with restrictions: what the advance notice and booking window of the unit allow now */
  add(slug: string, state: UnitState, arrivals: ArrivalRange = ANY_ARRIVAL): void {
    const { from, to } = this.#range
    const blocked: string[] = []
    forEachRunInUnion(state.occupied, state.closed, from, to, (first, end) =>
      blocked.push(`{"from":"${formatNight(first)}","to":"${formatNight(end)}"}`),
    )
    this.#steps += 1 + blocked.length
    this.#units.push(
      `{"unit":${JSON.stringify(slug)},"blocked":[${blocked.join()}]${this.#pricesOf(state)}${this.#restrictionsOf(state, arrivals)}}`,
    )
  }

  /** The JSON list of the units added. */
  get text(): string {
    return `[${this.#units.join()}]`
  }

  #pricesOf({ rules }: UnitState): string {
    if (this.#with.prices !== true && this.#with.restrictions !== true) return ''
    const prices: string[] = []
    const minStay: string[] = []
    const { restrictions } = rules
    forEachNightPriceRun(rules, this.#range.from, this.#range.to, (run) => {
      prices.push(pricesText(run))
      if (restrictions === undefined) minStay.push(repeated(`${run.minStay},`, run.to - run.from))
      else
        for (let night = run.from; night < run.to; night++) {
          const nights = restrictedMinStayFrom(restrictions, night as Night, run.minStay)
          minStay.push(`${nights},`)
          this.#steps += nights / DATES_PER_STEP
        }
    })
    this.#steps += rules.rates.seasons.length + prices.length + (restrictions?.rows.length ?? 0)
    const minStays = `,"minStay":[${withoutLastComma(minStay.join(''))}]`
    return this.#with.prices === true ? `,"prices":[${withoutLastComma(prices.join(''))}]${minStays}` : minStays
  }

  #restrictionsOf({ rules: { restrictions } }: UnitState, arrivals: ArrivalRange): string {
    if (this.#with.restrictions !== true) return ''
    this.#steps += (this.#range.to - this.#range.from) / DATES_PER_STEP
    const { arrival, departure, maxStay } = restrictedRange(restrictions, this.#range, arrivals)
    return `,"arrival":"${arrival}","departure":"${departure}","maxStay":[${maxStay.join()}]`
  }
}

/** Each price with a comma after it. */
function pricesText({ from, to, prices }: NightPriceRun): string {
  const nights = to - from
  if (prices.length === 1) return repeated(`${prices[0]},`, nights)
  const rest = nights % prices.length
  const whole = (nights - rest) / prices.length
  return repeated(`${prices.join()},`, whole) + (rest === 0 ? '' : `${prices.slice(0, rest).join()},`)
}

function repeated(text: string, times: number): string {
  return times === 1 ? text : text.repeat(times)
}

function withoutLastComma(list: string): string {
  return list.slice(0, -1)
}
