/** Several stays at once, made by the agency (docs/partner-additions.md#11-several-stays-at-once). */
import { Type } from '@sinclair/typebox'
import type { BookingRequest } from '../../core/bookings/booking-turns.ts'
import type { GroupDone, KeepGroup } from '../../core/bookings/group-commands.ts'
import { afterWrite } from '../../core/bookings/write-error.ts'
import { BOOKING_TYPES } from '../../core/domain/booking.ts'
import type { Restrained } from '../../core/domain/night-guard.ts'
import { type Outcome, recorded } from '../../http/answer.ts'
import { quoteJson } from '../../http/json/quote-json.ts'
import { GROUP_STAYS_FIELD, NEW_BOOKING_FIELDS, optionalText } from '../../http/json/request-fields.ts'
import { problemOfStays, restrainedJson } from '../../http/problem-of.ts'
import { PROBLEMS } from '../../http/problem-table.ts'
import { notFound, type Problem } from '../../http/problems.ts'
import { QuoteJson } from '../../http/quote-schema.ts'
import { isIdShaped } from '../../http/read-request.ts'
import { choice, nullable } from '../../http/text-schema.ts'
import { DRY_RUN, modeOf } from './booking-dry-run.ts'
import {
  AgencyBookingJson,
  agencyBookingJson,
  type BookingWithoutGuest,
  bookingWithoutGuest,
  withGuest,
} from './booking-json.ts'
import { wantedOf } from './booking-writes.ts'
import type { PortalOperation } from './portal-operation.ts'
import { AGENCY_PATH, type AgencyCall, agencyRoute } from './portal-route.ts'
import { label } from './portal-schema.ts'

const { holdHours, guest } = NEW_BOOKING_FIELDS

const GROUP = {
  groupId: Type.String({ description: 'Opaque id of the group.' }),
  bookings: Type.Array(AgencyBookingJson),
}

/** Beside the bookings: one for each stay that restrictions would refuse to partners. */
const WARNINGS = Type.Optional(
  Type.Array(Type.Object({ stay: Type.Integer({ minimum: 0 }), ...PROBLEMS.RESTRICTED.members }), {
    description:
      'Present only if restrictions would refuse some of these stays to partners; they do not bind the agency. `stay` is the index.',
  }),
)

const CREATE_GROUP = {
  id: 'createGroup',
  role: 'desk',
  method: 'POST',
  path: `${AGENCY_PATH}/bookings/group`,
  tag: 'Bookings',
  summary: 'Create several bookings at once, all or none',
  description:
    'Each stay is checked like a single booking, in the order given, as if every stay before it were booked. If any is refused, nothing ' +
    'is booked: the response is the refusal of the first refused stay, and `refusals` lists all of them. The members outside `stays` ' +
    'apply to all bookings.',
  takesDryRun: true,
  query: DRY_RUN,
  body: Type.Object({
    stays: GROUP_STAYS_FIELD,
    type: Type.Optional(choice(BOOKING_TYPES, { default: 'guest', description: 'Only guest stays are priced.' })),
    status: Type.Optional(choice(['draft', 'option', 'confirmed'], { default: 'confirmed' })),
    source: Type.Optional(label(60, 'Where the bookings come from; default `portal`.')),
    holdHours,
    guest,
  }),
  bodyExample: {
    stays: [
      { unit: 'sea-view', arrival: '2027-05-01', departure: '2027-05-08' },
      { unit: 'garden', arrival: '2027-05-01', departure: '2027-05-08' },
    ],
    guest: { firstName: 'Ana', lastName: 'Reis' },
  },
  answer: {
    status: 201,
    description: 'The bookings, in the order of the stays.',
    schema: Type.Object({ ...GROUP, warnings: WARNINGS }),
    dryRun: {
      status: 200,
      description:
        'Only with `dryRun=true`: the bookings as they would be, and in `quotes` the price of each at current rates. Ids are placeholders, and `guest` is null.',
      schema: Type.Object({ ...GROUP, quotes: Type.Array(nullable(QuoteJson)), warnings: WARNINGS }),
    },
  },
  problems: ['BOOKING_CONFLICT'],
  problemsOfStays: ['NOT_FOUND', 'BOOKING_CONFLICT'],
} as const satisfies PortalOperation

const CANCEL_GROUP = {
  id: 'cancelGroup',
  role: 'desk',
  method: 'POST',
  path: `${AGENCY_PATH}/bookings/group/{groupId}/cancel`,
  tag: 'Bookings',
  summary: 'Cancel the bookings of a group',
  description:
    'Cancels all bookings of the group that are not cancelled yet, all or none. Cancelling again is not an error.',
  takesDryRun: true,
  query: DRY_RUN,
  body: Type.Object({ reason: optionalText(255, 'Stored with each booking that is cancelled.') }),
  isBodyOptional: true,
  bodyExample: { reason: 'Wedding called off' },
  answer: {
    status: 200,
    description: 'All bookings of the group, in the order of its stays. With `dryRun=true`, as they would be.',
    schema: Type.Object(GROUP),
  },
} as const satisfies PortalOperation

