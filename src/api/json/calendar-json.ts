/**
 * The calendars of many units as one JSON text (docs/partner-additions.md#2-get-calendar-all-units-at-once). Written run by run: a season of a
 * hundred nights costs little more than one night, because its prices repeat every week.
 */
import { Type } from '@sinclair/typebox'
import { formatNight } from '../../core/domain/night.ts'
import { forEachRunInUnion } from '../../core/domain/night-bitmap.ts'
import { forEachNightPriceRun, type NightPriceRun } from '../../core/domain/night-prices.ts'
import type { UnitState } from '../../core/domain/unit-state.ts'
import { dateText } from '../schema/text-schema.ts'
import { type NightRange, RANGE_DAYS_MAX } from './night-range.ts'

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
        description: 'Only with `prices=true`. Element i is the minimum stay, in nights, of an arrival on `from` + i.',
      }),
    ),
  },
  { $id: 'UnitCalendar' },
)

/** Writes one unit after the other. */
export class CalendarText {
  readonly #range: NightRange
  readonly #withPrices: boolean
  readonly #units: string[] = []
  #steps = 0

  constructor(range: NightRange, withPrices: boolean) {
    this.#range = range
    this.#withPrices = withPrices
  }

  /** Runs that were looked at so far: what the work is counted in. */
  get steps(): number {
    return this.#steps
  }

  add(slug: string, state: UnitState): void {
    const { from, to } = this.#range
    const blocked: string[] = []
    forEachRunInUnion(state.occupied, state.cleaning, from, to, (first, end) =>
      blocked.push(`{"from":"${formatNight(first)}","to":"${formatNight(end)}"}`),
    )
    this.#steps += 1 + blocked.length
    this.#units.push(`{"unit":${JSON.stringify(slug)},"blocked":[${blocked.join()}]${this.#pricesOf(state)}}`)
  }

  /** The JSON list of the units added. */
  get text(): string {
    return `[${this.#units.join()}]`
  }

  #pricesOf({ rules }: UnitState): string {
    if (!this.#withPrices) return ''
    const prices: string[] = []
    const minStay: string[] = []
    forEachNightPriceRun(rules, this.#range.from, this.#range.to, (run) => {
      prices.push(pricesText(run))
      minStay.push(repeated(`${run.minStay},`, run.to - run.from))
    })
    this.#steps += rules.rates.seasons.length + prices.length
    return `,"prices":[${withoutLastComma(prices.join(''))}],"minStay":[${withoutLastComma(minStay.join(''))}]`
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
