import { FairTurns } from './fair-turns.ts'
import type { WebhookActor } from './webhook-actor.ts'

type MayGo = (agencyId: string) => boolean

/**
 * Endpoints with queued deliveries, and whose turn it is: those that answer reliably, those about which nothing is known, and those that
 * fail or are slow.
 */
export class EndpointTurns {
  readonly #proven = new FairTurns<WebhookActor>()
  readonly #fresh = new FairTurns<WebhookActor>()
  readonly #suspect = new FairTurns<WebhookActor>()
  #turn = 0

  /** One that cannot begin an attempt is left out. */
  add(actor: WebhookActor): void {
    if (!actor.canBegin) return
    if (actor.isSuspect) this.#suspect.add(actor)
    else if (actor.isProven) this.#proven.add(actor)
    else this.#fresh.add(actor)
  }

  delete(actor: WebhookActor): void {
    for (const turns of [this.#proven, this.#fresh, this.#suspect]) turns.delete(actor)
  }

  /**
   * Reliable endpoints go first, because many unknown ones may turn out to hang. Every fourth turn, unknown ones go
   * first.
   */
  nextFast(mayGo: MayGo): WebhookActor | undefined {
    this.#turn += 1
    const [first, second] = this.#turn % 4 === 0 ? [this.#fresh, this.#proven] : [this.#proven, this.#fresh]
    return first.take(mayGo) ?? second.take(mayGo)
  }

  nextSuspect(mayGo: MayGo): WebhookActor | undefined {
    return this.#suspect.take(mayGo)
  }
}
