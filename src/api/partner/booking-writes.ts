import { Type } from '@sinclair/typebox'
import { type BookingRequest, type FoundOutcome, type KeepAnswer, tariffOf } from '../../core/bookings/booking-turns.ts'
import { afterWrite } from '../../core/bookings/write-error.ts'
import type { Inventory } from '../../core/catalogue/agency.ts'
import type { Booking } from '../../core/domain/booking.ts'
import type { Stay } from '../../core/domain/night.ts'
import { priceStay, type Quote } from '../../core/domain/pricing.ts'
import type { Unit } from '../../core/domain/unit.ts'
import type { IdempotencyDraft } from '../../core/journal/record.ts'
import { ifMatchOf, noAnswer, type Outcome, type RecordedRefusal, recorded } from '../../http/answer.ts'
import { hasNewKey, idempotencyKeyOf, requestHashOf } from '../../http/idempotent-writes.ts'
import { BookingJson, bookingJson } from '../../http/json/booking-json.ts'
import { quoteTag } from '../../http/json/quote-json.ts'
import {
  guestOf,
  NEW_BOOKING_FIELDS,
  optionalText,
  PARTY_FIELDS,
  STAY_FIELDS,
  stayOf,
} from '../../http/json/request-fields.ts'
import type { BodyOf, Operation } from '../../http/operation.ts'
import { IDEMPOTENCY_KEY_REUSED, problemOfOutcome } from '../../http/problem-of.ts'
import { invalid, invalidField, notFound, type Problem } from '../../http/problems.ts'
import { isIdShaped } from '../../http/read-request.ts'
import { targetOf } from '../../http/request.ts'
import { choice } from '../../http/text-schema.ts'
import { assert } from '../../lib/assert.ts'
import { sleep } from '../../lib/clock.ts'
import { type PartnerCall, partnerRoute } from './partner-route.ts'
import { doesRefuse, faultOf, refusalBy, SLOW_MS, unknownOutcome } from './test-faults.ts'

type BookingDone = Extract<FoundOutcome, { readonly kind: 'done' }>

/** Runs a command on one booking once per `Idempotency-Key`, and answers with the booking. */
function answeredOnce(
  call: PartnerWrite,
  answer: { readonly status: number; readonly canonicalBody: () => string },
  command: (keep?: KeepAnswer) => Promise<FoundOutcome | RecordedRefusal>,
): Promise<Outcome> {
  return writeOnce<BookingDone>(call, { ...answer, textOf: bookingText }, async (keep) => {
    const outcome = await command(keep && ((booking, inventory) => keep(bookingText({ booking, inventory }))))
    if (outcome.kind === 'done' || outcome.kind === 'refused') return outcome
    return recorded(problemOfOutcome(outcome))
  })
}

function bookingText({ booking, inventory }: { readonly booking: Booking; readonly inventory: Inventory }): string {
  return JSON.stringify({ booking: bookingJson(booking, inventory) })
}

export const HOLD_OR_CONFIRMED = Type.Optional(
  choice(['draft', 'option', 'confirmed'], {
    default: 'confirmed',
    description: '`draft` and `option` are holds that expire on their own.',
  }),
)

/** See docs/contract.md#post-bookings and docs/contract.md#limits. Price-shaped fields are not in it: they are ignored. */
const NEW_BOOKING = Type.Object({
  ...STAY_FIELDS,
  status: HOLD_OR_CONFIRMED,
  ...PARTY_FIELDS,
  ...NEW_BOOKING_FIELDS,
})

