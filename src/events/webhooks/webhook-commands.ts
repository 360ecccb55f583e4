import { BOOKING_EVENTS, type Instant, type WebhookEventKind } from '../../core/domain/booking.ts'
import type { ChangeLine, KeepChange } from '../../core/journal/record.ts'
import { assert } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { HOUR_MS } from '../../lib/clock.ts'
import { Counts } from '../../lib/counts.ts'
import type { IdSource } from '../../lib/ids.ts'
import type { EndpointChange, EndpointRows, ResendSince, ResentPart, StoredEndpoint } from './endpoint-rows.ts'
import { type EndpointRefusal, parseEndpointUrl } from './endpoint-url.ts'
import type { PostOnce } from './guarded-post.ts'
import { coarseReason, isAccepted } from './guarded-post.ts'
import { checkTarget, type NameResolver } from './name-resolver.ts'
import { SandboxEvents } from './sandbox-events.ts'
import type { SecretBox } from './secret-box.ts'
import { newSecret, openSecrets, signedHeaders } from './secret-box.ts'
import type { WebhookDelivery } from './sender-store.ts'
import { ENDPOINTS_PER_AGENCY_MAX, OVERLAP_HOURS_MAX, type WebhookEndpoint } from './webhook-endpoint.ts'

interface EndpointDraft {
  readonly url: string
  /** At most `DESCRIPTION_LENGTH_MAX` characters. */
  readonly description: string | null
  /** Left out: the events of bookings. */
  readonly events?: readonly WebhookEventKind[]
}

type RegisterOutcome =
  /** `secret` is shown only once. */
  | { readonly kind: 'registered'; readonly endpoint: WebhookEndpoint; readonly secret: string }
  | { readonly kind: 'url_refused'; readonly refusal: EndpointRefusal }
  | { readonly kind: 'too_many'; readonly max: number }

type ChangeOutcome =
  | { readonly kind: 'changed'; readonly endpoint: WebhookEndpoint }
  | { readonly kind: 'url_refused'; readonly refusal: EndpointRefusal }
  | { readonly kind: 'not_found' }

type RotateOutcome =
  | { readonly kind: 'rotated'; readonly endpoint: WebhookEndpoint; readonly secret: string }
  | { readonly kind: 'not_found' }

type PingOutcome =
  | { readonly kind: 'pinged'; readonly delivery: WebhookDelivery }
  | { readonly kind: 'not_found' }
  /** `PINGS_PER_AGENCY_MAX` pings of the agency are in flight, or `PINGS_AT_ONCE_MAX` in all. */
  | { readonly kind: 'busy' }

type ResendOutcome =
  | { readonly kind: 'resent'; readonly delivery: WebhookDelivery }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'refused'; readonly refusal: 'is_ping' | 'endpoint_deleted' }

type ResendSinceOutcome =
  | { readonly kind: 'resent'; readonly part: ResentPart }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'refused'; readonly refusal: 'endpoint_disabled' | 'unknown_after' }
  /** `RESENT_DUE_MAX` deliveries of the agency are due already. */
  | { readonly kind: 'busy' }

/** Concurrent pings of one agency: a receiver that hangs holds each for 10 s. */
export const PINGS_PER_AGENCY_MAX = 2
/** Concurrent pings, over all agencies. The process that serves requests sends them, so only a few are allowed. */
export const PINGS_AT_ONCE_MAX = 8
/** How long a registration may wait for the name to resolve. */
const RESOLVE_MS_MAX = 5_000

interface WebhookCommandsOptions {
  readonly rows: EndpointRows
  readonly resolver: NameResolver
  readonly post: PostOnce
  readonly box: SecretBox
  readonly clock: Clock
  /** What a sandbox's clock shows; left out: there is none. Secrets expire by `clock` all the same. */
  readonly timeOf?: (agencyId: string) => Instant
  /** Left out: no agency is one. */
  readonly isSandbox?: (agencyId: string) => boolean
  readonly newId: IdSource
  /** `host:port`, lower case (WEBHOOK_ALLOW_HOSTS). */
  readonly allowHosts: readonly string[]
  /** The sender must look again: a delivery is due, or an endpoint changed. */
  readonly onChange: (change: { agencyId: string; endpointId: string }) => void
  /** From now on the agency may have an endpoint for these events. Called before that is stored. */
  readonly onEvents?: (agencyId: string, events: readonly WebhookEventKind[]) => void
}

