import type { Clock } from '../../lib/clock.ts'
import type { NodeAddress, Owners } from '../shard-owners.ts'
import { HOLD_MS_MAX } from './holding.ts'
import { ANSWER_MS_MAX, type CallOutcome, GRACE_MS } from './owner-calls.ts'

/** A change is told at once; the rest of what a waiting request looks at, such as its time, at least this often. */
const LOOK_MS = 500

/** Tells requests in flight that their shard may have another owner: one wait for each shard, however many of its requests there are. */
export class ShardWatch {
  readonly #owners: Pick<Owners, 'changed'>
  readonly #lookers = new Map<number, Set<() => void>>()

  constructor(owners: Pick<Owners, 'changed'>) {
    this.#owners = owners
  }

  /** Calls `look` after each change, and now and then. @returns what ends that */
  on(shard: number, look: () => void): () => void {
    const lookers = this.#lookers.get(shard) ?? this.#begin(shard)
    lookers.add(look)
    return () => void lookers.delete(look)
  }

  #begin(shard: number): Set<() => void> {
    const lookers = new Set<() => void>()
    this.#lookers.set(shard, lookers)
    void this.#watch(shard, lookers)
    return lookers
  }

  async #watch(shard: number, lookers: Set<() => void>): Promise<void> {
    do {
      await this.#owners.changed(shard, LOOK_MS)
      for (const look of [...lookers]) look()
    } while (lookers.size > 0)
    this.#lookers.delete(shard)
  }
}

/**
 * Runs a call, and ends it when it is no use to wait any longer: the shard has another owner, or has had none for as long as a request
 * may wait, or the client of a read has gone. A stream is ended in the same way.
 * @param bound.client aborted when the client has gone, which ends a read, and a stream. A write is completed anyway
 * @param bound.leaving aborted when this process stops: ends streams, and a request that waits for something to happen
 * @param bound.onEnd called once, when nothing of the call is open any more: of a stream, when it has ended
 */
export async function ownerBound(
  bound: {
    readonly owners: Pick<Owners, 'ownerOf'>
    readonly watch: ShardWatch
    readonly clock: Clock
    readonly node: NodeAddress
    readonly shard: number
    readonly isRead: boolean
    readonly client: AbortSignal
    readonly leaving: AbortSignal
    readonly isWait: boolean
    readonly onEnd: () => void
  },
  call: (signal: AbortSignal) => Promise<CallOutcome>,
): Promise<CallOutcome> {
  const { owners, watch, clock, node, shard, isRead, client, leaving, isWait } = bound
  const abort = new AbortController()
  const end = () => abort.abort()
  // A node that does not see what has changed, because etcd does not answer it, learned of this one from another.
  let seen = idOf(owners.ownerOf(shard))
  let withoutOwnerMs: number | null = null
  let cancelGrace: (() => void) | null = null
  const look = () => {
    const owner = owners.ownerOf(shard)
    if (owner === null) {
      withoutOwnerMs ??= clock.monotonicMs()
      if (clock.monotonicMs() - withoutOwnerMs >= HOLD_MS_MAX) end()
      return
    }
    withoutOwnerMs = null
    if (idOf(owner) === node.id) seen = node.id
    if (idOf(owner) === seen) return
    cancelGrace ??= clock.after(GRACE_MS, end)
  }
  const cancelDeadline = clock.after(ANSWER_MS_MAX, end)
  const unwatch = watch.on(shard, look)
  if (isRead) client.addEventListener('abort', end, { once: true })
  if (isWait) leaving.addEventListener('abort', end, { once: true })
  let isReleased = false
  const release = () => {
    if (isReleased) return
    isReleased = true
    unwatch()
    cancelGrace?.()
    client.removeEventListener('abort', end)
    if (isWait) leaving.removeEventListener('abort', end)
    bound.onEnd()
  }
  let isStream = false
  try {
    const outcome = await call(abort.signal)
    if (outcome.kind !== 'answered' || !outcome.isStream) return outcome
    isStream = true
    leaving.removeEventListener('abort', end)
    const { response } = outcome
    const body = response.body === null ? null : untilClosed(response.body, { leaving, client, onClose: release })
    return { ...outcome, response: new Response(body, response) }
  } finally {
    cancelDeadline()
    if (!isStream) release()
  }
}

function idOf(owner: ReturnType<Owners['ownerOf']>): string | null {
  return owner === null || owner === 'self' ? owner : owner.id
}

/**
 * The same stream, until `leaving` is aborted: it ends then, after its first part. Or until `client` is: nobody may be reading it by then.
 * `onClose` is called however it ends.
 */
function untilClosed(
  stream: ReadableStream<Uint8Array>,
  { leaving, client, onClose }: { leaving: AbortSignal; client: AbortSignal; onClose: () => void },
): ReadableStream<Uint8Array> {
  const reader = stream.getReader()
  const stop = () => void reader.cancel().catch(() => {})
  const close = () => {
    leaving.removeEventListener('abort', stop)
    client.removeEventListener('abort', drop)
    onClose()
  }
  const drop = () => {
    stop()
    close()
  }
  client.addEventListener('abort', drop, { once: true })
  if (client.aborted) drop()
  let isStarted = false
  return new ReadableStream({
    pull: async (controller) => {
      try {
        // A read that is waiting ends with the reader.
        const { done, value } = await reader.read()
        if (!done) {
          if (!isStarted) leaving.addEventListener('abort', stop, { once: true })
          isStarted = true
          controller.enqueue(value)
          if (leaving.aborted) stop()
          return
        }
        close()
        controller.close()
      } catch (error) {
        close()
        controller.error(error)
      }
    },
    cancel: async (reason) => {
      close()
      await reader.cancel(reason)
    },
  })
}
