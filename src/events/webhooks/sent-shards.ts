import type { ShardEpoch } from '../../core/journal/journal-store.ts'
import { shardOf } from '../../core/journal/shard.ts'
import { type Clock, sleep } from '../../lib/clock.ts'
import { SenderReplacedError } from './sender-store.ts'
import type { WebhookSender } from './webhook-sender.ts'

const AGAIN_MS = 500

/** For which shards the sender of a node sends: what its node has told it last, as far as Postgres agrees. */
export class SentShards {
  readonly #sendFor: (wanted: readonly ShardEpoch[]) => Promise<readonly number[]>
  readonly #sender: Pick<WebhookSender, 'wake' | 'leave'>
  readonly #clock: Clock
  #wanted: readonly ShardEpoch[] = []
  #sent: ReadonlySet<number> = new Set()
  #isAsking = false
  #isAskedAgain = false

  /** @param options.sendFor of the store: makes the sender that of these shards. @returns those that it is the sender of */
  constructor(options: {
    sendFor: (wanted: readonly ShardEpoch[]) => Promise<readonly number[]>
    sender: Pick<WebhookSender, 'wake' | 'leave'>
    clock: Clock
  }) {
    this.#sendFor = options.sendFor
    this.#sender = options.sender
    this.#clock = options.clock
  }

  want(shards: readonly ShardEpoch[]): void {
    const kept = new Set(shards.map(({ shard }) => shard))
    // Of those too that Postgres was asked for and has not answered yet: the sender may have claimed deliveries of them.
    if (this.#wanted.some(({ shard }) => !kept.has(shard)))
      this.#sender.leave((agencyId) => !kept.has(shardOf(agencyId)))
    this.#wanted = shards
    this.#isAskedAgain = true
    if (!this.#isAsking) void this.#ask()
  }

  async #ask(): Promise<void> {
    this.#isAsking = true
    while (this.#isAskedAgain) {
      this.#isAskedAgain = false
      try {
        const sent = new Set(await this.#sendFor(this.#wanted))
        const isMore = [...sent].some((shard) => !this.#sent.has(shard))
        this.#sent = sent
        // What waits there was made, or claimed, by another sender.
        if (isMore) this.#sender.wake('all')
      } catch (error) {
        // The sender finds out itself.
        if (error instanceof SenderReplacedError) break
        this.#isAskedAgain = true
        await sleep(this.#clock, AGAIN_MS)
      }
    }
    this.#isAsking = false
  }
}