const CREATE_BOOKING = {
  id: 'createBooking',
  method: 'POST',
  path: '/partner/v1/bookings',
  tag: 'Bookings',
  summary: 'Create a booking',
  description:
    'The pricing engine computes the total when the booking is written. Checks run in this order: minimum stay, restrictions, cleaning ' +
    'block after the previous checkout, announced extension of the current guest, double booking. None can be overridden. ' +
    'With `If-Match`, the price is checked last.',
  scope: 'write:bookings',
  takesIfMatch: true,
  body: NEW_BOOKING,
  bodyExample: {
    unit: 'sea-view',
    arrival: '2027-03-01',
    departure: '2027-03-05',
    adults: 2,
    sourceRef: 'A-1001',
    guest: { firstName: 'Ana', lastName: 'Reis', email: 'ana@example.com' },
  },
  answer: { status: 201, description: 'The booking.', schema: Type.Object({ booking: BookingJson }) },
  problems: [
    'VALIDATION',
    'NOT_FOUND',
    'BOOKING_CONFLICT',
    'TURNOVER_BLOCK_CONFLICT',
    'EXPECTED_EXTENSION_CONFLICT',
    'QUOTE_CHANGED',
    'MIN_STAY',
    'RESTRICTED',
    'IDEMPOTENCY_KEY_REUSED',
  ],
} as const satisfies Operation

export const BOOK = [
  partnerRoute(CREATE_BOOKING, (call) => {
    const { ledger, agency, caller, body } = call
    const stay = stayOf(body)
    if ('code' in stay) return stay
    const wanted = wantedOf(body, stay)
    const answer = { status: 201, canonicalBody: () => JSON.stringify([body.unit, wanted]) }
    const fault = faultOf(agency, wanted.sourceRef)
    const answering = answeredOnce(call, answer, async (keep) => {
      // Read here, because a repeated request is answered without it.
      const inventory = ledger.catalogue.peekInventory(agency.id) ?? (await ledger.catalogue.inventory(agency.id))
      const ifMatch = ifMatchOf(call.request.headers.get('if-match'))
      if (ifMatch.kind === 'malformed') return recordedRefusal(call, MALFORMED_IF_MATCH)
      const unit = inventory.sellableUnit(body.unit)
      if (unit === null) return recordedRefusal(call, notFound('unit'))
      if (fault !== null && doesRefuse(fault)) {
        const { children, extraBed } = wanted
        const quote = () => priceStay({ rules: unit.rules, stay, children, extraBed, ...tariffOf(agency, inventory) })
        return recordedRefusal(call, refusalBy(fault, { agency, stay, quote }, ledger))
      }
      const isAgreed =
        ifMatch.kind === 'any' ? undefined : (quote: Quote) => ifMatch.tags.includes(quoteTag(unit, quote))
      const outcome = await ledger.commands.book(agency, { ...requestOf(unit, wanted), isAgreed }, caller, keep)
      if (outcome.kind !== 'done') return outcome
      if (fault === 'slow') await sleep(ledger.clock, SLOW_MS)
      return fault === 'unknown_outcome' ? recorded(unknownOutcome()) : outcome
    })
    // A repeated request gets the answer that was kept.
    if (fault !== 'disconnect') return answering
    return answering.then((outcome) => (typeof outcome === 'string' ? noAnswer() : outcome))
  }),
]

const MALFORMED_IF_MATCH = invalidField(
  'If-Match',
  'must be * or a list of entity tags in double quotes, such as the ETag of a quote',
)

/** The request without its unit, defaults filled in, members in a fixed order. */
export function wantedOf(body: Omit<BodyOf<typeof CREATE_BOOKING>, 'unit' | 'arrival' | 'departure'>, stay: Stay) {
  return {
    stay,
    status: body.status ?? 'confirmed',
    sourceRef: body.sourceRef ?? null,
    adults: body.adults ?? 2,
    children: body.children ?? 0,
    extraBed: body.extraBed ?? false,
    notes: body.notes ?? null,
    holdHours: body.holdHours ?? null,
    guest: guestOf(body.guest),
  }
}

export function requestOf(unit: Unit, wanted: ReturnType<typeof wantedOf>): BookingRequest {
  return { ...wanted, unit, type: 'guest', source: 'partner', enforcement: 'partner' }
}

