/**
 * The shards of one node of several: which it decides, and how it gets and gives them.
 *
 * - C3 A shard is served only after its epoch was raised in Postgres and everything of it was read in later statements.
 * - C4 A fence takes the fenced shards away; the process continues with the others.
 * - C5 A shard that is given up is decided no more; what runs ends and is written; then it is forgotten, and its successor may claim it.
 * - C9 What a key used in the last minute and the month travels through Postgres: written before a shard is given up, read when it is
 *   acquired.
 * - C10 Each call is about its own shards: nothing of the others waits.
 */
import type { StoredSession } from '../accounts/portal-sessions.ts'
import type { AdmittedRequests } from '../accounts/rate-limit.ts'
import type { UsageDraft } from '../accounts/usage-meter.ts'
import type { CataloguePart } from '../core/catalogue/catalogue.ts'
import type { ShardEpoch, WriterTerm } from '../core/journal/journal-store.ts'
import { shardOf } from '../core/journal/shard.ts'
import { type Clock, sleep } from '../lib/clock.ts'
import type { ShardHost } from './node-watch.ts'

/** How long a hand-over waits for what is in flight. The fence makes it safe to continue: what is in doubt then is settled by its loss. */
const SETTLE_MS_MAX = 2_000
/** How long it then waits until counters and snapshots are written. */
const WRITE_MS_MAX = 1_000

/** What is read of shards after they were taken. */
export interface ShardContents extends CataloguePart {
  /** What the agencies have used of this month. */
  readonly used: readonly UsageDraft[]
  /** The requests of the last minute, of these and other keys. */
  readonly passed: readonly AdmittedRequests[]
  /** Of the portal's page. */
  readonly sessions: readonly StoredSession[]
}

type AgencyFilter = (agencyId: string) => boolean

/** What a node has of its shards. Each part knows an agency's shard by the agency's id. */
export interface Engine {
  readonly journal: {
    adopt(term: WriterTerm): void
    retire(shards: ReadonlySet<number>): void
    settled(shards: ReadonlySet<number>): Promise<void>
    isOwned(shard: number): boolean
    epochOfShard(shard: number): number
  }
  readonly directory: {
    close(isIncluded: AgencyFilter): void
    left(isIncluded: AgencyFilter): Promise<void>
    snapshotAll(isIncluded: AgencyFilter): Promise<void>
    noteChanged(agencyId: string): void
  }
  readonly catalogue: {
    agencies(): readonly { readonly id: string }[]
    putPart(part: CataloguePart): void
    forget(agencyId: string): void
  }
  readonly usage: {
    forget(isIncluded: AgencyFilter): void
    load(used: readonly UsageDraft[]): void
    flush(): Promise<void>
  }
  readonly limiter: { forget(keyIds: Iterable<string>): void; restore(passed: readonly AdmittedRequests[]): void }
  readonly sessions: {
    forget(isIncluded: AgencyFilter): void
    adopt(stored: readonly StoredSession[]): void
    flush(): Promise<void>
  }
  readonly rateSlots: { flush(): Promise<void> }
  readonly refusals: { flush(): Promise<void> }
  readonly feeds: readonly { forget(isIncluded: AgencyFilter): void }[]
  readonly holdTimer: { expectExpiry(at: number): void }
}

interface NodeShardsOptions {
  readonly clock: Clock
  /** Postgres. */
  readonly store: {
    take(shards: readonly number[]): Promise<WriterTerm>
    giveUp(shards: readonly number[]): Promise<void>
    lost(owned: readonly ShardEpoch[]): Promise<readonly number[]>
    ping(): Promise<void>
  }
  readonly load: (shards: readonly number[]) => Promise<ShardContents>
  /** Something that makes the next owner slower, or its counts lower, has failed. */
  readonly onFailure: (error: unknown) => void
}

export class NodeShards implements ShardHost {
  readonly #options: NodeShardsOptions
  #engine: Engine | null = null
  /** Of owned shards: which ownership it is. */
  readonly #terms = new Map<number, number>()
  readonly #owned = new Set<number>()
  /** Shards that are being acquired, and by which call; its promise fails when one is dropped. Without their entry: they were dropped. */
  readonly #acquiring = new Map<number, PromiseWithResolvers<never>>()
  readonly #releasing = new Map<number, Promise<void>>()
  #lastTerm = 0
  onFenced: (shards: readonly number[]) => void = () => {}
  readonly #watchers = new Set<() => void>()

