/** A process of the cluster, as the others see it. */
export interface NodeAddress {
  /** NODE_ID. */
  readonly id: string
  /** NODE_URL, without a slash at its end: where the other nodes reach its PORT. */
  readonly url: string
}

/** Who owns what, as this node sees it now. */
export interface Owners {
  readonly self: NodeAddress
  /** 'self' only while the lease is confirmed (C6) and the shard is acquired. Null: the shard has no owner, or is on its way to this node. */
  ownerOf(shard: number): 'self' | NodeAddress | null
  /** Resolves when the owner changes from what `ownerOf` says now, after `ms`, or when `signal` is aborted. */
  changed(shard: number, ms: number, signal?: AbortSignal): Promise<void>
}
