/**
 * The revisions of the Model Context Protocol that are spoken, and how the server presents itself in each.
 * MCP specification, https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning.
 */
import type { CacheHint, Implementation } from '@modelcontextprotocol/server'
import { VERSION } from '../../lib/version.ts'

/** Spoken without a handshake: each request carries version and capabilities in `_meta`. */
export const MODERN_VERSION = '2026-07-28'

/** Spoken after `initialize`, the newest first. Nothing is remembered from it, so it may be left out. */
export const LEGACY_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26'] as const
type LegacyVersion = (typeof LEGACY_VERSIONS)[number]

/** The only revision in which messages may come as a batch; also the one of a request that names none. */
export const BATCH_VERSION: LegacyVersion = '2025-03-26'

export const SUPPORTED_VERSIONS: readonly string[] = [MODERN_VERSION, ...LEGACY_VERSIONS]

export function isLegacyVersion(version: unknown): version is LegacyVersion {
  return LEGACY_VERSIONS.some((known) => known === version)
}

/** Members of `_meta` in the modern revision, as the SDK has them. */
export const META = {
  version: 'io.modelcontextprotocol/protocolVersion',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
} as const

export const SERVER_INFO: Implementation = { name: 'nightledger', title: 'Nightledger', version: VERSION }

export const CAPABILITIES = { tools: {} }

export const INSTRUCTIONS =
  "Reads one rental agency's calendar: units, free nights, prices and bookings. Dates are YYYY-MM-DD and every range is " +
  'half-open: the guest sleeps the first night and leaves on the last date. Amounts are integers in the minor unit of ' +
  'the currency given with them. Get slugs from list_units, find free nights with get_availability or, for many units at once, get_calendar, ' +
  'find stays that can be booked with search_stays, and quote a price only from quote_stay or search_stays. Nothing can be booked, held or ' +
  'changed here. Requests are limited per minute: prefer long ranges and large pages to many small requests.'

/**
 * How long a client may cache an answer, milliseconds. Scopes of a key never change (docs/contract.md#authentication, rule 7);
 * tools do with a new release of the service. For the key that asked, and no other.
 */
export const CACHE_HINT: CacheHint = { ttlMs: 300_000, cacheScope: 'private' }
