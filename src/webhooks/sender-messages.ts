import type { SenderStats } from './sender-stats.ts'

/** Everything the sender's process needs; it reads no environment of ours, so that no secret stands in one. */
export interface SenderSettings {
  readonly databaseUrl: string
  /** 64 hexadecimal digits. */
  readonly secretKeyHex: string
  /** Of the writer that started it; a sender of a writer that was fenced sends nothing. */
  readonly epoch: number
  readonly allowHosts: readonly string[]
  readonly logLevel: string
  /** PEM; null for the public authorities. Tests have their own. */
  readonly trustedCa: readonly string[] | null
}

/** From the service to its sender. */
export type ToSender =
  | { readonly kind: 'start'; readonly settings: SenderSettings }
  | { readonly kind: 'wake' }
  | { readonly kind: 'endpoint_changed'; readonly endpointId: string }
  | { readonly kind: 'stop'; readonly withinMs: number }

/** From the sender to its service. */
export type FromSender =
  /** It listens; `start` may be sent. */
  { readonly kind: 'up' } | { readonly kind: 'stats'; readonly stats: SenderStats }
