import { shardOf } from '../../src/core/journal/shard.ts'
import { bodyOfEntry } from '../../src/events/webhooks/envelope.ts'
import type { AttemptOutcome, PostOnce, PostResult } from '../../src/events/webhooks/guarded-post.ts'
import { SecretBox } from '../../src/events/webhooks/secret-box.ts'
import type { ClaimedDelivery } from '../../src/events/webhooks/sender-store.ts'
import { WebhookSender } from '../../src/events/webhooks/webhook-sender.ts'
import type { Clock } from '../../src/lib/clock.ts'
import type { SeededRandom } from '../../src/lib/seeded-random.ts'
import {
  type MemoryDelivery,
  type MemoryEndpoint,
  type MemoryEntry,
  MemorySenderStore,
} from '../events/webhooks/support/memory-sender-store.ts'
import type { FakeClock } from '../support/fake-clock.ts'
import { AGENCIES } from './sim-agencies.ts'
import type { Mortal, SimProcess } from './sim-process.ts'
import type { SimStore } from './sim-store.ts'

const BOX = new SecretBox(new Uint8Array(32))
const SECRET = `whsec_${Buffer.alloc(32).toString('base64')}`

/** Of each agency one that takes everything, and one that fails, hangs and recovers at random. */
const RECEIVERS = ['healthy', 'flaky'] as const
type Receiver = (typeof RECEIVERS)[number]

interface SendersMoment {
  readonly term: number
  readonly endpoints: readonly MemoryEndpoint[]
  readonly deliveries: readonly MemoryDelivery[]
}

/** A process that sends webhooks. */
export interface SenderHost {
  readonly process: Mortal
  /** Its own. */
  readonly clock: Clock
  /** Whether it is cut off from the database. */
  isCut(): boolean
  /** When it was last told that it does not send for the agency any more (the world's monotonic time); null: never. */
  leftAt(agencyId: string): number | null
  onReplaced(cause: unknown): void
}

/** The endpoints, what the journal announces to them, and what has reached them. */
export class SimWebhooks {
  readonly store: MemorySenderStore
  /** Of 100 requests of senders to the database, and as many replies. */
  lossPercent = 3
  /** What senders must not have done. */
  readonly broken: string[] = []
  /** By event and endpoint: the bodies that arrived. */
  readonly #received = new Map<string, string[]>()
  /** Deliveries that a sender had claimed when their shard got another sender: both may send them. */
  readonly #interrupted = new Set<string>()
  /** By sender and delivery: when it got its claim, and has sent nothing for it yet. */
  readonly #claimedAt = new Map<string, number>()
  readonly #clock: FakeClock
  readonly #dice: SeededRandom
  readonly #journal: SimStore
  readonly #aheadMsMax: number
  readonly #entries: MemoryEntry[] = []

  /** @param options.aheadMsMax how far the clock of a sender may be ahead of the world's */
  constructor(options: { clock: FakeClock; dice: SeededRandom; journal: SimStore; aheadMsMax: number }) {
    this.#clock = options.clock
    this.#dice = options.dice
    this.#journal = options.journal
    this.#aheadMsMax = options.aheadMsMax
    this.store = new MemorySenderStore(
      () => this.#readEntries(),
      (shard) => options.journal.shards[shard]?.epoch ?? -1,
    )
    this.store.onPassed = (shards) => this.#passed(new Set(shards))
    for (const { id: agencyId } of AGENCIES) {
      for (const receiver of RECEIVERS) {
        const id = endpointOf(agencyId, receiver)
        const secretSealed = BOX.seal(SECRET, { agencyId, endpointId: id })
        this.store.addEndpoint({ agencyId, id, url: `https://${id}.example/`, secretSealed })
      }
    }
  }

  /** Events and endpoints, with the bodies that arrived there. */
  get received(): ReadonlyMap<string, readonly string[]> {
    return this.#received
  }

  /** The bodies of an event that the healthy receiver of its agency has got. */
  receivedBy(agencyId: string, eventId: string): readonly string[] {
    return this.#received.get(`${eventId} to ${endpointOf(agencyId, 'healthy')}`) ?? []
  }

  /** All that the database has of endpoints and deliveries. */
  moment(): SendersMoment {
    const { term, endpoints, deliveries } = this.store
    return { term, endpoints: copies(endpoints), deliveries: copies(deliveries) }
  }

  /** The database is as it was then. What was sent since is not known there, and is sent again; but for events that are gone. */
  returnTo({ term, endpoints, deliveries }: SendersMoment): void {
    const { store } = this
    for (const { deliveryId } of [...store.deliveries.values(), ...deliveries]) this.#interrupted.add(deliveryId)
    store.term = term
    store.endpoints.clear()
    for (const endpoint of endpoints) store.endpoints.set(endpoint.id, endpoint)
    store.deliveries.clear()
    for (const delivery of deliveries) store.deliveries.set(delivery.deliveryId, delivery)
    this.#entries.length = Math.min(this.#entries.length, this.#journal.journal.length)
  }