  constructor(options: NodeShardsOptions) {
    this.#options = options
  }

  /** @param onChange called after each change of `owned` */
  watch(onChange: () => void): void {
    this.#watchers.add(onChange)
  }

  /** What the shards are put into. Called once, before the first shard is acquired. */
  serveWith(engine: Engine): void {
    this.#engine = engine
  }

  get owned(): ReadonlySet<number> {
    return this.#owned
  }

  termOf(shard: number): number | null {
    return this.#terms.get(shard) ?? null
  }

  /** The same for the shard of an agency. */
  readonly termOfAgency = (agencyId: string): number | null => this.termOf(shardOf(agencyId))

  async acquire(claimed: readonly number[]): Promise<void> {
    const shards = [...new Set(claimed)].filter((shard) => !this.#owned.has(shard)).sort((a, b) => a - b)
    if (shards.length === 0) return
    const busy = shards.find((shard) => this.#acquiring.has(shard))
    if (busy !== undefined) throw new Error(`Cannot acquire shard ${busy}: it is being acquired`)
    const call = Promise.withResolvers<never>()
    call.promise.catch(() => {})
    for (const shard of shards) this.#acquiring.set(shard, call)
    try {
      // While Postgres does not answer, a batch in doubt does not end: a node that gives its shards up must not wait for it.
      await Promise.race([this.#left(new Set(shards)), call.promise])
      const term = await this.#options.store.take(shards)
      const contents = await this.#options.load(shards)
      if (shards.some((shard) => this.#acquiring.get(shard) !== call)) await call.promise
      this.#serve(term, contents)
    } finally {
      for (const shard of shards) if (this.#acquiring.get(shard) === call) this.#acquiring.delete(shard)
    }
  }

  async release(given: readonly number[]): Promise<void> {
    const shards = new Set(given.filter((shard) => this.#owned.has(shard)))
    const others = given.flatMap((shard) => this.#releasing.get(shard) ?? [])
    if (shards.size > 0) {
      const released = this.#release(shards).finally(() => {
        for (const shard of shards) this.#releasing.delete(shard)
      })
      for (const shard of shards) this.#releasing.set(shard, released)
      others.push(released)
    }
    await Promise.all(others)
  }

  drop(dropped: readonly number[]): void {
    for (const shard of dropped) {
      this.#acquiring.get(shard)?.reject(new Error(`Cannot acquire shards: shard ${shard} was dropped meanwhile`))
      this.#acquiring.delete(shard)
    }
    const shards = new Set(dropped.filter((shard) => this.#owned.has(shard)))
    if (shards.size === 0) return
    this.#stopDeciding(shards)
    this.#enginePart.journal.retire(shards)
    this.#forget(shards)
  }

  async confirm(): Promise<readonly number[]> {
    const { journal } = this.#enginePart
    const lost: number[] = []
    let claims = this.#claims([...this.#owned].sort((a, b) => a - b))
    while (claims.length > 0) {
      const lostInStore = new Set(await this.#options.store.lost(claims))
      // Acquired again meanwhile: another ownership, which began after this question.
      const inDoubt = claims.filter(({ shard, term }) => lostInStore.has(shard) && this.termOf(shard) === term)
      const [fenced, renewed] = [[] as number[], [] as number[]]
      // An epoch that this node has raised itself meanwhile may be the last one, or not: only another question tells.
      for (const { shard, epoch } of inDoubt) (journal.epochOfShard(shard) === epoch ? fenced : renewed).push(shard)
      this.lostTo(fenced)
      lost.push(...fenced)
      claims = this.#claims(renewed)
    }
    return lost
  }

  /** What this node holds to be true of those of the shards that it owns. */
  #claims(shards: readonly number[]): readonly (ShardEpoch & { readonly term: number })[] {
    const { journal } = this.#enginePart
    return shards.flatMap((shard) => {
      const term = this.termOf(shard)
      return term === null ? [] : { shard, term, epoch: journal.epochOfShard(shard) }
    })
  }

  ping(): Promise<void> {
    return this.#options.store.ping()
  }

  /** Another writer has taken these shards. */
  lostTo(shards: readonly number[]): void {
    const lost = shards.filter((shard) => this.#owned.has(shard))
    this.drop(shards)
    if (lost.length > 0) this.onFenced(lost)
  }

  get #enginePart(): Engine {
    if (this.#engine === null) throw new Error('Cannot use shards: the engine is not open')
    return this.#engine
  }

  /** What is left of these shards from an earlier ownership has ended. */
  async #left(shards: ReadonlySet<number>): Promise<void> {
    const { directory, journal } = this.#enginePart
    await Promise.all([...shards].flatMap((shard) => this.#releasing.get(shard) ?? []))
    await directory.left(ofShards(shards))
    await journal.settled(shards)
  }

  #serve(term: WriterTerm, { used, passed, sessions, ...part }: ShardContents): void {
    const engine = this.#enginePart
    const shards = new Set(term.shards.map(({ shard }) => shard))
    const isIncluded = ofShards(shards)
    const keyIds = new Set(part.keys.map(({ id }) => id))
    engine.catalogue.putPart(part)
    for (const { id } of part.agencies) engine.directory.noteChanged(id)
    for (const feed of engine.feeds) feed.forget(isIncluded)
    engine.usage.forget(isIncluded)
    engine.usage.load(used)
    engine.limiter.forget(keyIds)
    engine.limiter.restore(passed.filter(({ keyId }) => keyIds.has(keyId)))
    engine.sessions.forget(isIncluded)
    engine.sessions.adopt(sessions)
    engine.journal.adopt(term)
    for (const shard of shards) {
      this.#lastTerm += 1
      this.#terms.set(shard, this.#lastTerm)
      this.#owned.add(shard)
    }
    engine.holdTimer.expectExpiry(this.#options.clock.now())
    this.#changed()
  }

  async #release(shards: ReadonlySet<number>): Promise<void> {
    const engine = this.#enginePart
    const isIncluded = ofShards(shards)
    const snapshots = engine.directory.snapshotAll(isIncluded).catch(this.#options.onFailure)
    this.#stopDeciding(shards)
    const settled = engine.directory.left(isIncluded).then(() => engine.journal.settled(shards))
    await this.#within(SETTLE_MS_MAX, [settled])
    engine.journal.retire(shards)
    const { usage, rateSlots, refusals, sessions } = engine
    const written = [usage, rateSlots, refusals, sessions].map((counters) => counters.flush())
    await this.#within(WRITE_MS_MAX, [snapshots, ...written])
    this.#forget(shards)
    // Nobody waits for it but a process that waits for all writers.
    this.#options.store.giveUp([...shards]).catch(this.#options.onFailure)
  }

  #stopDeciding(shards: ReadonlySet<number>): void {
    for (const shard of shards) {
      this.#terms.delete(shard)
      this.#owned.delete(shard)
    }
    this.#enginePart.directory.close(ofShards(shards))
    this.#changed()
  }

  #changed(): void {
    for (const watcher of this.#watchers) watcher()
  }

  #forget(shards: ReadonlySet<number>): void {
    const { catalogue, feeds, usage, sessions } = this.#enginePart
    const isIncluded = ofShards(shards)
    for (const { id } of catalogue.agencies()) if (isIncluded(id)) catalogue.forget(id)
    for (const feed of feeds) feed.forget(isIncluded)
    usage.forget(isIncluded)
    sessions.forget(isIncluded)
  }

  /** Waits for all of these, but not longer. What fails is reported. */
  async #within(ms: number, parts: readonly Promise<void>[]): Promise<void> {
    const all = Promise.all(parts.map((part) => part.catch(this.#options.onFailure)))
    await Promise.race([all, sleep(this.#options.clock, ms)])
  }
}

function ofShards(shards: ReadonlySet<number>): AgencyFilter {
  return (agencyId) => shards.has(shardOf(agencyId))
}