/**
 * The commands of an agency on its webhook endpoints; the portal's routes call them. Expected refusals are values.
 * Every method rejects with an operational error when the database does not answer. Each change is one statement that
 * also writes the given audit line, and its error says what is known of the outcome (`EndpointRows`).
 */
export class WebhookCommands {
  readonly sandboxEvents: SandboxEvents
  readonly #options: WebhookCommandsOptions
  readonly #timeOf: (agencyId: string) => Instant
  readonly #isSandbox: (agencyId: string) => boolean
  readonly #onEvents: (agencyId: string, events: readonly WebhookEventKind[]) => void
  /** In progress, by agency. */
  readonly #pings = new Counts<string>()

  constructor(options: WebhookCommandsOptions) {
    this.#options = options
    this.#timeOf = options.timeOf ?? (() => options.clock.now())
    this.#isSandbox = options.isSandbox ?? (() => false)
    this.#onEvents = options.onEvents ?? (() => {})
    this.sandboxEvents = new SandboxEvents(options)
  }

  /** Endpoints have passed to this agency, which had none before. */
  endpointsMoved(agencyId: string): void {
    this.#onEvents(agencyId, ['booking.created', 'rates.updated'])
  }

  async register(
    agencyId: string,
    { url, description, events = BOOKING_EVENTS }: EndpointDraft,
    audit: ChangeLine,
    keep?: KeepChange<WebhookEndpoint>,
  ): Promise<RegisterOutcome> {
    const checked = await this.#check(url)
    if (checked.kind === 'url_refused') return checked
    const now = this.#timeOf(agencyId)
    const id = this.#options.newId('whe')
    const secret = newSecret()
    const endpoint: StoredEndpoint = {
      agencyId,
      id,
      url: checked.url,
      description,
      events,
      status: 'active',
      disabledReason: null,
      consecutiveFailures: 0,
      secretSealed: this.#options.box.seal(secret, { agencyId, endpointId: id }),
      previousSecretSealed: null,
      previousSecretUntil: null,
      waitingEvents: 0,
      waitingDeliveries: 0,
      createdAt: now,
      updatedAt: now,
    }
    this.#onEvents(agencyId, events)
    const line = { ...audit, answer: keep?.(agencyView(endpoint, now)) }
    const inserted = await this.#options.rows.insert(endpoint, ENDPOINTS_PER_AGENCY_MAX, line)
    if (!inserted) return { kind: 'too_many', max: ENDPOINTS_PER_AGENCY_MAX }
    return { kind: 'registered', endpoint: agencyView(endpoint, now), secret }
  }

