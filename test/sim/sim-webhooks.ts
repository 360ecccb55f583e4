import type { Clock } from '../../src/lib/clock.ts'
import type { SeededRandom } from '../../src/lib/seeded-random.ts'
import type { AttemptOutcome } from '../../src/webhooks/attempt-outcome.ts'
import { SecretBox } from '../../src/webhooks/secret-box.ts'
import { WebhookSender } from '../../src/webhooks/webhook-sender.ts'
import type { FakeClock } from '../support/fake-clock.ts'
import type { WrittenEvent } from '../support/memory-journal-store.ts'
import { AGENCY } from '../support/samples.ts'
import { MemorySenderStore } from '../webhooks/support/memory-sender-store.ts'
import type { SimProcess } from './sim-process.ts'

const BOX = new SecretBox(new Uint8Array(32))
const SECRET = `whsec_${Buffer.alloc(32).toString('base64')}`

/** One of each: a receiver that takes everything, and one that fails, hangs and recovers at random. */
export const RECEIVERS = ['healthy', 'flaky'] as const
type Receiver = (typeof RECEIVERS)[number]

/** The outbox, the receivers, and what has reached them. */
export class SimWebhooks {
  readonly store = new MemorySenderStore()
  /** By delivery: the bodies that arrived. */
  readonly received = new Map<string, string[]>()
  /** Attempts that were made before their time, or to an endpoint that was off. */
  readonly untimely: string[] = []
  readonly #clock: FakeClock
  readonly #dice: SeededRandom

  constructor(clock: FakeClock, dice: SeededRandom) {
    this.#clock = clock
    this.#dice = dice
    for (const id of RECEIVERS) {
      const secretSealed = BOX.seal(SECRET, { agencyId: AGENCY.id, endpointId: id })
      this.store.addEndpoint({ agencyId: AGENCY.id, id, url: `https://${id}.example/`, secretSealed })
    }
  }

  /** In the same statement as the change (J2): one delivery per active endpoint. */
  enqueue({ eventId, at, body }: WrittenEvent): void {
    for (const id of RECEIVERS) {
      if (this.store.endpoints.get(id)?.status !== 'active') continue
      const deliveryId = `${eventId} to ${id}`
      this.store.addDelivery(id, at, { agencyId: AGENCY.id, deliveryId, body })
    }
  }

  /** The sender of one process, which lives and dies with it. */
  async startSender(process: SimProcess, clock: Clock): Promise<WebhookSender> {
    this.store.epoch = process.epoch
    const { store } = this
    const term = await store.takeOver(process.epoch)
    const sender = new WebhookSender({
      store: {
        takeOver: (epoch) => store.takeOver(epoch),
        claim: (options) => process.receive(this.#travel(() => store.claim(options))),
        release: (of, held) => process.receive(this.#travel(() => store.release(of, held))),
        nextDue: (after) => process.receive(this.#travel(() => store.nextDue(after))),
        record: (of, settled) => process.receive(this.#travel(() => store.record(of, settled))),
      },
      post: (url, { body }) => process.receive(this.#post(new URL(url).hostname.split('.')[0] as Receiver, body, term)),
      box: BOX,
      clock,
      dice: () => this.#dice.next(),
      term,
      watch: { onSwitchedOff: () => {}, onFailure: () => {}, onSecretUnreadable: () => {}, onReplaced: () => {} },
    })
    sender.wake()
    return sender
  }

  async #post(receiver: Receiver, body: string, term: number) {
    const { id } = JSON.parse(body) as { id: string }
    const deliveryId = `${id} to ${receiver}`
    const delivery = this.store.deliveries.get(deliveryId)
    // The wall clock may have been set back since the claim: what counts is whether the time had ever come. A sender
    // that was replaced may still send what its successor has postponed (W2).
    const early = (delivery?.nextAttemptAt ?? 0) - this.#clock.highestNow
    if (early > 0 && term === this.store.term) this.untimely.push(`W4: ${deliveryId} was sent ${early} ms early`)
    this.received.set(deliveryId, [...(this.received.get(deliveryId) ?? []), body])
    const durationMs = 1 + this.#dice.below(receiver === 'healthy' ? 200 : 10_000)
    const outcome = this.#answer(receiver)
    await new Promise<void>((resolve) => this.#clock.after(durationMs, resolve))
    return { outcome, durationMs }
  }

  #answer(receiver: Receiver): AttemptOutcome {
    if (receiver === 'healthy' || this.#dice.chance(0.4)) return { kind: 'answered', httpStatus: 204 }
    return this.#dice.pick<AttemptOutcome>([
      { kind: 'answered', httpStatus: 500 },
      { kind: 'unreachable', cause: 'connection' },
      { kind: 'timed_out', during: 'answer' },
    ])
  }

  /** The database of the outbox loses requests and replies too; the sender tries again. */
  async #travel<T>(work: () => Promise<T>): Promise<T> {
    await new Promise<void>((resolve) => this.#clock.after(this.#dice.below(30), resolve))
    if (this.#dice.chance(0.03)) throw new Error('request lost')
    const answer = await work()
    if (this.#dice.chance(0.03)) throw new Error('reply lost')
    return answer
  }
}