const CANCEL_BOOKING = {
  id: 'cancelBooking',
  method: 'POST',
  path: '/partner/v1/bookings/{id}/cancel',
  tag: 'Bookings',
  summary: 'Cancel a booking',
  description:
    'Releases the nights and keeps the record with the reason. Cancelling a cancelled booking is not an error.',
  scope: 'write:bookings',
  pathParameters: { id: { description: 'Id of the booking.', example: 'bkg_019a2b3c4d5e7f008192a3b4c5d6e7f8' } },
  body: Type.Object({ reason: optionalText(255) }),
  isBodyOptional: true,
  bodyExample: { reason: 'Guest fell ill' },
  answer: {
    status: 200,
    description: 'The cancelled booking; unchanged if it was already cancelled.',
    schema: Type.Object({ booking: BookingJson }),
  },
  problems: ['VALIDATION', 'NOT_FOUND', 'IDEMPOTENCY_KEY_REUSED'],
} as const satisfies Operation

export const CANCEL = [
  partnerRoute(CANCEL_BOOKING, (call) => {
    const { ledger, agency, caller, path, body } = call
    const { reason = null } = body
    if (!isIdShaped(path.id)) return notFound('booking')
    return answeredOnce(call, { status: 200, canonicalBody: () => JSON.stringify({ reason }) }, (keep) =>
      ledger.commands.cancel(agency, { bookingId: path.id, reason }, caller, keep),
    )
  }),
]

type PartnerWrite = Pick<PartnerCall<unknown>, 'ledger' | 'request' | 'agency' | 'key' | 'caller'>

/** Makes the stored answer from the text of the answer. */
export type KeepText = (text: string) => IdempotencyDraft

/**
 * Runs a command on bookings, once per `Idempotency-Key` if the request has one, and answers with the text of what it did
 * (docs/design.md#additive-headers).
 * @param answer.status of the answer
 * @param answer.canonicalBody equal texts mean equal requests; only called if there is a key
 * @param command receives, if there is a key, the function that stores the answer in the record of the change
 */
export async function writeOnce<Done extends { readonly kind: 'done' }>(
  call: PartnerWrite,
  answer: {
    readonly status: number
    readonly canonicalBody: () => string
    readonly textOf: (done: Done) => string
  },
  command: (keep?: KeepText) => Promise<Done | RecordedRefusal>,
): Promise<Outcome> {
  const { ledger, request, agency, key, caller } = call
  const sent = idempotencyKeyOf(request.headers.get('idempotency-key'))
  if (sent.kind === 'malformed')
    return recordedRefusal(call, invalid([{ field: 'Idempotency-Key', message: sent.message }]))
  if (sent.kind === 'none') {
    const outcome = await command()
    return outcome.kind === 'done' ? answer.textOf(outcome) : outcome
  }

  const outcome = await ledger.idempotency.run(
    {
      agencyId: agency.id,
      keyId: key.id,
      route: caller.route,
      idempotencyKey: sent.key,
      hasNewKey: hasNewKey(request),
      requestHash: requestHashOf(request.method, targetOf(request.url).path, answer.canonicalBody()),
    },
    async (keep) => {
      const outcome = await command((body) => keep({ status: answer.status, body }))
      return outcome.kind === 'done' ? { kind: 'answered' } : { kind: 'refused', refusal: outcome }
    },
  )
  switch (outcome.kind) {
    case 'answered':
      assert(outcome.answer !== null, 'Cannot answer with a booking: only the database has it')
      return outcome.answer.body
    case 'refused':
      return outcome.refusal
    case 'reused':
      return recordedRefusal(call, IDEMPOTENCY_KEY_REUSED)
    case 'replayed':
      // A repeated write is a write attempt too, and leaves its line in the audit trail.
      await afterWrite(ledger.commands.auditReplay(agency, caller, bookingIdIn(outcome.answer.body)))
      return outcome
  }
}

/** Records a refusal that the booking commands have not seen in the audit trail, without naming a booking (docs/design.md#audit). */
export async function recordedRefusal(
  { ledger, agency, caller }: Pick<PartnerWrite, 'ledger' | 'agency' | 'caller'>,
  refusal: Problem,
): Promise<RecordedRefusal> {
  await ledger.commands.auditRefusal(agency, caller, refusal.code, null)
  return recorded(refusal)
}

/** Null for the answer of a group, which has several bookings. */
function bookingIdIn(body: string): string | null {
  const { booking } = JSON.parse(body) as { booking?: { id?: string } }
  return booking?.id ?? null
}
