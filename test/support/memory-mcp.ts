import { randomBytes } from 'node:crypto'
import { newKeySecret } from '../../src/access/key-secret.ts'
import { PartnerAccess } from '../../src/access/partner-access.ts'
import { RateLimiter } from '../../src/access/rate-limit.ts'
import { UsageMeter } from '../../src/access/usage-meter.ts'
import type { McpFailure, McpLedger } from '../../src/api/mcp/mcp-dependencies.ts'
import { type McpEndpoint, mcpEndpoint } from '../../src/api/mcp/mcp-endpoint.ts'
import { type Plan, SCOPES, type Scope } from '../../src/core/catalogue/agency.ts'
import type { Unit } from '../../src/core/domain/unit.ts'
import { RequestStats } from '../../src/observability/request-stats.ts'
import type { HttpAnswer } from './http-call.ts'
import { AGENCY, MemoryLedger } from './memory-ledger.ts'
import { sampleUnit } from './samples.ts'

/** The tool endpoint over a ledger in memory. Its lists of bookings are empty: those are Postgres's. */
export interface MemoryMcp {
  readonly memory: MemoryLedger
  readonly endpoint: McpEndpoint
  readonly failures: McpFailure[]
  /** A new key's secret. */
  key(scopes?: readonly Scope[]): string
  /** @param body sent as JSON, unless it is text */
  ask(secret: string | null, body: unknown, headers?: Record<string, string>, method?: string): Promise<HttpAnswer>
}

export async function openMemoryMcp(
  options: { units?: Unit[]; plan?: Partial<Plan>; commands?: Partial<McpLedger['commands']> } = {},
): Promise<MemoryMcp> {
  const memory = await MemoryLedger.open(options.units ?? [sampleUnit()])
  const { catalogue, clock, commands } = memory
  catalogue.putAgency({ ...AGENCY, plan: { ...AGENCY.plan, requestsPerMinute: 10_000, ...options.plan } })
  const meter = new UsageMeter({ clock, persist: async () => {}, onFailure: () => {} })
  const access = new PartnerAccess({ catalogue, clock, limiter: new RateLimiter(clock), meter })
  const failures: McpFailure[] = []
  let requests = 0
  const endpoint = mcpEndpoint({
    ledger: {
      catalogue,
      clock,
      access,
      newId: (prefix) => `${prefix}_${++requests}`,
      commands: (options.commands ?? commands) as McpLedger['commands'],
      bookingList: { list: async () => ({ rows: [], total: 0 }), ofGuest: async () => [] },
    },
    requestStats: new RequestStats({ clock, log: null }),
    onFailure: (failure) => failures.push(failure),
  })
  let keys = 0
  return {
    memory,
    endpoint,
    failures,
    key: (scopes = SCOPES) => {
      const { secret, prefix, sha256 } = newKeySecret(randomBytes)
      const life = { createdAt: 0, expiresAt: null, revokedAt: null }
      catalogue.putKey({
        ...{ id: `key_${++keys}`, agencyId: AGENCY.id, name: null, prefix, secretSha256: sha256, scopes },
        ...life,
      })
      return secret
    },
    ask: async (secret, body, headers = {}, method = 'POST') => {
      const response = await endpoint.fetch(
        new Request('http://localhost/mcp', {
          method,
          headers: {
            ...(secret === null ? {} : { authorization: `Bearer ${secret}` }),
            'content-type': 'application/json',
            ...headers,
          },
          ...(method === 'POST' ? { body: typeof body === 'string' ? body : JSON.stringify(body) } : {}),
        }),
      )
      const text = await response.text()
      return { status: response.status, headers: response.headers, text, body: text === '' ? null : JSON.parse(text) }
    },
  }
}

/** A JSON-RPC request as a client sends it. */
export function rpc(method: string, params?: unknown, id: unknown = 1): Record<string, unknown> {
  return { jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) }
}

/** A call of a tool. */
export function toolCall(name: string, args: Record<string, unknown> = {}, id: unknown = 1): Record<string, unknown> {
  return rpc('tools/call', { name, arguments: args }, id)
}
