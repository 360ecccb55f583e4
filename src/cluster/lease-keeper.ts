/**
 * - C2 The member key of a node and the keys of its shards hang on one lease. It is renewed every second; whoever does not, is dead to the
 *   others `LEASE_TTL_S` later, or up to half a second after that.
 */
import { type Clock, sleep } from '../lib/clock.ts'
import { type ClusterKeys, type Member, memberOf, memberText } from './cluster-keys.ts'
import type { Confirmation } from './confirmation.ts'
import { type Entry, type Etcd, EtcdError } from './etcd/etcd.ts'

export const LEASE_TTL_S = 5
const RENEW_EVERY_MS = 1_000
/** After a failure, or while another process has this node's id. */
const AGAIN_MS = 250
/** How long the first registration waits for a former process of this node: its lease ends by itself. */
const TAKEN_MS_MAX = 15_000

/** The process cannot be a node of the cluster. The message says what to do. */
export class ClusterError extends Error {
  override readonly name = 'ClusterError'
}

interface LeaseWatch {
  /**
   * The member key of this node is made, on the lease that everything else is to hang on. The lease confirms nothing until this has
   * read what others claimed while there was none.
   */
  onGranted(member: Entry): Promise<void>
  /** The lease is gone: others may have claimed everything already. */
  onLost(): void
  /** Also after `onGranted`. */
  onRenewed(): void
  /** etcd did not answer. It is asked again. */
  onFailure(error: unknown): void
  /** Another process has this node's id; it is waited for. */
  onTaken(member: Member): void
}

interface LeaseOptions {
  readonly etcd: Etcd
  readonly clock: Clock
  readonly keys: ClusterKeys
  readonly confirmation: Confirmation
  readonly watch: LeaseWatch
  /** Whether a run of a process of this machine is over. */
  readonly isOver: (run: string) => boolean
}

export class LeaseKeeper {
  readonly #options: LeaseOptions
  #member: Member
  #lease: string | null = null
  /** Leases of attempts to register. */
  readonly #tried = new Set<string>()
  /** The last change of the member key. */
  #changed: Promise<unknown> = Promise.resolve()
  #isStopped = false

  constructor(member: Member, options: LeaseOptions) {
    this.#member = member
    this.#options = options
  }

  /** Null: there is none at present. */
  get lease(): string | null {
    return this.#lease
  }

  get member(): Member {
    return this.#member
  }

  /**
   * Gets a lease and makes the member key.
   * @throws ClusterError when another process has this node's id
   */
  async register({ isFirst }: { isFirst: boolean }): Promise<void> {
    const { clock, watch } = this.#options
    let takenSince: number | null = null
    while (!this.#isStopped) {
      try {
        const holder = await this.#tryToRegister()
        if (holder === null) return
        watch.onTaken(holder)
        takenSince ??= clock.monotonicMs()
        if (isFirst && clock.monotonicMs() - takenSince > TAKEN_MS_MAX)
          throw new ClusterError(
            `Cannot join the cluster: another process has NODE_ID ${holder.id} (it is at ${holder.url}). Give each node its own NODE_ID.`,
          )
      } catch (error) {
        if (error instanceof ClusterError) throw error
        watch.onFailure(error)
        // While etcd is away, no lease ends.
        takenSince = null
      }
      await sleep(clock, AGAIN_MS)
    }
  }

  /** Renews the lease until `stop`, and gets another one when it is lost. */
  async run(): Promise<void> {
    const { etcd, clock, confirmation, watch } = this.#options
    let pauseMs = RENEW_EVERY_MS
    while (!this.#isStopped) {
      await sleep(clock, pauseMs)
      pauseMs = RENEW_EVERY_MS
      const lease = this.#lease
      if (this.#isStopped || lease === null) continue
      const requestedAt = clock.monotonicMs()
      const ttlS = await etcd.keepAlive(lease).catch((error) => {
        watch.onFailure(error)
        return null
      })
      if (this.#isStopped) return
      if (ttlS === null) pauseMs = AGAIN_MS
      else if (ttlS > 0) {
        confirmation.byLease(requestedAt, ttlS)
        watch.onRenewed()
      } else {
        confirmation.endLease()
        this.#lease = null
        watch.onLost()
        await this.register({ isFirst: false })
      }
    }
  }

  /** Tells the others. Fails when etcd does not answer, and then takes effect with the next registration. */
  change(what: Partial<Pick<Member, 'state' | 'reachesDatabase'>>): Promise<Entry | null> {
    this.#member = { ...this.#member, ...what }
    // One after the other: the last one must not be overtaken.
    const changed = this.#changed.then(() => this.#writeMember())
    this.#changed = changed.catch(() => {})
    return changed
  }

  async #writeMember(): Promise<Entry | null> {
    const lease = this.#lease
    if (lease === null) return null
    const { etcd, keys } = this.#options
    const entry = { key: keys.member(this.#member.id), value: memberText(this.#member), lease }
    const { revision, done } = await etcd.commit([{ ...entry, condition: { lease } }])
    return done[0] === true ? { ...entry, revision } : null
  }

  /** No renewal begins any more. */
  stop(): void {
    this.#isStopped = true
  }

  /** @returns null when it is done; otherwise the member that has this id */
  async #tryToRegister(): Promise<Member | null> {
    const { etcd, clock, keys, isOver } = this.#options
    const requestedAt = clock.monotonicMs()
    const lease = await etcd.grant(LEASE_TTL_S)
    this.#tried.add(lease)
    const entry = { key: keys.member(this.#member.id), value: memberText(this.#member), lease }
    const { revision, done } = await etcd.commit([{ ...entry, condition: 'absent' }])
    if (done[0] === true) {
      await this.#registered({ ...entry, revision }, requestedAt)
      return null
    }
    const { entries } = await etcd.read(keys.prefix)
    const holder = entries.find(({ key }) => key === entry.key)
    if (holder?.value == null) throw new EtcdError('Cannot register the node: its key was removed meanwhile', false)
    if (holder.lease === lease) {
      // The first answer was lost, and the call repeated.
      await this.#registered(holder, requestedAt)
      return null
    }
    const member = memberOf(this.#member.id, holder.value) ?? { ...this.#member, url: 'an unknown address', run: null }
    // A process of this machine that was killed: there is no need to wait until its lease ends.
    const isOfDead = member.run !== null && isOver(member.run)
    const isOurs = this.#tried.has(holder.lease)
    if (isOfDead || isOurs) await etcd.revoke(holder.lease)
    await etcd.revoke(lease)
    return isOurs ? this.#tryToRegister() : member
  }

  async #registered(member: Entry, requestedAt: number): Promise<void> {
    const { confirmation, watch } = this.#options
    await watch.onGranted(member)
    this.#tried.clear()
    this.#lease = member.lease
    confirmation.byLease(requestedAt, LEASE_TTL_S)
    // It was changed while there was no lease.
    if (memberText(this.#member) !== member.value) this.change({}).catch(watch.onFailure)
    watch.onRenewed()
  }
}
