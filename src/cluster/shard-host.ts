/** What the engine of a node can do with shards. */
export interface ShardHost {
  /** Shards that this process decides now. */
  readonly owned: ReadonlySet<number>
  /**
   * Which ownership of the shard this is: another number after each `acquire`, null while the shard is not owned. An answer whose
   * request saw two different ones was not made by its owner, and is worth nothing unless it acknowledges a write.
   */
  termOf(shard: number): number | null
  /**
   * C3: raises the epochs in Postgres (waits for batches in flight), reads ends, agencies, keys, units, counters and sessions of these
   * shards in new statements, then serves.
   * @throws when the database does not answer: nothing is served then
   */
  acquire(shards: readonly number[]): Promise<void>
  /**
   * C5: stops deciding, settles what is in flight, flushes counters, writes snapshots, forgets. Resolves when a successor may claim.
   */
  release(shards: readonly number[]): Promise<void>
  /**
   * The lease is lost, or the fence told so: stops serving these at once, reads too; open writes are answered as their outcome becomes
   * known. Never throws.
   */
  drop(shards: readonly number[]): void
  /**
   * Failsafe (C6): one statement that tells whether Postgres still has this process's epochs for all owned shards.
   * @returns those that it has lost; they are dropped already
   * @throws when the database does not answer
   */
  confirm(): Promise<readonly number[]>
  /** Asks Postgres for a write of no consequence. @throws when it does not answer */
  ping(): Promise<void>
  /** Called with shards that another writer has taken (the fence told so); they are dropped already. */
  onFenced: (shards: readonly number[]) => void
}
