import type { Clock } from '../../lib/clock.ts'
import { withDeadline } from '../../lib/deadline.ts'
import type { Change, Committed, Entry, Etcd, Reading } from '../etcd/etcd.ts'
import { EtcdError } from '../etcd/etcd.ts'
import type { ParentCalls } from './parent-calls.ts'
import { ChannelError, type ProcessChannel } from './process-channel.ts'

/** A parent that does not answer for so long hangs; PostgreSQL then confirms what the worker has (C6). */
const ANSWER_MS_MAX = 2_000

/** The keys and leases that the parent has, as its worker sees them. */
export class ParentStore implements Etcd {
  readonly #channel: ProcessChannel
  readonly #clock: Clock

  constructor(channel: ProcessChannel, clock: Clock) {
    this.#channel = channel
    this.#clock = clock
  }

  grant(ttlS: number): Promise<string> {
    return this.#ask('grant', ttlS)
  }

  keepAlive(lease: string): Promise<number> {
    return this.#ask('keepAlive', lease)
  }

  revoke(lease: string): Promise<void> {
    return this.#ask('revoke', lease)
  }

  read(prefix: string): Promise<Reading> {
    return this.#ask('read', prefix)
  }

  commit(changes: readonly Change[]): Promise<Committed> {
    return this.#ask('commit', changes)
  }

  async watch(
    { prefix, fromRevision, signal }: { prefix: string; fromRevision: number; signal: AbortSignal },
    onEvents: (events: readonly Entry[]) => void,
  ): Promise<void> {
    for (let from = fromRevision; !signal.aborted; ) {
      const asked = this.#channel.call('changes', [from], signal) as Promise<readonly Entry[] | null>
      const events = await asked.catch(() => null)
      const last = events?.at(-1)
      if (events === null || last === undefined || signal.aborted) return
      onEvents(events.filter(({ key }) => key.startsWith(prefix)))
      from = last.revision + 1
    }
  }

  async #ask<N extends keyof ParentCalls>(
    name: N,
    ...args: readonly unknown[]
  ): Promise<Awaited<ReturnType<ParentCalls[N]>>> {
    try {
      const answer = this.#channel.call(name, args) as Promise<Awaited<ReturnType<ParentCalls[N]>>>
      return await withDeadline(answer, ANSWER_MS_MAX, this.#clock)
    } catch (cause) {
      const isRefusal = cause instanceof ChannelError && cause.isRefusal
      throw new EtcdError(cause instanceof Error ? cause.message : String(cause), isRefusal, { cause })
    }
  }
}
