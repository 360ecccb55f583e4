import { afterWrite } from '../../core/bookings/write-error.ts'
import type { Inventory } from '../../core/catalogue/inventory.ts'
import type { Booking } from '../../core/domain/booking.ts'
import { targetOf } from '../http/request-target.ts'
import {
  idempotencyKeyOf,
  type Keep,
  type Answer as KeptAnswer,
  requestHashOf,
} from '../idempotency/idempotent-writes.ts'
import { bookingJson } from '../json/booking-json.ts'
import { invalid, type Problem, problem } from '../problems/problems.ts'
import type { PartnerLedger } from './partner-dependencies.ts'
import type { Call, Outcome } from './partner-route.ts'

type Write = Pick<Call<unknown, unknown>, 'request' | 'agency' | 'key' | 'caller'>

/**
 * Runs a write, once per `Idempotency-Key` if the request has one (design, Additive headers).
 * @param canonicalBody what makes two requests the same, as text
 * @param execute is given what puts its answer into the booking's own record, null without a key
 */
export async function writeOnce(
  ledger: PartnerLedger,
  call: Write,
  canonicalBody: string,
  execute: (keep: Keep | null) => Promise<KeptAnswer | Problem>,
): Promise<Outcome> {
  const { request, agency, key, caller } = call
  const sent = idempotencyKeyOf(request.headers.get('idempotency-key'))
  if (sent.kind === 'none') return execute(null)
  if (sent.kind === 'malformed')
    return auditedRefusal(ledger, call, invalid([{ field: 'Idempotency-Key', message: sent.message }]))

  let refusal: Problem | null = null
  const answer = await ledger.idempotency.run(
    {
      agencyId: agency.id,
      keyId: key.id,
      route: caller.route,
      idempotencyKey: sent.key,
      requestHash: requestHashOf(request.method, targetOf(request.url).path, canonicalBody),
    },
    async (keep) => {
      const executed = await execute(keep)
      if (!('code' in executed)) return executed
      refusal = executed
      return { status: executed.status, body: '' }
    },
  )
  if (answer.kind === 'reused') return auditedRefusal(ledger, call, REUSED)
  if (answer.kind === 'fresh') return refusal ?? answer
  // A repeated write is a write attempt too, and leaves its line in the audit trail.
  await afterWrite(ledger.commands.auditRefusal(agency, caller, 'REPLAYED', bookingIdIn(answer.body)))
  return { ...answer, isReplayed: true }
}

const REUSED = problem(
  'IDEMPOTENCY_KEY_REUSED',
  'This Idempotency-Key was already used for a different request: use a new key',
  {},
)

/** Refuses a write that the booking commands have not seen: with its line in the audit trail (design, Audit). */
export async function auditedRefusal(
  { commands }: PartnerLedger,
  { agency, caller }: Pick<Write, 'agency' | 'caller'>,
  refusal: Problem,
  bookingId: string | null = null,
): Promise<Problem> {
  await commands.auditRefusal(agency, caller, refusal.code, bookingId)
  return refusal
}

function bookingIdIn(body: string): string | null {
  const { booking } = JSON.parse(body) as { booking?: { id?: string } }
  return booking?.id ?? null
}

/** Writes the answer to a booking's change once: what is kept for an `Idempotency-Key` is then what is sent. */
export function answerOnce(status: number, inventory: () => Inventory): (booking: Booking) => KeptAnswer {
  let body: string | null = null
  return (booking) => {
    body ??= JSON.stringify({ booking: bookingJson(booking, inventory()) })
    return { status, body }
  }
}
