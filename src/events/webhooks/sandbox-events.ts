/**
 * Webhooks on demand (docs/partner-additions.md#12-sandbox): sends the last event of a booking to the endpoints of its sandbox again, in
 * one of the ways in which events arrive on a bad day. Nothing of it is recorded as a delivery.
 */
import { type Clock, MINUTE_MS } from '../../lib/clock.ts'
import { Counts } from '../../lib/counts.ts'
import type { EndpointRows, FiredEvent, StoredEndpoint } from './endpoint-rows.ts'
import type { PostOnce } from './guarded-post.ts'
import { newSecret, openSecrets, type SecretBox, signedHeaders } from './secret-box.ts'

const EVENT_FAULTS = ['duplicate', 'reorder', 'late', 'bad_signature', 'old_timestamp'] as const
type EventFault = (typeof EVENT_FAULTS)[number]

/** How much later a late event comes. */
const LATE_MS = 10_000
/** How old the signature of `old_timestamp` is: twice what receivers are told to accept. */
const OLD_MS = 10 * MINUTE_MS
/** Calls of one sandbox whose events are still being sent. A receiver that hangs holds one for 10 s. */
const OPEN_PER_AGENCY_MAX = 4

type SentAgain =
  | { readonly kind: 'sent'; readonly eventIds: readonly string[]; readonly endpoints: number }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'busy' }

export class SandboxEvents {
  readonly #rows: Pick<EndpointRows, 'list' | 'eventsOf'>
  readonly #post: PostOnce
  readonly #box: SecretBox
  readonly #clock: Clock
  /** By agency. */
  readonly #open = new Counts<string>()

  constructor(options: {
    rows: Pick<EndpointRows, 'list' | 'eventsOf'>
    post: PostOnce
    box: SecretBox
    clock: Clock
  }) {
    this.#rows = options.rows
    this.#post = options.post
    this.#box = options.box
    this.#clock = options.clock
  }

  /**
   * Begins to send to the active endpoints, to each what it has chosen. `reorder`: the last event, then the one before it. `late`: after `LATE_MS`.
   * @returns not_found: the booking has fired no event
   */
  async send(agencyId: string, bookingId: string, fault: EventFault): Promise<SentAgain> {
    if (this.#open.of(agencyId) >= OPEN_PER_AGENCY_MAX) return { kind: 'busy' }
    // Before the first await: calls that come at the same time count, too.
    this.#open.add(agencyId)
    let isSending = false
    try {
      const events = await this.#rows.eventsOf(agencyId, bookingId, fault === 'reorder' ? 2 : 1)
      if (events.length === 0) return { kind: 'not_found' }
      const endpoints = (await this.#rows.list(agencyId)).filter(
        ({ status, events: chosen }) => status === 'active' && events.some(({ event }) => chosen.includes(event)),
      )
      const sending = () => {
        void Promise.allSettled(endpoints.map((endpoint) => this.#sendAll(endpoint, events, fault))).then(() =>
          this.#open.add(agencyId, -1),
        )
      }
      isSending = true
      if (fault === 'late') this.#clock.after(LATE_MS, sending)
      else sending()
      return { kind: 'sent', eventIds: events.map(({ id }) => id), endpoints: endpoints.length }
    } finally {
      if (!isSending) this.#open.add(agencyId, -1)
    }
  }

  async #sendAll(endpoint: StoredEndpoint, events: readonly FiredEvent[], fault: EventFault): Promise<void> {
    const { agencyId, id: endpointId, url } = endpoint
    for (const { id, event, body } of events) {
      if (!endpoint.events.includes(event)) continue
      const now = this.#clock.now()
      const at = fault === 'old_timestamp' ? now - OLD_MS : now
      const owner = { agencyId, endpointId }
      const secrets =
        fault === 'bad_signature' ? [newSecret()] : openSecrets(endpoint, { owner, at: now, box: this.#box })
      await this.#post(url, { headers: signedHeaders({ eventId: id, body, at, secrets }), body })
    }
  }
}
