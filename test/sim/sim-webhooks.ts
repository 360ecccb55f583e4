import type { Clock } from '../../src/lib/clock.ts'
import type { SeededRandom } from '../../src/lib/seeded-random.ts'
import type { AttemptOutcome } from '../../src/webhooks/attempt-outcome.ts'
import { bodyOfEntry } from '../../src/webhooks/envelope.ts'
import { SecretBox } from '../../src/webhooks/secret-box.ts'
import { WebhookSender } from '../../src/webhooks/webhook-sender.ts'
import type { FakeClock } from '../support/fake-clock.ts'
import { type MemoryEntry, MemorySenderStore } from '../webhooks/support/memory-sender-store.ts'
import { AGENCIES } from './sim-agencies.ts'
import type { SimProcess } from './sim-process.ts'
import type { SimStore } from './sim-store.ts'

const BOX = new SecretBox(new Uint8Array(32))
const SECRET = `whsec_${Buffer.alloc(32).toString('base64')}`

/** Of each agency one that takes everything, and one that fails, hangs and recovers at random. */
const RECEIVERS = ['healthy', 'flaky'] as const
type Receiver = (typeof RECEIVERS)[number]

/** The endpoints, what the journal announces to them, and what has reached them. */
export class SimWebhooks {
  readonly store: MemorySenderStore
  /** By event and endpoint: the bodies that arrived. */
  readonly #received = new Map<string, string[]>()
  /** Attempts that were made before their time, or to an endpoint that was off. */
  readonly untimely: string[] = []
  readonly #clock: FakeClock
  readonly #dice: SeededRandom
  readonly #journal: SimStore
  readonly #entries: MemoryEntry[] = []

  constructor(clock: FakeClock, dice: SeededRandom, journal: SimStore) {
    this.#clock = clock
    this.#dice = dice
    this.#journal = journal
    this.store = new MemorySenderStore(() => this.#readEntries())
    for (const { id: agencyId } of AGENCIES) {
      for (const receiver of RECEIVERS) {
        const id = endpointOf(agencyId, receiver)
        const secretSealed = BOX.seal(SECRET, { agencyId, endpointId: id })
        this.store.addEndpoint({ agencyId, id, url: `https://${id}.example/`, secretSealed })
      }
    }
  }

  /** The bodies of an event that the healthy receiver of its agency has got. */
  receivedBy(agencyId: string, eventId: string): readonly string[] {
    return this.#received.get(`${eventId} to ${endpointOf(agencyId, 'healthy')}`) ?? []
  }

  #readEntries(): readonly MemoryEntry[] {
    for (const row of this.#journal.journal.slice(this.#entries.length)) {
      const booking = () => this.#journal.bookings.get(row.bookingId ?? '')?.booking
      this.#entries.push({ ...row, body: () => bodyOfEntry(row, booking()?.sourceRef ?? null) })
    }
    return this.#entries
  }

  /** The sender of one process, which lives and dies with it. */
  async startSender(process: SimProcess, clock: Clock): Promise<WebhookSender> {
    const { epoch } = process.journal
    this.store.epoch = epoch
    const { store } = this
    const term = await store.takeOver(epoch)
    const sender = new WebhookSender({
      store: {
        takeOver: (of) => store.takeOver(of),
        makeDeliveries: (options) => process.receive(this.#travel(() => store.makeDeliveries(options))),
        claim: (options) => process.receive(this.#travel(() => store.claim(options))),
        release: (of, held) => process.receive(this.#travel(() => store.release(of, held))),
        nextDue: (after) => process.receive(this.#travel(() => store.nextDue(after))),
        record: (of, settled) => process.receive(this.#travel(() => store.record(of, settled))),
      },
      post: (url, { body }) => process.receive(this.#post(new URL(url).hostname.replace('.example', ''), body, term)),
      box: BOX,
      clock,
      dice: () => this.#dice.next(),
      term,
      watch: {
        ...{ onSwitchedOff: () => {}, onFailure: () => {}, onReplaced: () => {} },
        ...{ onSecretUnreadable: () => {}, onEventUnreadable: () => {} },
      },
    })
    sender.wake()
    return sender
  }

  async #post(endpointId: string, body: string, term: number) {
    const { id } = JSON.parse(body) as { id: string }
    const deliveryId = `${id} to ${endpointId}`
    const delivery = this.store.deliveries.get(deliveryId)
    // The wall clock may have been set back since the claim: what counts is whether the time had ever come. A sender
    // that was replaced may still send what its successor has postponed (W2).
    const early = (delivery?.nextAttemptAt ?? 0) - this.#clock.highestNow
    if (early > 0 && term === this.store.term) this.untimely.push(`W4: ${deliveryId} was sent ${early} ms early`)
    this.#received.set(deliveryId, [...(this.#received.get(deliveryId) ?? []), body])
    const receiver: Receiver = endpointId.startsWith('healthy') ? 'healthy' : 'flaky'
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

/** Also its host name. */
function endpointOf(agencyId: string, receiver: Receiver): string {
  return `${receiver}-${AGENCIES.findIndex(({ id }) => id === agencyId)}`
}