  /** Newest first; at most `ENDPOINTS_PER_AGENCY_MAX`. */
  async list(agencyId: string): Promise<readonly WebhookEndpoint[]> {
    const now = this.#options.clock.now()
    return (await this.#options.rows.list(agencyId)).map((endpoint) => agencyView(endpoint, now))
  }

  async find(agencyId: string, endpointId: string): Promise<WebhookEndpoint | null> {
    const endpoint = await this.#options.rows.find(agencyId, endpointId)
    return endpoint === null ? null : agencyView(endpoint, this.#options.clock.now())
  }

  /**
   * Makes all changes, or none when the URL is refused. With a new URL the secret stays, and failures of the old URL no
   * longer count. `pending` has no effect on an active endpoint.
   */
  async change(
    agencyId: string,
    endpointId: string,
    requested: EndpointChange,
    audit: ChangeLine,
  ): Promise<ChangeOutcome> {
    let { url } = requested
    if (url !== undefined) {
      if ((await this.#options.rows.find(agencyId, endpointId)) === null) return { kind: 'not_found' }
      const checked = await this.#check(url)
      if (checked.kind === 'url_refused') return checked
      url = checked.url
    }
    if (requested.events !== undefined) this.#onEvents(agencyId, requested.events)
    const at = this.#timeOf(agencyId)
    const change = { ...requested, ...(url === undefined ? {} : { url }), agencyId, endpointId, at }
    const endpoint = await this.#notifyAfter({ agencyId, endpointId }, this.#options.rows.change(change, audit))
    return endpoint === null
      ? { kind: 'not_found' }
      : { kind: 'changed', endpoint: agencyView(endpoint, this.#options.clock.now()) }
  }

  /** @returns the endpoint as it was, null when there is none */
  async delete(agencyId: string, endpointId: string, audit: ChangeLine): Promise<WebhookEndpoint | null> {
    const at = this.#timeOf(agencyId)
    const deletion = this.#options.rows.delete({ agencyId, endpointId, at }, audit)
    const endpoint = await this.#notifyAfter({ agencyId, endpointId }, deletion)
    return endpoint === null ? null : agencyView(endpoint, this.#options.clock.now())
  }

  /** The endpoint that a change, a deletion or a rotation was answered with, from what was kept of the answer. */
  keptEndpoint(kept: string): WebhookEndpoint {
    const { endpoint, at } = this.#options.rows.keptEndpoint(kept)
    return agencyView(endpoint, at)
  }

  /** The delivery that `resend` was answered with, from what was kept of the answer. */
  keptDelivery(kept: string): WebhookDelivery {
    return this.#options.rows.keptDelivery(kept)
  }

  /** @param overlapHours 0 to `OVERLAP_HOURS_MAX`: how long the old secret signs along with the new one */
  async rotateSecret(
    agencyId: string,
    endpointId: string,
    { overlapHours }: { overlapHours: number },
    audit: ChangeLine,
  ): Promise<RotateOutcome> {
    assert(overlapHours >= 0 && overlapHours <= OVERLAP_HOURS_MAX, `Cannot rotate: an overlap of ${overlapHours} hours`)
    const secret = newSecret()
    const now = this.#options.clock.now()
    const change = {
      agencyId,
      endpointId,
      secretSealed: this.#options.box.seal(secret, { agencyId, endpointId }),
      previousSecretUntil: overlapHours === 0 ? null : now + overlapHours * HOUR_MS,
      at: this.#timeOf(agencyId),
    }
    const endpoint = await this.#notifyAfter({ agencyId, endpointId }, this.#options.rows.replaceSecret(change, audit))
    if (endpoint === null) return { kind: 'not_found' }
    return { kind: 'rotated', endpoint: agencyView(endpoint, now), secret }
  }

  /** Makes one attempt immediately, whatever the endpoint's status. It does not change the failure count. */
  async ping(
    agencyId: string,
    endpointId: string,
    audit: ChangeLine,
    keep?: KeepChange<WebhookDelivery>,
  ): Promise<PingOutcome> {
    if (this.#pings.of(agencyId) >= PINGS_PER_AGENCY_MAX || this.#pings.total >= PINGS_AT_ONCE_MAX)
      return { kind: 'busy' }
    this.#pings.add(agencyId)
    try {
      const endpoint = await this.#options.rows.find(agencyId, endpointId)
      if (endpoint === null) return { kind: 'not_found' }
      return { kind: 'pinged', delivery: await this.#sendPing(endpoint, audit, keep) }
    } finally {
      this.#pings.add(agencyId, -1)
    }
  }

  /** Newest first, including pings. Null when there is no such endpoint. */
  async deliveries(
    agencyId: string,
    endpointId: string,
    page: { offset: number; limit: number },
  ): Promise<{ readonly rows: readonly WebhookDelivery[]; readonly total: number } | null> {
    if ((await this.#options.rows.find(agencyId, endpointId)) === null) return null
    return await this.#options.rows.deliveries(agencyId, endpointId, page)
  }

  /** Those of the events of a booking, to all endpoints, newest first. None for an unknown booking. */
  deliveriesOfBooking(
    agencyId: string,
    bookingId: string,
    page: { offset: number; limit: number },
  ): Promise<{ readonly rows: readonly WebhookDelivery[]; readonly total: number }> {
    return this.#options.rows.deliveriesOfBooking(agencyId, bookingId, page)
  }

  /**
   * Sends a delivery again, whatever its status: the same id and bytes, on a new schedule that starts now. If the
   * endpoint is disabled, the delivery is held until it is enabled.
   */
  async resend(agencyId: string, deliveryId: string, audit: ChangeLine): Promise<ResendOutcome> {
    const delivery = await this.#options.rows.findDelivery(agencyId, deliveryId)
    if (delivery === null) return { kind: 'not_found' }
    if (delivery.event === 'ping') return { kind: 'refused', refusal: 'is_ping' }
    const { endpointId } = delivery
    const writing = this.#options.rows.resend(delivery, agencyId, this.#timeOf(agencyId), audit)
    const resent = await this.#notifyAfter({ agencyId, endpointId }, writing)
    return resent === null ? { kind: 'refused', refusal: 'endpoint_deleted' } : { kind: 'resent', delivery: resent }
  }

  /**
   * Sends a part of an endpoint's deliveries again, as `resend` does each: the caller asks for the next part, or stops. A disabled
   * endpoint is refused: what it holds, and what was dropped, would go out together when it is enabled.
   */
  async resendSince(part: Omit<ResendSince, 'at'>, audit: ChangeLine): Promise<ResendSinceOutcome> {
    const { agencyId, endpointId, after } = part
    const endpoint = await this.#options.rows.find(agencyId, endpointId)
    if (endpoint === null) return { kind: 'not_found' }
    if (endpoint.status === 'disabled') return { kind: 'refused', refusal: 'endpoint_disabled' }
    if (after !== null && (await this.#options.rows.findDelivery(agencyId, after))?.endpointId !== endpointId)
      return { kind: 'refused', refusal: 'unknown_after' }
    const writing = this.#options.rows.resendSince({ ...part, at: this.#timeOf(agencyId) }, audit)
    const resent = await this.#notifyAfter({ agencyId, endpointId }, writing)
    return resent === null ? { kind: 'busy' } : { kind: 'resent', part: resent }
  }

  /** What `resendSince` was answered with, from what was kept of the answer. */
  keptPart(kept: string): ResentPart {
    return this.#options.rows.keptPart(kept)
  }

  /**
   * Checks the URL itself, then every address its name has now. The addresses are checked again before each attempt.
   */
  async #check(
    url: string,
  ): Promise<{ kind: 'accepted'; url: string } | { kind: 'url_refused'; refusal: EndpointRefusal }> {
    const target = parseEndpointUrl(url, this.#options.allowHosts)
    if (typeof target === 'string') return { kind: 'url_refused', refusal: target }
    if (target.isExempt) return { kind: 'accepted', url: target.url }
    const checked = await checkTarget(target, this.#options.resolver, RESOLVE_MS_MAX)
    switch (checked.kind) {
      case 'addresses':
        return { kind: 'accepted', url: target.url }
      case 'refused':
        return { kind: 'url_refused', refusal: checked.refusal }
      case 'unresolved':
      case 'timed_out':
        return { kind: 'url_refused', refusal: 'does_not_resolve' }
    }
  }

  /** Notifies the sender even when the change fails: a change whose reply was lost may have been made. */
  async #notifyAfter<T>(which: { agencyId: string; endpointId: string }, change: Promise<T>): Promise<T> {
    try {
      return await change
    } finally {
      this.#options.onChange(which)
    }
  }

  async #sendPing(
    endpoint: StoredEndpoint,
    audit: ChangeLine,
    keep: KeepChange<WebhookDelivery> | undefined,
  ): Promise<WebhookDelivery> {
    const { agencyId, id: endpointId } = endpoint
    const [signedAt, at] = [this.#options.clock.now(), this.#timeOf(agencyId)]
    const mode = this.#isSandbox(agencyId) ? { mode: 'test' } : {}
    const eventId = this.#options.newId('evt')
    const deliveryId = this.#options.newId('dlv')
    const body = JSON.stringify({
      id: eventId,
      event: 'ping',
      occurredAt: new Date(at).toISOString(),
      ...mode,
      data: {},
    })
    const secrets = openSecrets(endpoint, { owner: { agencyId, endpointId }, at: signedAt, box: this.#options.box })
    const headers = signedHeaders({ eventId, body, at: signedAt, secrets })
    const { outcome, durationMs } = await this.#options.post(endpoint.url, { headers, body })
    const delivery: WebhookDelivery = {
      id: deliveryId,
      endpointId,
      eventId,
      event: 'ping',
      bookingId: null,
      status: isAccepted(outcome) ? 'delivered' : 'dead',
      attempts: [
        {
          attempt: 1,
          at,
          durationMs,
          httpStatus: outcome.kind === 'answered' ? outcome.httpStatus : null,
          reason: coarseReason(outcome),
        },
      ],
      nextAttemptAt: null,
      createdAt: at,
      finishedAt: at + durationMs,
    }
    const ping = { agencyId, endpointId, eventId, deliveryId, at, durationMs, outcome }
    await this.#options.rows.recordPing(ping, { ...audit, answer: keep?.(delivery) })
    return delivery
  }
}

/** The endpoint as the agency sees it: without the secrets, and without an overlap that has ended. */
function agencyView(endpoint: StoredEndpoint, now: Instant): WebhookEndpoint {
  const { id, url, description, events, status, disabledReason, consecutiveFailures } = endpoint
  const { waitingEvents, waitingDeliveries, createdAt, updatedAt } = endpoint
  const until = endpoint.previousSecretUntil
  return {
    id,
    url,
    description,
    events,
    status,
    disabledReason,
    consecutiveFailures,
    previousSecretUntil: until !== null && until > now ? until : null,
    waitingEvents,
    waitingDeliveries,
    createdAt,
    updatedAt,
  }
}
