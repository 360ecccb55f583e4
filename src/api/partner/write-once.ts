/** Writes of partners on bookings, once per `Idempotency-Key` if the request has one (docs/design.md#additive-headers). */
import { afterWrite } from '../../core/bookings/write-error.ts'
import type { IdempotencyDraft } from '../../core/journal/record.ts'
import { type Outcome, type RecordedRefusal, recorded } from '../../http/answer.ts'
import { idempotencyKeyOf, requestHashOf } from '../../http/idempotent-writes.ts'
import { IDEMPOTENCY_KEY_REUSED } from '../../http/problem-of.ts'
import { invalid, type Problem } from '../../http/problems.ts'
import { targetOf } from '../../http/request.ts'
import { assert } from '../../lib/assert.ts'
import type { PartnerCall } from './partner-route.ts'

export type PartnerWrite = Pick<PartnerCall<unknown>, 'ledger' | 'request' | 'agency' | 'key' | 'caller'>

/** Makes what is kept of an answer from its text. */
export type KeepText = (text: string) => IdempotencyDraft

/**
 * Runs a command on bookings once per key, and answers with the text of what it has done.
 * @param answer.status of the answer
 * @param answer.canonicalBody what makes two requests the same, as text; only called if there is a key
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

/** Null for the answer of a group: it names several. */
function bookingIdIn(body: string): string | null {
  const { booking } = JSON.parse(body) as { booking?: { id?: string } }
  return booking?.id ?? null
}
