import { type Static, Type } from '@sinclair/typebox'
import { basisPointsOfPct, PRICE_MAX } from '../../core/domain/money.ts'
import type { IsoWeekday } from '../../core/domain/night.ts'
import { STAY_NIGHTS_MAX } from '../../core/domain/night.ts'
import type { Unit } from '../../core/domain/unit.ts'
import {
  DISCOUNT_BASIS_POINTS_MAX,
  type Rates,
  ratesProblems,
  SEASON_NAME_LENGTH_MAX,
  SEASONS_MAX,
  WEEKDAY_BASIS_POINTS_MAX,
  WEEKDAY_BASIS_POINTS_MIN,
} from '../../core/domain/unit.ts'
import { ifMatchOf, tagged, taggedUnlessHeld } from '../../http/answer.ts'
import { ratesJson, ratesTag } from '../../http/json/rates-json.ts'
import { nightOf } from '../../http/json/request-fields.ts'
import { invalid, invalidField, notFound, type Problem } from '../../http/problems.ts'
import { dateText, nullable } from '../../http/text-schema.ts'
import { assert } from '../../lib/assert.ts'
import type { PortalOperation } from './portal-operation.ts'
import { agencyRoute, settled } from './portal-route.ts'
import { label, pct } from './portal-schema.ts'
import { UNIT_PATH } from './units.ts'

const minStay = () =>
  nullable(Type.Integer({ minimum: 1, maximum: STAY_NIGHTS_MAX, description: "Null: the unit's minimum stay." }))
const SEASON = {
  name: label(SEASON_NAME_LENGTH_MAX, 'Shown in quotes.'),
  from: dateText('First night.'),
  to: dateText('The day after the last night.'),
  nightlyPrice: Type.Integer({ minimum: 0, maximum: PRICE_MAX, description: 'Minor units.' }),
}
const WEEKDAYS = Type.Array(
  Type.Object({
    weekday: Type.Integer({ minimum: 1, maximum: 7, description: '1 (Monday) to 7 (Sunday).' }),
    pct: pct(
      WEEKDAY_BASIS_POINTS_MIN,
      WEEKDAY_BASIS_POINTS_MAX,
      'Percentage added to the price of each night on this weekday.',
    ),
  }),
  { maxItems: 7 },
)
const DISCOUNTS = Type.Array(
  Type.Object({
    minNights: Type.Integer({ minimum: 1, maximum: STAY_NIGHTS_MAX }),
    pct: pct(
      0,
      DISCOUNT_BASIS_POINTS_MAX,
      'Percentage off the accommodation. If several discounts apply, the one with the most nights is used.',
    ),
  }),
  { maxItems: STAY_NIGHTS_MAX },
)

export const RatesJson = Type.Object(
  {
    seasons: Type.Array(Type.Object({ ...SEASON, minStay: minStay() })),
    weekdayAdjustments: WEEKDAYS,
    lengthOfStayDiscounts: DISCOUNTS,
  },
  { $id: 'Rates' },
)

/** A list that is left out is empty: PUT sets all of the rates. So a misspelt one is refused. */
export const NEW_RATES = Type.Object(
  {
    seasons: Type.Optional(
      Type.Array(Type.Object({ ...SEASON, minStay: Type.Optional(minStay()) }), { maxItems: SEASONS_MAX }),
    ),
    weekdayAdjustments: Type.Optional(WEEKDAYS),
    lengthOfStayDiscounts: Type.Optional(DISCOUNTS),
  },
  { additionalProperties: false },
)

const ratesAnswer = { description: 'The rates.', schema: Type.Object({ rates: RatesJson }) }

const GET_RATES = {
  id: 'getRates',
  role: 'viewer',
  method: 'GET',
  path: `${UNIT_PATH}/rates`,
  tag: 'Units',
  summary: "Get a unit's rates",
  description: 'The `ETag` is that of the rates: send it as `If-Match` to replace these rates and no others.',
  isConditional: true,
  answer: { status: 200, ...ratesAnswer },
} as const satisfies PortalOperation

const SET_RATES = {
  id: 'setRates',
  role: 'manager',
  method: 'PUT',
  path: `${UNIT_PATH}/rates`,
  tag: 'Units',
  summary: "Replace a unit's rates",
  description:
    'All rates take effect together with the next quote. Existing bookings keep their totals. The `ETag` is that of the new rates. The answer of GET can be sent as it is.',
  isTagged: true,
  body: NEW_RATES,
  bodyWithin: 'rates',
  bodyExample: {
    seasons: [{ name: 'Summer', from: '2027-06-01', to: '2027-09-01', nightlyPrice: 18_000, minStay: 3 }],
    weekdayAdjustments: [{ weekday: 5, pct: 15 }],
    lengthOfStayDiscounts: [{ minNights: 7, pct: 10 }],
  },
  answer: { status: 200, ...ratesAnswer },
  problems: ['RATES_CHANGED'],
} as const satisfies PortalOperation

const shown = (unit: Unit) => ({ rates: ratesJson(unit.rules.rates) })

export const RATES = [
  agencyRoute(GET_RATES, async ({ ledger, agency, path, request }) => {
    const unit = (await ledger.catalogue.inventory(agency.id)).unitBySlug(path.unitSlug)
    if (unit === null) return notFound('unit')
    return taggedUnlessHeld(request, ratesTag(unit.rules.rates), () => JSON.stringify(shown(unit)))
  }),
  agencyRoute(SET_RATES, async ({ ledger, caller, keep, agency, path, request, body }) => {
    const rates = ratesOf(body)
    const problems = ratesProblems(rates)
    if (problems.length > 0) return invalid(problems)
    const seen = ratesSeen(request)
    if ('code' in seen) return seen
    const outcome = await ledger.units.setRates(agency, path.unitSlug, { rates, ...seen }, caller, keep.of(shown))
    const answer = settled(outcome, 'unit', shown)
    return outcome.kind === 'done' && typeof answer === 'string'
      ? tagged(ratesTag(outcome.value.rules.rates), answer)
      : answer
  }),
]

/** Which rates the change is based on, if the request says it. */
function ratesSeen(request: Request): { readonly isBasedOn?: (current: Rates) => boolean } | Problem {
  const seen = ifMatchOf(request.headers.get('if-match'))
  switch (seen.kind) {
    case 'any':
      return {}
    case 'tags':
      return { isBasedOn: (current) => seen.tags.includes(ratesTag(current)) }
    case 'malformed':
      return invalidField(
        'If-Match',
        'must be * or a list of entity tags in double quotes, such as the ETag of the rates',
      )
  }
}

export function ratesOf(body: Static<typeof NEW_RATES>): Rates {
  const { seasons = [], weekdayAdjustments = [], lengthOfStayDiscounts = [] } = body
  return {
    seasons: seasons.map(({ name, from, to, nightlyPrice, minStay = null }) => ({
      name,
      nightlyPrice,
      minStay,
      from: nightOf(from),
      to: nightOf(to),
    })),
    weekdayAdjustments: weekdayAdjustments.map(({ weekday, pct }) => ({
      weekday: weekday as IsoWeekday,
      basisPoints: basisPoints(pct),
    })),
    lengthOfStayDiscounts: lengthOfStayDiscounts.map(({ minNights, pct }) => ({
      minNights,
      basisPoints: basisPoints(pct),
    })),
  }
}

function basisPoints(pct: number): number {
  const points = basisPointsOfPct(pct)
  assert(points !== null, 'Cannot take a percentage: it has not passed the schema')
  return points
}
