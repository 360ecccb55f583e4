import { restrictionsProblems } from '../../core/domain/restrictions.ts'
import type { Unit } from '../../core/domain/unit.ts'
import { ifMatchOf, tagged, taggedUnlessHeld } from '../../http/answer.ts'
import {
  NEW_RESTRICTIONS,
  RestrictionsJson,
  restrictionsJson,
  restrictionsOf,
  restrictionsTag,
} from '../../http/json/restrictions-json.ts'
import { invalid, invalidField, notFound } from '../../http/problems.ts'
import type { PortalOperation } from './portal-operation.ts'
import { agencyRoute, settled } from './portal-route.ts'
import { UNIT_PATH } from './units.ts'

const answer = { status: 200, description: 'The restrictions.', schema: RestrictionsJson } as const

const GET_RESTRICTIONS = {
  id: 'getRestrictions',
  role: 'viewer',
  method: 'GET',
  path: `${UNIT_PATH}/restrictions`,
  tag: 'Units',
  summary: "Get a unit's restrictions",
  description: 'Send the `ETag` as `If-Match` to replace these restrictions only if nobody has changed them since.',
  isConditional: true,
  answer,
} as const satisfies PortalOperation

const SET_RESTRICTIONS = {
  id: 'setRestrictions',
  role: 'manager',
  method: 'PUT',
  path: `${UNIT_PATH}/restrictions`,
  tag: 'Units',
  summary: "Replace a unit's restrictions",
  description:
    'Which stays partners and guests can book. A later row wins over an earlier one for the same date and rule. Existing bookings are ' +
    'not affected, and bookings that the agency makes itself are not refused: their answers have `warnings`.',
  isTagged: true,
  body: NEW_RESTRICTIONS,
  bodyExample: {
    restrictions: [
      { from: '2027-07-01', to: '2027-09-01', weekdays: [1, 2, 3, 4, 5, 7], rule: 'closedToArrival', value: true },
      { from: '2027-07-01', to: '2027-09-01', weekdays: null, rule: 'minStayThrough', value: 7 },
    ],
    advanceNoticeHours: 24,
    bookingWindowDays: 365,
  },
  answer,
  problems: ['RESTRICTIONS_CHANGED'],
} as const satisfies PortalOperation

const shown = (unit: Unit) => restrictionsJson(unit.rules.restrictions)

export const RESTRICTIONS = [
  agencyRoute(GET_RESTRICTIONS, async ({ ledger, agency, path, request }) => {
    const unit = (await ledger.catalogue.inventory(agency.id)).unitBySlug(path.unitSlug)
    if (unit === null) return notFound('unit')
    return taggedUnlessHeld(request, restrictionsTag(unit.rules.restrictions), () => JSON.stringify(shown(unit)))
  }),
  agencyRoute(SET_RESTRICTIONS, async ({ ledger, caller, keep, agency, path, request, body }) => {
    const restrictions = restrictionsOf(body)
    const problems = restrictionsProblems(restrictions)
    if (problems.length > 0) return invalid(problems)
    const seen = ifMatchOf(request.headers.get('if-match'))
    if (seen.kind === 'malformed')
      return invalidField(
        'If-Match',
        'must be * or a list of entity tags in double quotes, such as the ETag of the restrictions',
      )
    const isBasedOn = ({ rules }: Unit) =>
      seen.kind === 'any' || seen.tags.includes(restrictionsTag(rules.restrictions))
    const wanted = { restrictions, isBasedOn }
    const outcome = await ledger.units.setRestrictions(agency, path.unitSlug, wanted, caller, keep.of(shown))
    const text = settled(outcome, 'unit', shown)
    return outcome.kind === 'done' && typeof text === 'string'
      ? tagged(restrictionsTag(outcome.value.rules.restrictions), text)
      : text
  }),
]