export const GROUP_WRITES = [
  agencyRoute(
    CREATE_GROUP,
    async (call) => {
      const { ledger, agency, caller, body } = call
      const { type = 'guest', status = 'confirmed', source = 'portal', holdHours = null, guest = null } = body
      const wanted: Omit<BookingRequest, 'unit'>[] = []
      for (const [i, stay] of body.stays.entries()) {
        // What applies to all stays comes last, because a stay may have additional members of any name.
        const each = wantedOf({ ...stay, type, status, source, holdHours, guest, expectedUntil: null }, `stays[${i}].`)
        if ('code' in each) return each
        wanted.push(each)
      }
      const inventory = await ledger.catalogue.inventory(agency.id)
      const stays = wanted.map((each, i) => {
        const unit = inventory.sellableUnit(body.stays[i]?.unit ?? '')
        return unit === null ? null : { ...each, unit }
      })
      const mode = modeOf(call.query)
      const outcome = await ledger.commands.groups.book(agency, { stays }, caller, keptGroup(call), mode)
      if (outcome.kind === 'refused') return refusal(problemOfStays(outcome.refusals), mode)
      if (mode === 'write') return groupAnswer(call, outcome)
      const bookings = outcome.bookings.map((booking, i) =>
        agencyBookingJson({ booking, guest: null, notes: wanted[i]?.notes ?? null }, outcome.inventory),
      )
      const quotes = outcome.quotes?.map((quote) => (quote === null ? null : quoteJson(quote)))
      return tried({ groupId: outcome.groupId, bookings, quotes, ...warningsMember(outcome.warnings) })
    },
    { shown: replayedGroup },
  ),
  agencyRoute(
    CANCEL_GROUP,
    async (call) => {
      const { ledger, agency, caller, path, body } = call
      const { groupId } = path
      if (!isIdShaped(groupId)) return notFound('group')
      const mode = modeOf(call.query)
      const params = { groupId, reason: body.reason ?? null }
      const outcome = await ledger.commands.groups.cancel(agency, params, caller, keptGroup(call), mode)
      if (outcome.kind === 'not_found') return refusal(notFound('group'), mode)
      if (mode === 'write') return groupAnswer(call, outcome)
      return tried({ groupId, bookings: await shownBookings(call, outcome) })
    },
    { shown: replayedGroup },
  ),
]

type Write = Pick<AgencyCall<unknown>, 'ledger' | 'agency' | 'keep'>
type Mode = ReturnType<typeof modeOf>

/** The booking commands have recorded it in the audit trail, except for a dry run. */
function refusal(problem: Problem, mode: Mode): Outcome {
  return mode === 'dry_run' ? problem : recorded(problem)
}

function tried(body: object): Outcome {
  return { kind: 'tried', answer: { status: 200, body: JSON.stringify(body) } }
}

/** The member for an answer; none if there are no warnings. */
function warningsMember(each: readonly (Restrained | null)[]) {
  const warnings = each.flatMap((warning, stay) => (warning === null ? [] : { stay, ...restrainedJson(warning) }))
  return warnings.length === 0 ? {} : { warnings }
}

/** As for one booking, guest and notes are not stored a second time. */
function keptGroup({ keep }: Write): KeepGroup | undefined {
  return keep.of(({ groupId, bookings, inventory, warnings }: Parameters<KeepGroup>[0]) => ({
    groupId,
    bookings: bookings.map((booking) => bookingWithoutGuest(booking, inventory)),
    ...warningsMember(warnings),
  }))
}

/** The bookings as the first request left them, with the guests as they are now. */
async function replayedGroup(call: Write, kept: string): Promise<string> {
  const { groupId, bookings, ...beside } = JSON.parse(kept) as { groupId: string; bookings: BookingWithoutGuest[] }
  const found = await foundOf(call, bookings)
  return JSON.stringify({
    groupId,
    bookings: bookings.map((booking, i) => withGuest(booking, found[i] ?? null)),
    ...beside,
  })
}

/** Read back with guests and notes (J2). */
async function groupAnswer(call: Write, outcome: GroupDone): Promise<Outcome> {
  const { groupId, warnings } = outcome
  const bookings = await afterWrite(shownBookings(call, outcome))
  return JSON.stringify({ groupId, bookings, ...warningsMember(warnings) })
}

/** As this write left them, even if another one has changed some since. */
async function shownBookings(call: Write, { bookings, inventory }: GroupDone) {
  const found = await foundOf(call, bookings)
  return bookings.map((booking, i) => withGuest(bookingWithoutGuest(booking, inventory), found[i] ?? null))
}

function foundOf({ ledger, agency }: Write, bookings: readonly { readonly id: string }[]) {
  return Promise.all(bookings.map(({ id }) => ledger.bookings.find(agency.id, id)))
}
