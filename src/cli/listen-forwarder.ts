/** What `listen` does with each change: posts it to the receiver, and decides when its cursor may be kept. */
import { coarseReason, isAccepted, type PostOnce } from '../events/webhooks/guarded-post.ts'
import { signedHeaders } from '../events/webhooks/secret-box.ts'
import type { Reading } from './listen-source.ts'
import type { Json } from './portal-client.ts'

export const CHAOS = ['duplicate', 'reorder', 'drop'] as const
export type Chaos = (typeof CHAOS)[number]

/** What became of an event, or of one attempt. */
export interface Outcome {
  readonly outcome: 'delivered' | 'failed' | 'given_up' | 'waiting' | 'dropped' | 'held_back'
  readonly id: string
  readonly event: string
  readonly about: string
  readonly attempt: number
  /** The receiver's status; null when there was no answer. */
  readonly status: number | null
  readonly reason: string | null
  readonly ms: number
  /** Sent a second time on purpose. */
  readonly isDuplicate: boolean
}

/** Seconds after each failed attempt; after the last of them the event is given up. */
export const RETRY_S = [1, 2, 4, 8, 16] as const
const UNREACHED_MS = 1_000

export interface ForwarderOptions {
  readonly forward: string
  readonly secret: string
  /** All others are passed over. */
  readonly events: readonly string[]
  readonly chaos: readonly Chaos[]
  readonly post: PostOnce
  readonly now: () => number
  readonly keep: (cursor: string) => void
  readonly report: (outcome: Outcome) => void
  readonly stop: AbortSignal
  /** Resolves after so many milliseconds, or when `stop` is aborted. */
  readonly pause: (ms: number) => Promise<void>
}

interface Event {
  readonly id: string
  readonly event: string
  readonly about: string
  readonly body: string
}

/**
 * A cursor is kept once everything up to it was answered with 2xx, given up or dropped. An answer other than 2xx, or none within 10 s, is
 * tried again as in `RETRY_S`, then given up. A receiver that cannot be reached is waited for, however long it takes.
 */
export class Forwarder {
  readonly #options: ForwarderOptions
  #held: Event | null = null
  #seen: string | null = null

  constructor(options: ForwarderOptions) {
    this.#options = options
  }

  /** An event waits for its successor, to be sent after it (`reorder`). */
  get isHolding(): boolean {
    return this.#held !== null
  }

  async take({ cursor, change }: Reading): Promise<void> {
    const event = change === null ? null : eventIn(change)
    if (event === null || !this.#options.events.includes(event.event)) {
      this.#seen = cursor
      if (this.#held === null) this.#options.keep(cursor)
      return
    }
    if (this.#held === null && this.#isMetBy('reorder', event) && !this.#isMetBy('drop', event)) {
      this.#report(event, { outcome: 'held_back' })
      this.#held = event
    } else if (this.#isMetBy('drop', event)) this.#report(event, { outcome: 'dropped' })
    else if (!(await this.#deliver(event))) return
    this.#seen = cursor
    if (this.#held?.id !== event.id) await this.flush()
  }

  /** Sends what is held back, and keeps the cursor behind it. */
  async flush(): Promise<void> {
    const held = this.#held
    if (held !== null && !(await this.#deliver(held))) return
    this.#held = null
    if (this.#seen !== null) this.#options.keep(this.#seen)
  }

  /** @returns false when the command was stopped before the event was settled */
  async #deliver(event: Event): Promise<boolean> {
    const { pause, stop } = this.#options
    let isWaitedFor = false
    for (let attempt = 1; ; ) {
      const outcome = await this.#attempt(event, attempt, false)
      if (outcome === 'delivered') {
        if (this.#isMetBy('duplicate', event)) await this.#attempt(event, attempt, true)
        return true
      }
      if (outcome === 'waiting') {
        if (!isWaitedFor) this.#report(event, { outcome, attempt, reason: 'endpoint not reachable' })
        isWaitedFor = true
        await pause(UNREACHED_MS)
      } else {
        const retryS = RETRY_S[attempt - 1]
        if (retryS === undefined) {
          this.#report(event, { outcome: 'given_up', attempt })
          return true
        }
        attempt += 1
        await pause(retryS * 1_000)
      }
      if (stop.aborted) return false
    }
  }

  async #attempt(event: Event, attempt: number, isDuplicate: boolean): Promise<'delivered' | 'failed' | 'waiting'> {
    const { forward, secret, now, post } = this.#options
    const { id: eventId, body } = event
    const headers = signedHeaders({ eventId, body, at: now(), secrets: [secret] })
    const { outcome, durationMs: ms } = await post(forward, { headers, body })
    if (outcome.kind === 'unreachable') return 'waiting'
    const result = isAccepted(outcome) ? 'delivered' : 'failed'
    const status = outcome.kind === 'answered' ? outcome.httpStatus : null
    this.#report(event, { outcome: result, attempt, status, reason: coarseReason(outcome), ms, isDuplicate })
    return result
  }

  #report({ id, event, about }: Event, outcome: Pick<Outcome, 'outcome'> & Partial<Outcome>): void {
    const nothing = { attempt: 0, status: null, reason: null, ms: 0, isDuplicate: false }
    this.#options.report({ ...nothing, id, event, about, ...outcome })
  }

  #isMetBy(chaos: Chaos, { id }: Event): boolean {
    return this.#options.chaos.includes(chaos) && isMet(chaos, id)
  }
}

/** One event in three, and the same one after a restart: what was dropped stays dropped. */
export function isMet(chaos: Chaos, eventId: string): boolean {
  return Bun.hash.crc32(`${chaos} ${eventId}`) % 3 === 0
}

/** A change is the body of its webhook with the cursor before it. The rest is taken as it is: it is signed byte for byte. */
function eventIn(change: string): Event {
  const body = change.replace(/^\{"cursor":"[\w-]+",/, '{')
  const { id, event, data } = JSON.parse(body) as { id: string; event: string; data: Json }
  return { id, event, about: String(data['id'] ?? data['unitSlug']), body }
}
