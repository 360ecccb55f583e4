/** What restrictions would do, before they are saved: which arrivals partners could no longer book, and which they newly could. Nothing is written. */
import { type Static, Type } from '@sinclair/typebox'
import { saleMoment } from '../../core/bookings/booking-turns.ts'
import { timeOf } from '../../core/catalogue/agency-time.ts'
import { formatNight, NIGHT_MAX, type Night, STAY_NIGHTS_MAX, type Stay } from '../../core/domain/night.ts'
import { refusalByRules, stayConflictCodes } from '../../core/domain/night-guard.ts'
import { REFUSING_RULES, restrictionsProblems, type SaleMoment } from '../../core/domain/restrictions.ts'
import type { UnitRules } from '../../core/domain/unit.ts'
import { RANGE_DAYS_MAX, rangeOf } from '../../http/json/request-fields.ts'
import { NEW_RESTRICTIONS, restrictionsOf } from '../../http/json/restrictions-json.ts'
import { invalid, notFound, within } from '../../http/problems.ts'
import { choice, dateText, nullable } from '../../http/text-schema.ts'
import { Slices } from '../../lib/slices.ts'
import type { PortalOperation } from './portal-operation.ts'
import { agencyRoute } from './portal-route.ts'
import { UNIT_PATH } from './units.ts'

/** Unless the minimum stay of the unit is longer. */
const NIGHTS_DEFAULT = 2

/** Dates of stays that are looked at: a quarter of a millisecond of CPU. */
const DATES_PER_SLICE = 10_000
/** So many count as one part of a large answer (`AnswerPace`). */
const DATES_PER_PART = 100_000

const REFUSALS = Type.Array(
  Type.Object({
    rule: choice(['minStay', ...REFUSING_RULES]),
    date: dateText('The date that the rule was checked for.'),
    value: Type.Union([Type.Boolean(), Type.Integer()]),
  }),
  {
    description: 'The rules that refuse the stay: with these restrictions, or with the saved ones if `isSold` is true.',
  },
)

const PREVIEW_RESTRICTIONS = {
  id: 'previewRestrictions',
  role: 'viewer',
  method: 'POST',
  path: `${UNIT_PATH}/restrictions/preview`,
  tag: 'Units',
  summary: 'Show what restrictions would do, without saving them',
  description:
    'For stays of one length: the arrivals in `[from, to)` that partners can book now but could not with these restrictions, and the ' +
    'reverse. Existing bookings are not affected; arrivals that they or cleaning nights make impossible are counted in neither case.',
  isWrite: false,
  body: Type.Object({
    restrictions: NEW_RESTRICTIONS,
    from: dateText('First arrival.'),
    to: dateText(`The day after the last arrival; at most ${RANGE_DAYS_MAX} days after from.`),
    nights: Type.Optional(
      nullable(
        Type.Integer({
          minimum: 1,
          maximum: STAY_NIGHTS_MAX,
          description: `Length of the stays; null: ${NIGHTS_DEFAULT} nights, or the minimum stay of the unit if that is longer.`,
        }),
      ),
    ),
  }),
  bodyExample: {
    restrictions: { restrictions: [{ from: '2027-07-01', to: '2027-09-01', rule: 'minStayThrough', value: 7 }] },
    from: '2027-06-01',
    to: '2027-07-01',
    nights: 3,
  },
  answer: {
    status: 200,
    description: 'The difference that these restrictions make.',
    schema: Type.Object({
      nights: Type.Integer({ description: 'Length of the stays.' }),
      soldNow: Type.Integer({ description: 'The number of arrivals that can be booked with the saved restrictions.' }),
      soldThen: Type.Integer({ description: 'The same number with these restrictions.' }),
      changes: Type.Array(
        Type.Object({
          arrival: dateText('First night of the stay.'),
          isSold: Type.Boolean({ description: 'Whether it can be booked with these restrictions.' }),
          refusals: REFUSALS,
        }),
        { description: 'The arrivals that differ, in ascending order.' },
      ),
    }),
  },
} as const satisfies PortalOperation

export const RESTRICTIONS_PREVIEW = [
  agencyRoute(PREVIEW_RESTRICTIONS, async ({ ledger, access, identity, agency, path, body }) => {
    const range = rangeOf(body)
    if ('code' in range) return range
    const restrictions = restrictionsOf(body.restrictions)
    const problems = restrictionsProblems(restrictions)
    if (problems.length > 0) return invalid(within('restrictions', problems))
    const unit = (await ledger.catalogue.inventory(agency.id)).unitBySlug(path.unitSlug)
    if (unit === null) return notFound('unit')
    // A copy: others book while it is looked at in slices.
    const state = (await ledger.commands.calendar(agency, unit)).copy()
    const nights = body.nights ?? Math.max(NIGHTS_DEFAULT, state.rules.minStay)
    const moment = saleMoment(unit, agency, timeOf(agency, ledger.clock))
    const then = { ...state.rules, restrictions }
    let [soldNow, soldThen] = [0, 0]
    const changes: ChangeJson[] = []
    const slices = new Slices(DATES_PER_SLICE)
    for (let arrival = range.from; arrival < range.to && arrival + nights <= NIGHT_MAX; arrival++) {
      const stay = { arrival, departure: (arrival + nights) as Night }
      if (stayConflictCodes(state, stay).length > 0) continue
      const pause = slices.spend(2 * nights)
      if (pause !== null) await pause
      const before = refusalsBy(state.rules, stay, moment)
      const after = refusalsBy(then, stay, moment)
      const [wasSold, isSold] = [before.length === 0, after.length === 0]
      soldNow += Number(wasSold)
      soldThen += Number(isSold)
      if (wasSold !== isSold) changes.push({ arrival: formatNight(arrival), isSold, refusals: isSold ? before : after })
    }
    await access.takeParts(identity, (2 * nights * (range.to - range.from)) / DATES_PER_PART)
    return JSON.stringify({ nights, soldNow, soldThen, changes })
  }),
]

type ChangeJson = Static<(typeof PREVIEW_RESTRICTIONS)['answer']['schema']>['changes'][number]

function refusalsBy(rules: UnitRules, stay: Stay, moment: SaleMoment): ChangeJson['refusals'] {
  const refusal = refusalByRules(rules, stay, moment)
  if (refusal === null) return []
  if (refusal.code === 'MIN_STAY') return [{ rule: 'minStay', date: formatNight(stay.arrival), value: refusal.minStay }]
  return refusal.restrictions.map(({ rule, date, value }) => ({ rule, date: formatNight(date), value }))
}
