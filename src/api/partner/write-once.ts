import type { FoundOutcome, KeepAnswer } from '../../core/bookings/booking-request.ts'
import { afterWrite } from '../../core/bookings/write-error.ts'
import type { Inventory } from '../../core/catalogue/inventory.ts'
import type { Booking } from '../../core/domain/booking.ts'
import { assert } from '../../lib/assert.ts'
import { targetOf } from '../http/request-target.ts'
import { idempotencyKeyOf, requestHashOf } from '../idempotency/idempotency-key.ts'
import { bookingJson } from '../json/booking-json.ts'
import { IDEMPOTENCY_KEY_REUSED } from '../problems/problem-of-idempotency.ts'
import { problemOfOutcome } from '../problems/problem-of-outcome.ts'
import { invalid, type Problem } from '../problems/problems.ts'
import { type Outcome, type RecordedRefusal, recorded } from '../route/outcome.ts'
import type { PartnerCall } from './partner-route.ts'

type Write = Pick<PartnerCall<unknown>, 'ledger' | 'request' | 'agency' | 'key' | 'caller'>

/**
 * Runs a command on bookings, once per `Idempotency-Key` if the request has one (docs/design.md#additive-headers), and answers with the
 * booking.
 * @param asked.status of the answer
 * @param asked.canonicalBody what makes two requests the same, as text; only called if there is a key
 * @param command receives, if there is a key, the function that stores the answer in the booking's record
 */
export async function writeOnce(
  call: Write,
  asked: { readonly status: number; readonly canonicalBody: () => string },
  command: (keep?: KeepAnswer) => Promise<FoundOutcome | RecordedRefusal>,
): Promise<Outcome> {
  const { ledger, request, agency, key, caller } = call
  const sent = idempotencyKeyOf(request.headers.get('idempotency-key'))
  if (sent.kind === 'malformed')
    return recordedRefusal(call, invalid([{ field: 'Idempotency-Key', message: sent.message }]))
  if (sent.kind === 'none') {
    const outcome = await command()
    return outcome.kind === 'done' ? bookingText(outcome.booking, outcome.inventory) : refusalOf(outcome)
  }

  const outcome = await ledger.idempotency.run(
    {
      agencyId: agency.id,
      keyId: key.id,
      route: caller.route,
      idempotencyKey: sent.key,
      requestHash: requestHashOf(request.method, targetOf(request.url).path, asked.canonicalBody()),
    },
    async (keep) => {
      const outcome = await command((booking, inventory) =>
        keep({ status: asked.status, body: bookingText(booking, inventory) }),
      )
      return outcome.kind === 'done' ? { kind: 'answered' } : { kind: 'refused', refusal: refusalOf(outcome) }
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
  { ledger, agency, caller }: Pick<Write, 'ledger' | 'agency' | 'caller'>,
  refusal: Problem,
): Promise<RecordedRefusal> {
  await ledger.commands.auditRefusal(agency, caller, refusal.code, null)
  return recorded(refusal)
}

function refusalOf(outcome: Exclude<FoundOutcome, { kind: 'done' }> | RecordedRefusal): RecordedRefusal {
  return outcome.kind === 'refused' ? outcome : recorded(problemOfOutcome(outcome))
}

function bookingText(booking: Booking, inventory: Inventory): string {
  return JSON.stringify({ booking: bookingJson(booking, inventory) })
}

function bookingIdIn(body: string): string | null {
  const { booking } = JSON.parse(body) as { booking?: { id?: string } }
  return booking?.id ?? null
}
