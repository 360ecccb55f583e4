/** Routes for partners. Every write attempt that is refused leaves a line in the audit trail, or is counted (docs/design.md#audit). */

import type { Admission, PartnerAccess } from '../../accounts/partner-access.ts'
import type { CountedOutcome, RefusalCounter } from '../../accounts/refusal-counter.ts'
import type { UsageMeter } from '../../accounts/usage-meter.ts'
import type { BookingCommands } from '../../core/bookings/booking-commands.ts'
import type { BookingHistory, BookingList, GuestList } from '../../core/bookings/booking-lists.ts'
import type { BookingRows } from '../../core/bookings/booking-turns.ts'
import type { SandboxClocks } from '../../core/bookings/sandbox-clocks.ts'
import type { UnitsAsOf } from '../../core/bookings/units-as-of.ts'
import type { Agency, ApiKey, Inventory, Scope } from '../../core/catalogue/agency.ts'
import type { Catalogue, KeyHolder } from '../../core/catalogue/catalogue.ts'
import type { Caller } from '../../core/journal/record.ts'
import type { ChangeFeed } from '../../events/changes/change-feed.ts'
import type { Checkpoints } from '../../events/checkpoints/checkpoints.ts'
import type { EntityTags, FailureReport, Outcome } from '../../http/answer.ts'
import type { IdempotentWrites } from '../../http/idempotent-writes.ts'
import { KeyAdmission } from '../../http/key-admission.ts'
import { type BodyOf, isWrite, type Operation, type PathOf, type QueryOf, routeNameOf } from '../../http/operation.ts'
import type { Failure } from '../../http/problem-of.ts'
import type { Problem } from '../../http/problems.ts'
import { isIdShaped, type PathValues } from '../../http/read-request.ts'
import { type DescribedRoute, type Open, type StreamCall, served, streamCall } from '../../http/route.ts'
import type { Clock } from '../../lib/clock.ts'
import type { IdSource } from '../../lib/ids.ts'
import { traceparentIn } from '../../lib/traceparent.ts'
import type { RequestStats } from '../../observability/request-stats.ts'

/** What the partner surface needs from the running core. */
export interface PartnerLedger {
  readonly clock: Clock
  readonly newId: IdSource
  readonly catalogue: Catalogue
  readonly commands: BookingCommands
  readonly bookingRows: BookingRows
  readonly bookingList: BookingList
  readonly bookingHistory: BookingHistory
  readonly unitsAsOf: UnitsAsOf
  readonly guestList: GuestList
  readonly access: PartnerAccess
  readonly usage: UsageMeter
  readonly refusals: RefusalCounter
  readonly idempotency: IdempotentWrites
  readonly tags: EntityTags
  readonly changes: ChangeFeed
  readonly checkpoints: Checkpoints
  readonly sandboxClocks: SandboxClocks
}

interface SandboxEventsPort {
  send(
    agencyId: string,
    bookingId: string,
    fault: 'duplicate' | 'reorder' | 'late' | 'bad_signature' | 'old_timestamp',
  ): Promise<
    | { readonly kind: 'sent'; readonly eventIds: readonly string[]; readonly endpoints: number }
    | { readonly kind: 'not_found' | 'busy' }
  >
}

/** What every partner route needs. */
export interface PartnerDependencies {
  readonly ledger: PartnerLedger
  /** Sends events of a sandbox again, with a fault (SandboxEvents). */
  readonly sandboxEvents: SandboxEventsPort
  readonly requestStats: RequestStats
  onFailure(report: FailureReport): void
}

/** A request that has passed every check. */
export interface PartnerCall<O> {
  readonly ledger: PartnerLedger
  readonly sandboxEvents: SandboxEventsPort
  readonly request: Request
  readonly agency: Agency
  readonly key: ApiKey
  readonly caller: Caller
  readonly path: PathOf<O>
  readonly query: QueryOf<O>
  readonly body: BodyOf<O>
  /** For answers that cost more than one request (`chargeMore`). */
  readonly open: Open<Admission>
  stream(): StreamCall
}

