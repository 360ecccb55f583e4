/** What the cluster needs of etcd. Implemented by `EtcdClient`; tests have one in memory. */
export interface Etcd {
  /** Makes a lease. @returns its id */
  grant(ttlS: number): Promise<string>
  /** @returns the seconds that the lease now has; 0 when it is gone */
  keepAlive(lease: string): Promise<number>
  /** Ends a lease and removes its keys. Does nothing when it is gone. */
  revoke(lease: string): Promise<void>
  /** Everything under the prefix, as the majority of the members has it now. */
  read(prefix: string): Promise<Reading>
  /** Makes each of the changes whose condition holds, all at one revision. */
  commit(changes: readonly Change[]): Promise<Committed>
  /**
   * Tells of every change under the prefix, from `fromRevision` on, in their order.
   * @returns when the stream has ended for whatever reason, `signal` included. Never throws.
   */
  watch(
    params: { prefix: string; fromRevision: number; signal: AbortSignal },
    onEvents: (events: readonly Entry[]) => void,
  ): Promise<void>
}

/** A key as it is, or was, at a revision. */
export interface Entry {
  readonly key: string
  /** Null: it was deleted. */
  readonly value: string | null
  /** '0' without one. */
  readonly lease: string
  /** Of the last change. */
  readonly revision: number
}

export interface Reading {
  readonly revision: number
  readonly entries: readonly Entry[]
}

export interface Change {
  readonly key: string
  /** Null: delete it. */
  readonly value: string | null
  /** What the key hangs on; not used by a deletion. */
  readonly lease: string
  /** When the key must be absent, or must hang on this very lease. */
  readonly condition: 'absent' | { readonly lease: string }
}

export interface Committed {
  readonly revision: number
  /** Which of the changes were made. */
  readonly done: readonly boolean[]
}

/**
 * etcd did not do what was asked. `isRefusal`: it said no, and would again. Otherwise no endpoint answered, or there is no leader: the
 * outcome is unknown.
 */
export class EtcdError extends Error {
  override readonly name = 'EtcdError'
  constructor(
    message: string,
    readonly isRefusal: boolean,
    options: { cause?: unknown } = {},
  ) {
    super(message, options)
  }
}
