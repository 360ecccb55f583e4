/** Several stays at once (docs/partner-additions.md#11-several-stays-at-once). */
import { Type } from '@sinclair/typebox'
import type { GroupDone, KeepGroup } from '../../core/bookings/group-commands.ts'
import type { Stay } from '../../core/domain/night.ts'
import { recorded } from '../../http/answer.ts'
import { BookingJson, bookingJson } from '../../http/json/booking-json.ts'
import { GROUP_STAYS_FIELD, NEW_BOOKING_FIELDS, optionalText, stayOf } from '../../http/json/request-fields.ts'
import type { Operation } from '../../http/operation.ts'
import { problemOfStays } from '../../http/problem-of.ts'
import { invalidField, notFound, type Problem } from '../../http/problems.ts'
import { isIdShaped } from '../../http/read-request.ts'
import { HOLD_OR_CONFIRMED, type KeepText, requestOf, wantedOf, writeOnce } from './booking-writes.ts'
import { partnerRoute } from './partner-route.ts'

const { holdHours, guest } = NEW_BOOKING_FIELDS

const GROUP = Type.Object({
  groupId: Type.String({ description: 'Opaque id of the group.' }),
  bookings: Type.Array(BookingJson),
})

const CREATE_GROUP = {
  id: 'createGroup',
  method: 'POST',
  path: '/partner/v1/bookings/group',
  tag: 'Bookings',
  summary: 'Create several bookings at once, all or none',
  description:
    'Each stay is checked like a single booking, in the order given, as if every stay before it were booked, even a refused one. If any ' +
    'is refused, nothing is booked: the response is the refusal of the first refused stay, and `refusals` lists all of them. `status`, ' +
    '`holdHours` and `guest` apply to all bookings. `If-Match` is not accepted. There is one event per booking.',
  scope: 'write:bookings',
  body: Type.Object({ stays: GROUP_STAYS_FIELD, status: HOLD_OR_CONFIRMED, holdHours, guest }),
  bodyExample: {
    stays: [
      { unit: 'sea-view', arrival: '2027-03-01', departure: '2027-03-05', adults: 2, sourceRef: 'G-17/1' },
      { unit: 'garden', arrival: '2027-03-01', departure: '2027-03-05', adults: 4, sourceRef: 'G-17/2' },
    ],
    guest: { firstName: 'Ana', lastName: 'Reis', email: 'ana@example.com' },
  },
  answer: {
    status: 201,
    description: 'The bookings, in the order of the stays.',
    schema: GROUP,
  },
  problems: [
    'VALIDATION',
    'NOT_FOUND',
    'BOOKING_CONFLICT',
    'TURNOVER_BLOCK_CONFLICT',
    'EXPECTED_EXTENSION_CONFLICT',
    'MIN_STAY',
    'RESTRICTED',
    'IDEMPOTENCY_KEY_REUSED',
  ],
  problemsOfStays: [
    'NOT_FOUND',
    'BOOKING_CONFLICT',
    'TURNOVER_BLOCK_CONFLICT',
    'EXPECTED_EXTENSION_CONFLICT',
    'MIN_STAY',
    'RESTRICTED',
  ],
} as const satisfies Operation

const CANCEL_GROUP = {
  id: 'cancelGroup',
  method: 'POST',
  path: '/partner/v1/bookings/group/{groupId}/cancel',
  tag: 'Bookings',
  summary: 'Cancel the bookings of a group',
  description:
    'Cancels all bookings of the group that are not cancelled yet, all or none. Cancelling again is not an error.',
  scope: 'write:bookings',
  pathParameters: { groupId: { description: 'Id of the group.', example: 'grp_019a2b3c4d5e7f008192a3b4c5d6e7f8' } },
  body: Type.Object({ reason: optionalText(255) }),
  isBodyOptional: true,
  bodyExample: { reason: 'Wedding called off' },
  answer: {
    status: 200,
    description: 'All bookings of the group, in the order of its stays.',
    schema: GROUP,
  },
  problems: ['VALIDATION', 'NOT_FOUND', 'IDEMPOTENCY_KEY_REUSED'],
} as const satisfies Operation

export const GROUPS = [
  partnerRoute(CREATE_GROUP, (call) => {
    const { ledger, request, agency, caller, body } = call
    if (request.headers.get('if-match') !== null) return NO_IF_MATCH
    const stays = staysOf(body.stays)
    if ('code' in stays) return stays
    const { status = 'confirmed', holdHours = null, guest = null } = body
    // What applies to all stays comes last, because a stay may have additional members of any name.
    const wanted = body.stays.map((each, i) => wantedOf({ ...each, status, holdHours, guest }, stays[i] as Stay))
    const slugs = body.stays.map(({ unit }) => unit)
    const canonicalBody = () => JSON.stringify([slugs, wanted])
    return writeOnce<GroupDone>(call, { status: 201, canonicalBody, textOf: groupText }, async (keep) => {
      const inventory = await ledger.catalogue.inventory(agency.id)
      const requests = wanted.map((each, i) => {
        const unit = inventory.sellableUnit(slugs[i] ?? '')
        return unit === null ? null : requestOf(unit, each)
      })
      const outcome = await ledger.commands.groups.book(agency, { stays: requests }, caller, keepGroup(keep))
      return outcome.kind === 'done' ? outcome : recorded(problemOfStays(outcome.refusals))
    })
  }),
  partnerRoute(CANCEL_GROUP, (call) => {
    const { ledger, agency, caller, path, body } = call
    const { groupId } = path
    const { reason = null } = body
    if (!isIdShaped(groupId)) return notFound('group')
    const canonicalBody = () => JSON.stringify({ reason })
    return writeOnce<GroupDone>(call, { status: 200, canonicalBody, textOf: groupText }, async (keep) => {
      const outcome = await ledger.commands.groups.cancel(agency, { groupId, reason }, caller, keepGroup(keep))
      return outcome.kind === 'done' ? outcome : recorded(notFound('group'))
    })
  }),
]

const NO_IF_MATCH = invalidField('If-Match', 'must not be sent: a group cannot be booked at a quoted price')

/** The stays, or the refusal of the first pair of dates that makes none. */
function staysOf(stays: readonly { arrival: string; departure: string }[]): readonly Stay[] | Problem {
  const found: Stay[] = []
  for (const [i, each] of stays.entries()) {
    const stay = stayOf(each, `stays[${i}].`)
    if ('code' in stay) return stay
    found.push(stay)
  }
  return found
}

function groupText({ groupId, bookings, inventory }: Pick<GroupDone, 'groupId' | 'bookings' | 'inventory'>): string {
  return JSON.stringify({ groupId, bookings: bookings.map((booking) => bookingJson(booking, inventory)) })
}

function keepGroup(keep: KeepText | undefined): KeepGroup | undefined {
  return keep && ((group) => keep(groupText(group)))
}
