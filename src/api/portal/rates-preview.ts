/** What rates would do before they are saved: prices of nights, and of a stay. Pure: nothing is looked up but the unit and the fees. */
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { type PriceAnswer, priceByRules } from '../../core/domain/decide.ts'
import { formatNight, type Night } from '../../core/domain/night.ts'
import { forEachNightPriceRun } from '../../core/domain/priced-nights.ts'
import { restrictedMinStayFrom } from '../../core/domain/restrictions.ts'
import { ratesProblems, type UnitRules } from '../../core/domain/unit.ts'
import { quoteJson } from '../../http/json/quote-json.ts'
import { nightOf, PARTY_FIELDS, STAY_FIELDS, stayOf } from '../../http/json/request-fields.ts'
import { problemOfRejection } from '../../http/problem-of.ts'
import { invalid, invalidField, notFound, within } from '../../http/problems.ts'
import { QuoteJson } from '../../http/quote-schema.ts'
import { dateText, nullable } from '../../http/text-schema.ts'
import type { PortalOperation } from './portal-operation.ts'
import { agencyRoute } from './portal-route.ts'
import { NEW_RATES, ratesOf } from './rates.ts'
import { UNIT_PATH, UNIT_PRICES } from './units.ts'

/** Three years. */
const PREVIEW_DAYS_MAX = 1_096

const perNight = <E extends TSchema>(description: string, of: E) =>
  Type.Array(of, { description, maxItems: PREVIEW_DAYS_MAX })

const PREVIEW_RATES = {
  id: 'previewRates',
  role: 'viewer',
  method: 'POST',
  path: `${UNIT_PATH}/rates/preview`,
  tag: 'Units',
  summary: 'Show what rates would do, without saving them',
  description:
    'The price and the minimum stay of every night, and the price of a stay, as partners would get them with these rates. Availability is not checked.',
  isWrite: false,
  body: Type.Object({
    rates: NEW_RATES,
    unit: Type.Optional({
      ...UNIT_PRICES,
      description: 'Unsaved prices and minimum stay of the unit. If omitted: the saved ones.',
    }),
    from: dateText('First night.'),
    to: dateText(`The day after the last night; at most ${PREVIEW_DAYS_MAX} days after from.`),
    stay: Type.Optional(
      nullable(Type.Object({ arrival: STAY_FIELDS.arrival, departure: STAY_FIELDS.departure, ...PARTY_FIELDS })),
    ),
  }),
  bodyExample: {
    rates: { seasons: [{ name: 'Summer', from: '2027-06-01', to: '2027-09-01', nightlyPrice: 18_000 }] },
    from: '2027-05-01',
    to: '2027-10-01',
    stay: { arrival: '2027-05-30', departure: '2027-06-03' },
  },
  answer: {
    status: 200,
    description: 'The prices.',
    schema: Type.Object({
      nights: Type.Object({
        from: dateText('As requested.'),
        prices: perNight(
          'Element i is the price of the night `from` + i in minor units, before discounts, cleaning and fees.',
          Type.Integer({ minimum: 0 }),
        ),
        minStay: perNight(
          'Element i is the minimum stay, in nights, of an arrival on `from` + i.',
          Type.Integer({ minimum: 1 }),
        ),
        season: perNight('Element i is the name of the season; null outside all seasons.', nullable(Type.String())),
      }),
      quote: Type.Union([QuoteJson, Type.Null()], {
        description: 'The quote for `stay`; null without a stay, or if it is refused.',
      }),
      refusal: Type.Union(
        [Type.Object({ code: Type.Literal('MIN_STAY'), title: Type.String(), minStay: Type.Integer() }), Type.Null()],
        { description: 'Why partners could not book the stay with these rates.' },
      ),
    }),
  },
} as const satisfies PortalOperation

export const RATES_PREVIEW = [
  agencyRoute(PREVIEW_RATES, async ({ ledger, agency, path, body }) => {
    const [from, to] = [nightOf(body.from), nightOf(body.to)]
    if (to <= from) return invalidField('to', `must be after from (${body.from})`)
    if (to - from > PREVIEW_DAYS_MAX)
      return invalidField(
        'to',
        `must be at most ${PREVIEW_DAYS_MAX} days after from (${formatNight((from + PREVIEW_DAYS_MAX) as Night)})`,
      )
    const rates = ratesOf(body.rates)
    const problems = ratesProblems(rates)
    if (problems.length > 0) return invalid(within('rates', problems))
    const stay = body.stay == null ? null : stayOf(body.stay, 'stay.')
    if (stay !== null && 'code' in stay) return stay
    const inventory = await ledger.catalogue.inventory(agency.id)
    const unit = inventory.unitBySlug(path.unitSlug)
    if (unit === null) return notFound('unit')
    const rules: UnitRules = { ...unit.rules, ...pricesOf(body.unit), rates }
    const { children = 0, extraBed = false } = body.stay ?? {}
    const tariff = { currency: agency.currency, feeTypes: inventory.feeTypes }
    const priced = stay === null ? null : priceByRules(rules, { stay, children, extraBed, tariff })
    return JSON.stringify({ nights: nightsJson(rules, from, to), ...stayJson(priced) })
  }),
]

/** What the body names of these members, and nothing else. */
function pricesOf(given: Static<typeof UNIT_PRICES> = {}): Static<typeof UNIT_PRICES> {
  const named = Object.entries(given).filter(([name]) => Object.hasOwn(UNIT_PRICES.properties, name))
  return Object.fromEntries(named)
}

function nightsJson(rules: UnitRules, from: Night, to: Night) {
  const prices: number[] = []
  const minStay: number[] = []
  const season: (string | null)[] = []
  forEachNightPriceRun(rules, from, to, (run) => {
    for (let night = run.from; night < run.to; night++) {
      prices.push(run.prices[(night - run.from) % run.prices.length] ?? 0)
      minStay.push(
        rules.restrictions === undefined
          ? run.minStay
          : restrictedMinStayFrom(rules.restrictions, night as Night, run.minStay),
      )
      season.push(run.season)
    }
  })
  return { from: formatNight(from), prices, minStay, season }
}

type StayJson = Pick<Static<(typeof PREVIEW_RATES)['answer']['schema']>, 'quote' | 'refusal'>

function stayJson(priced: PriceAnswer | null): StayJson {
  if (priced === null) return { quote: null, refusal: null }
  if (priced.kind === 'priced') return { quote: quoteJson(priced.quote), refusal: null }
  const { code, minStay } = priced.rejection
  const { title } = problemOfRejection(priced.rejection)
  return { quote: null, refusal: { code, title, minStay } }
}
