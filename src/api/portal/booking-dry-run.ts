/** Dry runs of booking writes (docs/design.md#dry-runs-and-moves): how they are asked for, and what they answer. */
import { type Static, Type } from '@sinclair/typebox'
import type { AgencyBooking } from '../../core/bookings/booking-lists.ts'
import type { FoundOutcome, WriteMode } from '../../core/bookings/booking-turns.ts'
import type { Restrained } from '../../core/domain/night-guard.ts'
import type { Outcome } from '../../http/answer.ts'
import { quoteJson } from '../../http/json/quote-json.ts'
import { problemOfOutcome, restrainedJson } from '../../http/problem-of.ts'
import { PROBLEMS } from '../../http/problem-table.ts'
import { QuoteJson } from '../../http/quote-schema.ts'
import { choice, nullable } from '../../http/text-schema.ts'
import { AgencyBookingJson, bookingWithoutGuest, withGuest } from './booking-json.ts'
import type { AgencyCall } from './portal-route.ts'

export const DRY_RUN = Type.Object({
  dryRun: Type.Optional(
    choice(['true', 'false'], {
      default: 'false',
      description:
        'With `true`, the answer is what the write would answer or refuse now, decided in the same way. Nothing is written or recorded.',
    }),
  ),
})

/** Beside `booking` if restrictions would refuse the stay to partners (docs/partner-additions.md#8-restrictions). */
export const WARNINGS = Type.Optional(
  Type.Object(PROBLEMS.RESTRICTED.members, {
    description:
      'Present only if restrictions of the unit would refuse this stay to partners; they do not bind the agency.',
  }),
)

/** The member for an answer; none if there are no warnings. */
export function warningsMember(warnings: Restrained | null | undefined) {
  return warnings == null ? {} : { warnings: restrainedJson(warnings) }
}

export const TRIED = {
  status: 200,
  description:
    'Only with `dryRun=true`: the booking as it would be, and its price at current rates. `id` is a placeholder, and `guest` is null.',
  schema: Type.Object({ booking: AgencyBookingJson, quote: nullable(QuoteJson), warnings: WARNINGS }),
} as const

/** Of a change: the same status, so one schema for both. */
export const CHANGED_OR_TRIED = {
  status: 200,
  description:
    'The booking. With `dryRun=true`, the booking as it would be, and in `quote` its price at current rates.',
  schema: Type.Object({
    booking: AgencyBookingJson,
    quote: Type.Optional(
      Type.Union([QuoteJson, Type.Null()], {
        description: 'Only with `dryRun=true`. Null when nobody pays for the stay, or the booking is cancelled.',
      }),
    ),
    warnings: WARNINGS,
  }),
} as const

export function modeOf({ dryRun }: Static<typeof DRY_RUN>): WriteMode {
  return dryRun === 'true' ? 'dry_run' : 'write'
}

/**
 * What a dry run says. Its refusals are not recorded (`takesDryRun`).
 * @param beside of a new booking; left out: those of the booking's row
 */
export async function triedAnswer(
  { ledger, agency }: Pick<AgencyCall<unknown>, 'ledger' | 'agency'>,
  outcome: FoundOutcome,
  beside?: Pick<AgencyBooking, 'guest' | 'notes'>,
): Promise<Outcome> {
  if (outcome.kind !== 'done') return problemOfOutcome(outcome)
  const { booking, inventory, quote = null, warnings } = outcome
  const found = beside ?? (await ledger.bookings.find(agency.id, booking.id))
  const shown = withGuest(bookingWithoutGuest(booking, inventory), found)
  const body = { booking: shown, quote: quote === null ? null : quoteJson(quote), ...warningsMember(warnings) }
  return { kind: 'tried', answer: { status: 200, body: JSON.stringify(body) } }
}
