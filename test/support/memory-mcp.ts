import { PartnerAccess } from '../../src/accounts/partner-access.ts'
import { RateLimiter } from '../../src/accounts/rate-limit.ts'
import { UsageMeter } from '../../src/accounts/usage-meter.ts'
import { type McpEndpoint, type McpLedger, mcpEndpoint } from '../../src/api/mcp/mcp-endpoint.ts'
import { type Plan, SCOPES, type Scope } from '../../src/core/catalogue/agency.ts'
import type { Unit } from '../../src/core/domain/unit.ts'
import type { FailureReport } from '../../src/http/answer.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { RequestStats } from '../../src/observability/request-stats.ts'
import { answerOf, type HttpAnswer, requestOf } from './http-call.ts'
import { MemoryLedger } from './memory-ledger.ts'
import { AGENCY, sampleKey, sampleUnit } from './samples.ts'

/** The tool endpoint over a ledger in memory. Its lists of bookings are empty: those are Postgres's. */
interface MemoryMcp {
  readonly memory: MemoryLedger
  readonly endpoint: McpEndpoint
  readonly failures: FailureReport[]
  /** A new key's secret. @param agencyId the ledger's own agency unless another was put into the catalogue */
  key(scopes?: readonly Scope[], agencyId?: string): string
  /** @param body sent as JSON, unless it is text */
  ask(secret: string | null, body: unknown, headers?: Record<string, string>, method?: string): Promise<HttpAnswer>
}

export async function openMemoryMcp(
  options: {
    units?: Unit[]
    plan?: Partial<Plan>
    commands?: Partial<McpLedger['commands']>
    listBookings?: McpLedger['bookingList']['list']
  } = {},
): Promise<MemoryMcp> {
  const memory = await MemoryLedger.open(options.units ?? [sampleUnit()])
  const { catalogue, clock, commands } = memory
  catalogue.putAgency({ ...AGENCY, plan: { ...AGENCY.plan, requestsPerMinute: 10_000, ...options.plan } })
  const meter = new UsageMeter({ clock, persist: async () => {}, onFailure: () => {} })
  // Keys expire by the test's clock. The pause between large answers is a real one, so that nobody has to end it.
  const accessClock = { ...systemClock, now: () => clock.now() }
  const access = new PartnerAccess({ keys: catalogue.keys, clock: accessClock, limiter: new RateLimiter(clock), meter })
  const failures: FailureReport[] = []
  let requests = 0
  const endpoint = mcpEndpoint({
    ledger: {
      catalogue,
      clock,
      access,
      newId: (prefix) => `${prefix}_${++requests}`,
      commands: (options.commands ?? commands) as McpLedger['commands'],
      bookingList: { list: options.listBookings ?? (async () => ({ rows: [], total: 0 })), ofGuest: async () => [] },
    },
    requestStats: new RequestStats({ clock, log: null }),
    onFailure: (failure) => failures.push(failure),
  })
  return {
    memory,
    endpoint,
    failures,
    key: (scopes = SCOPES, agencyId = AGENCY.id) => {
      const { key, secret } = sampleKey({ agencyId, scopes })
      catalogue.putKey(key)
      return secret
    },
    ask: async (secret, body, headers = {}, method = 'POST') => {
      const sent = method === 'POST' ? (typeof body === 'string' ? { raw: body } : { json: body }) : {}
      const call = { token: secret, method, headers: { 'content-type': 'application/json', ...headers }, ...sent }
      return answerOf(await endpoint.fetch(new Request('http://localhost/mcp', requestOf(call))))
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
