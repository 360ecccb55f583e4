/**
 * Writes of the portal, once per `Idempotency-Key` if the request has one (docs/design.md#portal-api). The answer is kept with the write
 * itself: in the batch of a journal entry, or in the statement of any other change. Secrets are not kept.
 */
import type { PortalIdentity } from '../../accounts/portal-access.ts'
import { afterWrite } from '../../core/bookings/write-error.ts'
import type { Agency } from '../../core/catalogue/agency.ts'
import type { Caller, ChangeAnswer, IdempotencyDraft } from '../../core/journal/record.ts'
import { isProblem, type Outcome, type RecordedRefusal } from '../../http/answer.ts'
import type { Execution, IdempotentOutcome, Keep, KeepReturned } from '../../http/idempotent-writes.ts'
import { canonicalJson, hasNewKey, idempotencyKeyOf, requestHashOf } from '../../http/idempotent-writes.ts'
import { IDEMPOTENCY_KEY_REUSED } from '../../http/problem-of.ts'
import { invalid, type Problem } from '../../http/problems.ts'
import { targetOf } from '../../http/request.ts'
import { AssertionError, assert } from '../../lib/assert.ts'
import { withDeadline } from '../../lib/deadline.ts'
import type { PortalLedger } from './portal-dependencies.ts'

/** The scope of routes that belong to no agency. */
const NO_AGENCY = `agc_${'0'.repeat(32)}`
/** The scope of the operator, whichever token is used. */
const OPERATOR_ID = `tok_${'0'.repeat(32)}`

/** How a write says what is kept of its answer. What these return is undefined when the request has no key. */
export interface AnswerKeeper {
  /** Who sends the request, and with which key: the same for a repetition. Null when it has no key. */
  readonly request: string | null
  /** @param show the answer without its secrets; called with what the write makes */
  of<Made extends unknown[]>(show: (...made: Made) => object): ((...made: Made) => KeptDraft) | undefined
  /** What the statement of the change returns; the route reads it back to replay it. */
  returned(): ChangeAnswer | undefined
}

type KeptDraft = IdempotencyDraft & { readonly agencyId: string }

export const NOTHING_KEPT: AnswerKeeper = { request: null, of: () => undefined, returned: () => undefined }

interface WriteCall {
  readonly ledger: PortalLedger
  readonly request: Request
  readonly identity: PortalIdentity
  readonly caller: Caller
  readonly body: unknown
}

export interface Once {
  /** Null for a route that belongs to none. */
  readonly agency: Agency | null
  /** Of the answer. */
  readonly status: number
  /** The answer from what was kept of it; left out: that is the answer. */
  replay?: ((kept: string) => string | Promise<string>) | undefined
  /** The agency whose audit trail shows the repetition, when the route belongs to none. */
  replayedIn?: (() => Agency | null) | undefined
  /** It closes an access, which must not wait for the database: it is made even if no earlier answer can be looked for in time. */
  readonly isRevocation: boolean
}

/** How long a revocation waits for its turn and for an earlier answer. Until it is made, what it revokes is still accepted. */
const REVOCATION_WAITS_MS = 500

/** @param write makes the change, and keeps its answer exactly once if it is 2xx */
export async function writeOnce(
  call: WriteCall,
  once: Once,
  write: (keep: AnswerKeeper) => Outcome | Promise<Outcome>,
): Promise<Outcome> {
  const { ledger, request, identity, caller } = call
  const sent = idempotencyKeyOf(request.headers.get('idempotency-key'))
  if (sent.kind === 'none') return write(NOTHING_KEPT)
  if (sent.kind === 'malformed') return invalid([{ field: 'Idempotency-Key', message: sent.message }])

  const scope = {
    agencyId: once.agency?.id ?? NO_AGENCY,
    keyId: identity.kind === 'operator' ? OPERATOR_ID : identity.member.id,
    route: caller.route,
    idempotencyKey: sent.key,
    hasNewKey: hasNewKey(request),
    requestHash: requestHashOf(request.method, targetOf(request.url).path, canonicalJson(call.body)),
  }
  let answered: Outcome | null = null
  let isExecuted = false
  let isMadeAnyway = false
  const started = Promise.withResolvers<void>()
  const execute = async (keep: Keep, keepReturned: KeepReturned): Promise<Execution<Refusal>> => {
    if (isMadeAnyway) throw new Error('Cannot execute a revocation: it was not waited for')
    isExecuted = true
    started.resolve()
    answered = await write(keeperOf(`${scope.keyId} ${sent.key}`, once.status, keep, keepReturned))
    return isRefusal(answered) ? { kind: 'refused', refusal: answered } : { kind: 'answered' }
  }
  let outcome: IdempotentOutcome<Refusal>
  try {
    const running = ledger.idempotency.run(scope, execute)
    if (once.isRevocation) await withDeadline(Promise.race([started.promise, running]), REVOCATION_WAITS_MS)
    outcome = await running
  } catch (error) {
    if (isExecuted || !once.isRevocation || error instanceof AssertionError) throw error
    isMadeAnyway = true
    return write(NOTHING_KEPT)
  }
  switch (outcome.kind) {
    case 'answered':
      assert(answered !== null, 'Cannot answer a write: it was not executed')
      // With the secret, which is not kept.
      return answered
    case 'refused':
      return outcome.refusal
    case 'reused':
      return IDEMPOTENCY_KEY_REUSED
    case 'replayed': {
      const { status, body } = outcome.answer
      const agency = once.agency ?? once.replayedIn?.() ?? null
      const shown = (await once.replay?.(body)) ?? body
      // A repeated write is a write attempt too, and leaves its line in the audit trail.
      if (agency !== null) await afterWrite(ledger.commands.auditReplay(agency, caller, bookingIdIn(body)))
      return { kind: 'replayed', answer: { status, body: shown } }
    }
  }
}

function keeperOf(request: string, status: number, keep: Keep, keepReturned: KeepReturned): AnswerKeeper {
  return {
    request,
    of:
      (show) =>
      (...made) =>
        keep({ status, body: JSON.stringify(show(...made)) }),
    returned: () => keepReturned(status),
  }
}

type Refusal = Problem | RecordedRefusal

function isRefusal(outcome: Outcome): outcome is Refusal {
  return isProblem(outcome) || (typeof outcome !== 'string' && 'kind' in outcome && outcome.kind === 'refused')
}

function bookingIdIn(kept: string): string | null {
  const { booking } = JSON.parse(kept) as { booking?: { id?: string } }
  return booking?.id ?? null
}
