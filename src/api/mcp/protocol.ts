/**
 * The revisions of the Model Context Protocol that are spoken, and how the server presents itself in each.
 * MCP specification, https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning.
 */
import type { Implementation, InitializeResult } from '@modelcontextprotocol/sdk/types.js'
import { VERSION } from '../../lib/version.ts'

/** Spoken without a handshake: each request carries version and capabilities in `_meta`. */
export const MODERN_VERSION = '2026-07-28'

/** Spoken after `initialize`, the newest first. Nothing is remembered from it, so it may be left out. */
export const LEGACY_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26'] as const
export type LegacyVersion = (typeof LEGACY_VERSIONS)[number]

/** The only revision in which messages may come as a batch; also the one of a request that names none. */
export const BATCH_VERSION: LegacyVersion = '2025-03-26'

export const SUPPORTED_VERSIONS: readonly string[] = [MODERN_VERSION, ...LEGACY_VERSIONS]

export function isLegacyVersion(version: unknown): version is LegacyVersion {
  return LEGACY_VERSIONS.some((known) => known === version)
}

/** Members of `_meta` in the modern revision. */
export const META = {
  version: 'io.modelcontextprotocol/protocolVersion',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
} as const

export const SERVER_VERSION = VERSION

const SERVER_INFO: Implementation = { name: 'nightledger', title: 'Nightledger', version: SERVER_VERSION }

const CAPABILITIES = { tools: {} }

const INSTRUCTIONS =
  "Reads one rental agency's calendar: units, free nights, prices and bookings. Dates are YYYY-MM-DD and every range is " +
  'half-open: the guest sleeps the first night and leaves on the last date. Amounts are integers in the minor unit of ' +
  'the currency given with them. Get slugs from list_units, find free nights with get_availability, and quote a ' +
  'price only from quote_stay. Nothing can be booked, held or changed here. Requests are limited per minute: prefer ' +
  'long ranges and large pages to many small requests.'

/** @param asked what the client can speak; the newest handshake revision is offered where it is not one of ours */
export function initializeText(asked: unknown): string {
  const result: InitializeResult = {
    protocolVersion: isLegacyVersion(asked) ? asked : LEGACY_VERSIONS[0],
    capabilities: CAPABILITIES,
    serverInfo: SERVER_INFO,
    instructions: INSTRUCTIONS,
  }
  return JSON.stringify(result)
}

/**
 * How long a client may keep what it was told, milliseconds. Scopes of a key never change (contract, Authentication
 * rule 7); tools do with a new release of the service.
 */
const TTL_MS = 300_000
/** For the key that asked, and no other. */
const CACHE = `"ttlMs":${TTL_MS},"cacheScope":"private"`

/** Members that every result of the modern revision begins with. */
const MODERN_HEAD = `"resultType":"complete","_meta":${JSON.stringify({ [META.serverInfo]: SERVER_INFO })}`

export const DISCOVER_TEXT = `{${MODERN_HEAD},${CACHE},"supportedVersions":${JSON.stringify(SUPPORTED_VERSIONS)},"capabilities":${JSON.stringify(CAPABILITIES)},"instructions":${JSON.stringify(INSTRUCTIONS)}}`

/** A result that both kinds of revisions have, with the members that the modern one adds. @param members not empty */
export function resultText(
  members: string,
  { isModern, isCacheable }: { isModern: boolean; isCacheable: boolean },
): string {
  if (!isModern) return `{${members}}`
  return isCacheable ? `{${MODERN_HEAD},${CACHE},${members}}` : `{${MODERN_HEAD},${members}}`
}