/** A route for partners. The handler answers at once if it can: reads from memory return no promise. */
export function partnerRoute<const O extends Operation & { readonly scope: Scope | null }>(
  operation: O,
  handle: (call: PartnerCall<O>) => Outcome | Promise<Outcome>,
): DescribedRoute<PartnerDependencies, O> {
  return {
    operation,
    serve: ({ ledger, sandboxEvents, requestStats, onFailure }) => {
      const serving = { operation, surface: 'partner', requestStats, newId: ledger.newId, onFailure } as const
      const route = routeNameOf(operation)
      const writes = isWrite(operation)
      const admission = writes ? new WriteAdmission(ledger, operation) : new KeyAdmission(ledger, operation)
      return served(serving, admission, (open, path, query, body) => {
        const { agency, key } = open.admission.holder
        const { request, requestId } = open
        // Reads record nothing that would need the trace.
        const traceparent = writes ? traceparentIn(request) : null
        const caller: Caller = { actor: { kind: 'key', id: key.id }, route, requestId, traceparent }
        const stream = () => streamCall(serving, admission, open)
        return handle({
          ledger,
          sandboxEvents,
          request,
          agency,
          key,
          caller,
          path,
          query,
          body,
          open,
          stream,
        } as PartnerCall<O>)
      })
    },
  }
}

/** The request fields of an audit line that counts attempts. */
type Identified = Pick<Open<Admission>, 'request' | 'requestId'>

/** Admits as for reads, and records refused writes: in the audit trail, or counted. */
class WriteAdmission extends KeyAdmission {
  readonly #ledger: PartnerLedger
  readonly #route: string

  constructor(ledger: PartnerLedger, operation: Operation) {
    super(ledger, operation)
    this.#ledger = ledger
    this.#route = routeNameOf(operation)
  }

  override admit(request: Request, requestId: string): Admission | null {
    const admission = super.admit(request, requestId)
    if (admission === null) this.#countUnauthorized(request, requestId)
    return admission
  }

  override readmit(open: Open<Admission>): Admission | null {
    const current = super.readmit(open)
    if (current === null) this.#count(open.admission.holder, 'UNAUTHORIZED', open)
    return current
  }

  /** Refusals beyond the key's budget or the agency's quota are counted instead (docs/design.md#audit). */
  override recordRefusal(open: Open<Admission>, { code }: Problem, path: PathValues): Promise<void> | null {
    const { request, requestId, admission } = open
    const { holder, rate } = admission
    if (code === 'QUOTA_EXCEEDED' || code === 'RATE_LIMITED' || (code === 'FEATURE_DISABLED' && !rate.allowed)) {
      this.#count(holder, code, open)
      return null
    }
    const { agency, key } = holder
    const actor = { kind: 'key', id: key.id } as const
    const caller: Caller = { actor, route: this.#route, requestId, traceparent: traceparentIn(request) }
    // The writes of partners are all about bookings.
    const { id } = path
    return this.#ledger.commands.auditRefusal(agency, caller, code, id !== undefined && isIdShaped(id) ? id : null)
  }

  override recordFailure(open: Open<Admission>, outcome: Failure['outcome']): void {
    this.#count(open.admission.holder, outcome, open)
  }

  #count({ agency, key }: KeyHolder, code: CountedOutcome, { request, requestId }: Identified): void {
    const actor = { kind: 'key', id: key.id } as const
    const traceparent = traceparentIn(request)
    this.#ledger.refusals.count({ agencyId: agency.id, actor, code, route: this.#route, requestId, traceparent })
  }

  /** A revoked or expired key, or one of an inactive agency, still belongs to the agency: its audit trail shows that someone used it. */
  #countUnauthorized(request: Request, requestId: string): void {
    const holder = this.#ledger.access.holderOf(request.headers.get('authorization'))
    if (holder !== null) this.#count(holder, 'UNAUTHORIZED', { request, requestId })
  }
}

/** Uses the agency's inventory: at once when it is in memory, which is nearly always. */
export function withInventory<T>(
  catalogue: Catalogue,
  holder: KeyHolder,
  use: (inventory: Inventory) => T | Promise<T>,
): T | Promise<T> {
  const { id } = holder.agency
  const inventory = catalogue.peekInventory(id, holder)
  return inventory === null ? catalogue.inventory(id).then(use) : use(inventory)
}
