import type { Journal } from '../core/journal/journal.ts'
import type { Clock } from '../lib/clock.ts'
import type { SenderProcess } from '../webhooks/sender-process.ts'
import type { NodeShards } from './node-shards.ts'

const SEND_FOR_AGAIN_MS = 5_000

/** Tells the sender of a node for which shards it sends: at every change, and again every few seconds, in case it was not possible. */
export function sendForOwned(of: {
  readonly shards: Pick<NodeShards, 'owned' | 'watch'>
  readonly journal: Pick<Journal, 'epochOfShard'>
  readonly sender: Pick<SenderProcess, 'sendFor'>
  readonly clock: Clock
}): void {
  const { shards, journal, sender, clock } = of
  const tell = () => {
    const owned = [...shards.owned].sort((a, b) => a - b)
    sender.sendFor(owned.map((shard) => ({ shard, epoch: journal.epochOfShard(shard) })))
  }
  const repeat = () => {
    tell()
    clock.after(SEND_FOR_AGAIN_MS, repeat)
  }
  shards.watch(tell)
  repeat()
}
