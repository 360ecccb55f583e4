import type { ShardHost } from '../../src/cluster/node-watch.ts'

/** The epochs of the shards, as Postgres has them: the truth that several hosts share. */
export class SharedEpochs {
  readonly epochs: number[] = Array.from({ length: 256 }, () => 0)
  /** Postgres does not answer. */
  isAway = false
}

/** An engine that only knows which shards it has. */
export class MemoryShardHost implements ShardHost {
  readonly #epochs: SharedEpochs
  readonly #own = new Map<number, number>()
  /** What was called. */
  readonly calls: { readonly call: 'acquire' | 'release' | 'drop'; readonly shards: readonly number[] }[] = []
  /** Postgres does not answer this host. */
  isCut = false
  /** Fences that somebody holds: what asks for one of them is cancelled. */
  readonly locked = new Set<number>()
  /** How long acquire and release take. */
  workMs = 0
  onFenced: (shards: readonly number[]) => void = () => {}

  constructor(epochs: SharedEpochs) {
    this.#epochs = epochs
  }

  get owned(): ReadonlySet<number> {
    return new Set(this.#own.keys())
  }

  termOf(shard: number): number | null {
    return this.#own.get(shard) ?? null
  }

  async acquire(shards: readonly number[]): Promise<void> {
    this.calls.push({ call: 'acquire', shards })
    if (shards.some((shard) => this.#own.has(shard))) throw new Error('A shard is owned already')
    await Bun.sleep(this.workMs)
    await this.ping()
    if (shards.some((shard) => this.locked.has(shard)))
      throw Object.assign(new Error('lock timeout'), { code: '55P03' })
    for (const shard of shards) {
      const epoch = (this.#epochs.epochs[shard] ?? 0) + 1
      this.#epochs.epochs[shard] = epoch
      this.#own.set(shard, epoch)
    }
  }

  async release(shards: readonly number[]): Promise<void> {
    this.calls.push({ call: 'release', shards })
    await Bun.sleep(this.workMs)
    for (const shard of shards) this.#own.delete(shard)
  }

  drop(shards: readonly number[]): void {
    this.calls.push({ call: 'drop', shards })
    for (const shard of shards) this.#own.delete(shard)
  }

  async confirm(): Promise<readonly number[]> {
    await this.ping()
    const lost = [...this.#own].filter(([shard, epoch]) => this.#epochs.epochs[shard] !== epoch).map(([shard]) => shard)
    for (const shard of lost) this.#own.delete(shard)
    return lost
  }

  async ping(): Promise<void> {
    if (this.#epochs.isAway || this.isCut) throw new Error('Postgres is away')
  }

  /** A write meets the fence. */
  meetFence(shard: number): void {
    this.#own.delete(shard)
    this.onFenced([shard])
  }

  /** What a write would find: whether this host may still write there. */
  isWriter(shard: number): boolean {
    return this.#own.get(shard) === this.#epochs.epochs[shard]
  }
}
