import type { Member } from './cluster-keys.ts'

/** What a node reports, one log line each. */
export interface NodeWatch {
  onJoined(): void
  onLeaseLost(fields: { shards: number }): void
  /** Another process has this NODE_ID; it is waited for. */
  onNodeIdTaken(member: Member): void
  /** The value of a key in etcd was not written by a node: a member counts as none. Once per key. */
  onUnreadableKey?(key: string): void
  /** Once per outage. */
  onEtcdFailure(error: unknown): void
  onEtcdBack(): void
  /** etcd has lost what this node knows of it: it started over, or from a backup. */
  onEtcdReplaced?(): void
  onAcquired(fields: { shards: number; ms: number }): void
  onReleased(fields: { shards: number; ms: number }): void
  /** Another node has the keys. */
  onDropped(fields: { shards: number }): void
  /** Another writer has raised the epochs, as a batch or the failsafe found out. */
  onFenced(fields: { shards: readonly number[] }): void
  /** Postgres answers other nodes and not this one, which has given up everything. */
  onDatabaseMissed(fields: { shards: number }): void
  /** It answers this node again, which wants its part of the shards. */
  onDatabaseBack(): void
  /** It is tried again. */
  onMoveFailure(fields: { shards: number; step: 'acquire' | 'release'; err: unknown }): void
}

/** Since the start of the process, in shards. */
export interface MoveCounts {
  acquired: number
  released: number
  dropped: number
  fenced: number
  /** Attempts to acquire, in calls. */
  failures: number
}

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