  #readEntries(): readonly MemoryEntry[] {
    for (const row of this.#journal.journal.slice(this.#entries.length)) {
      const booking = () => this.#journal.bookings.get(row.bookingId ?? '')?.booking
      this.#entries.push({ ...row, body: () => bodyOfEntry(row, booking()?.sourceRef ?? null) })
    }
    return this.#entries
  }

  #passed(shards: ReadonlySet<number>): void {
    for (const { agencyId, deliveryId, status, claimedBy } of this.store.deliveries.values())
      if (status === 'pending' && claimedBy !== null && shards.has(shardOf(agencyId))) this.#interrupted.add(deliveryId)
  }

  /** The sender of a process that has all shards, which lives and dies with it. */
  async startSender(process: SimProcess, clock: Clock): Promise<WebhookSender> {
    const { epoch } = process.journal
    this.store.epoch = epoch
    const term = await this.store.takeOver(epoch)
    process.senderTerm = term
    const sender = this.senderOf({ process, clock, isCut: () => false, leftAt: () => null, onReplaced() {} }, term)
    sender.wake()
    return sender
  }

  /** A statement of a sender. */
  query<T>({ process, isCut }: SenderHost, statement: () => Promise<T>): Promise<T> {
    return process.receive(this.#travel(statement, isCut))
  }

  /** @param term which its store has given it */
  senderOf(host: SenderHost, term: number): WebhookSender {
    const { store } = this
    const { process, clock, onReplaced } = host
    return new WebhookSender({
      store: {
        takeOver: (of) => store.takeOver(of),
        agencies: (of) => this.query(host, () => store.agencies(of)),
        makeDeliveries: (options) => this.query(host, () => store.makeDeliveries(options)),
        claim: (options) => this.#claim(host, options),
        release: (of, held) => this.query(host, () => store.release(of, held)),
        nextDue: (after) => this.query(host, () => store.nextDue(after)),
        record: (of, settled) => this.query(host, () => store.record(of, settled)),
      },
      post: (url, message) =>
        process.receive(this.#post(host, term, new URL(url).hostname.replace('.example', ''), message)),
      box: BOX,
      clock,
      dice: () => this.#dice.next(),
      term,
      watch: {
        onSwitchedOff: () => {},
        onFailure: () => {},
        onReplaced,
        onSecretUnreadable: () => {},
        onEventUnreadable: () => {},
      },
    })
  }

  async #claim(
    host: SenderHost,
    options: Parameters<MemorySenderStore['claim']>[0],
  ): Promise<readonly ClaimedDelivery[]> {
    const { term } = options
    const claimed = await this.query(host, async () => {
      const claimed = this.store.claim(options)
      // At the same moment: another process may take over before the answer is there.
      const senders = new Map(AGENCIES.map(({ id }) => [id, this.store.senderOf(shardOf(id))]))
      const deliveries = await claimed
      const foreign = deliveries.find(({ agencyId }) => senders.get(agencyId) !== term)
      if (foreign !== undefined)
        this.broken.push(`W2: ${term} has claimed ${foreign.deliveryId}, which another one sends`)
      return deliveries
    })
    const now = this.#clock.monotonicMs()
    for (const { deliveryId } of claimed) this.#claimedAt.set(`${deliveryId} by ${term}`, now)
    return claimed
  }

  async #post(
    { leftAt }: SenderHost,
    term: number,
    endpointId: string,
    { headers, body }: Parameters<PostOnce>[1],
  ): Promise<PostResult> {
    const { id } = JSON.parse(body) as { id: string }
    const deliveryId = `${id} to ${endpointId}`
    const name = `${deliveryId} was sent by ${term}`
    const delivery = this.store.deliveries.get(deliveryId)
    const before = this.#received.get(deliveryId) ?? []
    const receiver: Receiver = endpointId.startsWith('healthy') ? 'healthy' : 'flaky'
    if (headers['webhook-id'] !== id) this.broken.push(`W3: ${name} as ${headers['webhook-id']}`)
    const claimedAt = this.#claimedAt.get(`${deliveryId} by ${term}`)
    // What was queued when the database lost the claim may be claimed, and sent, once more.
    if (claimedAt === undefined) {
      if (!this.#interrupted.has(deliveryId)) this.broken.push(`W2: ${name}, which had not claimed it`)
    } else if (claimedAt < (leftAt(delivery?.agencyId ?? '') ?? 0))
      this.broken.push(`W2: ${name}, which had left it to others`)
    this.#claimedAt.delete(`${deliveryId} by ${term}`)
    // A sender that was replaced may still send what its successor sends, or has postponed (W2).
    if (!this.#interrupted.has(deliveryId)) {
      const isTaken = delivery?.status === 'delivered' || (receiver === 'healthy' && before.length > 0)
      if (isTaken) this.broken.push(`W1: ${name}, although it had been taken`)
      // The wall clock may have been set back since the claim: what counts is whether the time had ever come.
      const early = (delivery?.nextAttemptAt ?? 0) - this.#clock.highestNow
      if (early > this.#aheadMsMax) this.broken.push(`W4: ${name} ${early} ms early`)
    }
    this.#received.set(deliveryId, [...before, body])
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
  async #travel<T>(work: () => Promise<T>, isCut: () => boolean): Promise<T> {
    await new Promise<void>((resolve) => this.#clock.after(this.#dice.below(30), resolve))
    if (isCut() || this.#dice.below(100) < this.lossPercent) throw new Error('request lost')
    const answer = await work()
    if (isCut() || this.#dice.below(100) < this.lossPercent) throw new Error('reply lost')
    return answer
  }
}

/** Also its host name. */
function endpointOf(agencyId: string, receiver: Receiver): string {
  return `${receiver}-${AGENCIES.findIndex(({ id }) => id === agencyId)}`
}

function copies<T extends object>(rows: ReadonlyMap<string, T>): readonly T[] {
  return [...rows.values()].map((row) => ({ ...row }))
}
