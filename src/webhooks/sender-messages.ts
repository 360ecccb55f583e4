import type { ShardEpoch } from '../core/journal/journal-store.ts'
import type { SenderStats } from './sender-stats.ts'
import type { WokenAgencies } from './woken-agencies.ts'

/**
 * Everything the sender process needs. It reads none of our environment variables, so none of them has to contain a
 * secret.
 */
export interface SenderSettings {
  readonly databaseUrl: string
  /** 64 hexadecimal digits. */
  readonly secretKeyHex: string
  /**
   * Epoch of the writer that started it. A sender whose writer has been fenced sends nothing. Null: of a node, which tells it for which
   * shards it sends.
   */
  readonly epoch: number | null
  readonly allowHosts: readonly string[]
  readonly logLevel: string
  /** PEM; null to trust the public authorities. Tests use their own. */
  readonly trustedCa: readonly string[] | null
}

/** Messages from the service to its sender. */
export type ToSender =
  | { readonly kind: 'start'; readonly settings: SenderSettings }
  /** These agencies have new entries in the journal. */
  | { readonly kind: 'wake'; readonly agencyIds: WokenAgencies }
  /** To the sender of a node: the shards that it has now, in order. */
  | { readonly kind: 'shards'; readonly shards: readonly ShardEpoch[] }
  | { readonly kind: 'endpoint_changed'; readonly agencyId: string; readonly endpointId: string }
  | { readonly kind: 'stop'; readonly withinMs: number }

/** Messages from the sender to its service. */
export type FromSender =
  /** The sender is listening; `start` may be sent. */
  { readonly kind: 'up' } | { readonly kind: 'stats'; readonly stats: SenderStats }
