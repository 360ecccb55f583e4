import type { ShardEpoch } from '../../../src/core/journal/journal-store.ts'
import { shardOf } from '../../../src/core/journal/shard.ts'
import type { SenderProcess } from '../../../src/events/webhooks/sender-process.ts'
import { SentShards } from '../../../src/events/webhooks/sent-shards.ts'
import type { WebhookSender } from '../../../src/events/webhooks/webhook-sender.ts'
import { type Clock, sleep } from '../../../src/lib/clock.ts'
import type { FakeClock } from '../../support/fake-clock.ts'
import { Life } from '../life.ts'
import { clockOf } from '../sim-process.ts'
import type { SenderHost, SimWebhooks } from '../sim-webhooks.ts'

const JOIN_AGAIN_MS = 500
const RESTART_MS = 100
/** What a sender has after its node has ended (src/app/send-webhooks.ts). */
const ORPHANED_MS_MAX = 2_000

interface NodeSenderOptions {
  readonly node: Life
  readonly webhooks: SimWebhooks
  readonly worldClock: FakeClock
  /** Of the machine. */
  readonly clock: Clock
  /** A build whose senders continue with what they have queued when a shard is lost. */
  readonly keepsQueue: boolean
  /** Whether the machine is gone with the node. */
  isEndOfMachine(): boolean
  isCutFromDatabase(): boolean
  onReplaced(cause: unknown): void
}

/** What a node has of its sender: as src/events/webhooks/sender-process.ts, but nothing is sent between processes. */
export class NodeSender implements Pick<SenderProcess, 'sendFor' | 'wake'> {
  readonly #options: NodeSenderOptions
  #wanted: readonly ShardEpoch[] = []
  #run: SenderRun

  constructor(options: NodeSenderOptions) {
    this.#options = options
    this.#run = new SenderRun(options, this.#wanted)
    void options.node.died.then(() => this.#run.endOrphaned(options.isEndOfMachine()))
  }

  /** The process that sends at present. */
  get process(): Life {
    return this.#run
  }

  sendFor(shards: readonly ShardEpoch[]): void {
    this.#wanted = shards
    this.#run.want(shards)
  }

  wake(agencyId: string): void {
    this.#run.wake(agencyId)
  }

  /** It dies, and the node starts another one. */
  kill(): void {
    const { node, worldClock } = this.#options
    this.#run.die()
    clockOf(node, worldClock).after(RESTART_MS, () => {
      if (this.#run.isDead) this.#run = new SenderRun(this.#options, this.#wanted)
    })
  }
}

/** One run of the process: the real sender, and what it is told to send for. */
class SenderRun extends Life {
  readonly #clock: Clock
  readonly #worldClock: FakeClock
  /** By shard: when it was last told that it does not send for it any more. */
  readonly #leftAt = new Map<number, number>()
  #wanted: readonly ShardEpoch[]
  #sender: WebhookSender | null = null
  #shards: SentShards | null = null

  constructor(options: NodeSenderOptions, wanted: readonly ShardEpoch[]) {
    super()
    this.#clock = clockOf(this, options.clock)
    this.#worldClock = options.worldClock
    this.#wanted = wanted
    void this.#begin(options)
  }

  want(shards: readonly ShardEpoch[]): void {
    this.run(() => {
      const kept = new Set(shards.map(({ shard }) => shard))
      for (const { shard } of this.#wanted)
        if (!kept.has(shard)) this.#leftAt.set(shard, this.#worldClock.monotonicMs())
      this.#wanted = shards
      this.#shards?.want(shards)
    })
  }

  wake(agencyId: string): void {
    this.run(() => this.#sender?.wake([agencyId]))
  }

  /** Its node has ended. */
  async endOrphaned(isEndOfMachine: boolean): Promise<void> {
    if (!isEndOfMachine) {
      const ended = this.#sender?.stop(ORPHANED_MS_MAX) ?? Promise.resolve()
      await Promise.race([ended, sleep(this.#worldClock, ORPHANED_MS_MAX + 500)])
    }
    this.die()
  }

  async #begin({ webhooks, keepsQueue, isCutFromDatabase, onReplaced }: NodeSenderOptions): Promise<void> {
    const host: SenderHost = {
      process: this,
      clock: this.#clock,
      isCut: isCutFromDatabase,
      onReplaced,
      leftAt: (agencyId) => this.#leftAt.get(shardOf(agencyId)) ?? null,
    }
    const { store } = webhooks
    let term: number | null = null
    while (term === null) {
      term = await webhooks.query(host, () => store.join()).catch(() => null)
      if (term === null) await sleep(this.#clock, JOIN_AGAIN_MS)
    }
    const joined = term
    const sender = webhooks.senderOf(host, joined)
    sender.wake()
    this.#sender = sender
    this.#shards = new SentShards({
      clock: this.#clock,
      sendFor: (wanted) => webhooks.query(host, () => store.sendFor(joined, wanted)),
      sender: { wake: (agencies) => sender.wake(agencies), leave: keepsQueue ? () => {} : (of) => sender.leave(of) },
    })
    this.#shards.want(this.#wanted)
  }
}
