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
  /** etcd has lost what this node knows of it: it began anew, or from a backup. */
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
