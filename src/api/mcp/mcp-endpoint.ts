/**
 * `/mcp`: streamable HTTP without sessions and without streams. Every POST is independent and is answered with JSON
 * (docs/contract.md#tool-endpoint; MCP specification 2025-11-25 and 2026-07-28, Streamable HTTP).
 *
 * Everything after admission is answered as JSON-RPC. `Origin` is not checked: any origin may call (docs/contract.md#conventions), and a page
 * that reached us through DNS rebinding still has no key (docs/decisions.md#http-and-mcp).
 */

import type { Admission, PartnerAccess } from '../../accounts/partner-access.ts'
import type { FailureReport, Outcome } from '../../http/answer.ts'
import { plainHeaders, problemAnswer } from '../../http/answer.ts'
import { ALLOWED_HEADERS, CORS_HEADERS, PREFLIGHT_MAX_AGE_S } from '../../http/cors.ts'
import { KeyAdmission, UNAUTHORIZED } from '../../http/key-admission.ts'
import { failureOf, isNotOwner } from '../../http/problem-of.ts'
import { readJson } from '../../http/read-request.ts'
import { requestIdOf } from '../../http/request.ts'
import type { Open } from '../../http/route.ts'
import { admitted } from '../../http/route.ts'
import type { Clock } from '../../lib/clock.ts'
import type { IdSource } from '../../lib/ids.ts'
import { traceIdIn } from '../../lib/traceparent.ts'
import type { RequestStats } from '../../observability/request-stats.ts'
import { BATCH_VERSION, eraOf } from './era.ts'
import {
  errorText,
  type Message,
  messageOf,
  RPC_CODES,
  type RpcError,
  type RpcRequest,
  successText,
} from './json-rpc.ts'
import type { ToolLedger } from './tools/tool.ts'

const MCP_PATH = '/mcp'

/** Each request of a batch costs one of the budget; beyond this many it is refused as a whole. */
export const BATCH_MESSAGES_MAX = 20

/** Loads the SDK, which takes a tenth of a second, unless it is loaded already. The endpoint's first request waits for it. */
export function loadMcpSdk(): Promise<typeof import('./tool-server.ts')> {
  return import('./tool-server.ts')
}

/** What the endpoint needs from the running core. */
export interface McpLedger extends ToolLedger {
  readonly clock: Clock
  readonly newId: IdSource
  /** The one that REST uses: the budgets are shared (docs/contract.md#tool-endpoint). */
  readonly access: PartnerAccess
}

export interface McpEndpoint {
  readonly path: typeof MCP_PATH
  fetch(request: Request): Response | Promise<Response>
}

/** An admitted POST that has not been answered yet. */
interface Call extends Open<Admission> {
  /** Set when the caller should try again later. */
  retryAfterS: number | null
}

/** A body of JSON-RPC; null is 202 without one. */
interface Reply {
  readonly httpStatus: number
  readonly text: string | null
}

const ACCEPTED: Reply = { httpStatus: 202, text: null }

export function mcpEndpoint(options: {
  ledger: McpLedger
  requestStats: RequestStats
  onFailure(report: FailureReport): void
}): McpEndpoint {
  const { ledger, requestStats, onFailure } = options
  const { access, newId } = ledger
  const admission = new KeyAdmission(ledger, { isLarge: true })
  const preflights = requestStats.route({ surface: 'mcp', method: 'OPTIONS', path: MCP_PATH })
  const others = requestStats.route({ surface: 'mcp', method: 'any', path: MCP_PATH })
  const post = admitted(
    { requestStats, newId, onFailure },
    admission,
    { name: { surface: 'mcp', method: 'POST', path: MCP_PATH }, status: 200, isWrite: () => false },
    (open) => admission.refusalOf(open.admission, open.request) ?? serve(open),
  )

  function fetch(request: Request): Response | Promise<Response> {
    if (request.method === 'POST') return post(request)
    const isPreflight = request.method === 'OPTIONS'
    const watch = isPreflight ? preflights : others
    const arrivedMs = watch.arrived(request)
    const requestId = requestIdOf(request.headers.get('x-request-id'), newId)
    const found = isPreflight ? null : admission.admit(request, requestId)
    const response = isPreflight ? preflightAnswer(requestId) : methodNotAllowed(requestId, found)
    watch.answered({ request, arrivedMs, requestId, admission: found }, response.status)
    return response
  }

  /** No streams to open and no sessions to end: 405 whatever the key; with a valid one, the answer shows its budget. */
  function methodNotAllowed(requestId: string, found: Admission | null): Response {
    const headers = found === null ? plainHeaders(requestId) : admission.headersOf({ requestId, admission: found })
    headers.set('Allow', 'POST, OPTIONS')
    const message = 'Only POST is supported: this endpoint has no streams and no sessions'
    return new Response(errorText({ id: null, code: RPC_CODES.invalidRequest, message, httpStatus: 405 }), {
      status: 405,
      headers,
    })
  }

  async function serve(open: Open<Admission>): Promise<Outcome> {
    const body = await readJson(open.request)
    // The key may have been revoked while the body was arriving.
    const current = admission.readmit(open)
    if (current === null) return UNAUTHORIZED
    const refused = admission.refusalOf(current, open.request)
    if (refused !== null) return refused
    const call: Call = { ...open, admission: current, retryAfterS: null }
    if (body.kind === 'refused') return answer(call, unreadable(body.problem.title, body.problem.status))
    if (body.value === undefined) return answer(call, unreadable('body must be a JSON-RPC message', 400))
    if (!Array.isArray(body.value)) return answer(call, await replyTo(call, messageOf(body.value)))
    const messages = body.value.map(messageOf)
    const fault = faultOfBatch(messages, open.request.headers)
    if (fault !== null) return answer(call, refusal(fault))
    return chargeBatch(call, messages) ?? (await answer(call, await replyToBatch(call, messages)))
  }

  /**
   * Each further request of a batch costs as much as if it had come alone. If the budget is too small for all of them, none is served.
   * @returns the answer to a batch that is not served
   */
  function chargeBatch(call: Call, messages: readonly Message[]): Outcome | null {
    const requests = messages.filter(({ kind }) => kind === 'request').length
    for (let charged = 1; charged < requests; charged++) {
      const current = access.admit(call.request.headers.get('authorization'), true)
      if (current === null) return UNAUTHORIZED
      call.admission = current
      const refused = admission.refusalOf(current, call.request)
      if (refused !== null) return problemAnswer(refused, call.requestId, admission.headersOf(call), call.request)
    }
    return null
  }

  async function replyTo(call: Call, message: Message): Promise<Reply> {
    if (message.kind === 'invalid') return refusal(message.error)
    if (message.kind === 'response') return ACCEPTED
    const era = eraOf(message, call.request.headers)
    if (era.kind === 'refused') return refusal(era.error)
    // There is no state that a notification could change.
    if (message.kind === 'notification') return ACCEPTED
    return replyToRequest(call, message, era.kind === 'modern')
  }

  async function replyToRequest(call: Call, request: RpcRequest, isModern: boolean): Promise<Reply> {
    try {
      const { answerRequest } = await loadMcpSdk()
      const outcome = await answerRequest(ledger, request, { holder: call.admission.holder, isModern })
      return outcome.kind === 'result'
        ? { httpStatus: 200, text: successText(request.id, outcome.result) }
        : refusal(outcome.error)
    } catch (error) {
      // The whole request is forwarded to the owner.
      if (isNotOwner(error)) throw error
      return refusal(failed(call, request, error))
    }
  }

  async function replyToBatch(call: Call, messages: readonly Message[]): Promise<Reply> {
    const replies = await Promise.all(messages.map((message) => replyTo(call, message)))
    const texts = replies.flatMap(({ text }) => text ?? [])
    return texts.length === 0 ? ACCEPTED : { httpStatus: 200, text: `[${texts.join(',')}]` }
  }

  /** Never the error's own message: it may hold what a caller must not see. */
  function failed(call: Call, { id, method }: RpcRequest, error: unknown): RpcError {
    const ids = { requestId: call.requestId, ...traceIdIn(call.request) }
    const { problem, isBug } = failureOf(error, { isWrite: false })
    onFailure({ error, ...ids, route: `POST ${MCP_PATH} ${method.slice(0, 64)}`, isBug })
    call.retryAfterS = problem.retryAfterS
    const message = 'The request could not be answered because of an error in the service: try again'
    return { id, code: RPC_CODES.internal, message, data: ids, httpStatus: 200 }
  }

  async function answer(call: Call, { httpStatus, text }: Reply): Promise<Response> {
    await access.takeAnswer(call.admission.holder.agency.id, text?.length ?? 0)
    const headers = admission.headersOf(call)
    if (text === null) headers.delete('Content-Type')
    if (call.retryAfterS !== null) headers.set('Retry-After', String(call.retryAfterS))
    return new Response(text, { status: httpStatus, headers })
  }

  return { path: MCP_PATH, fetch }
}

/** Request headers of the protocol that a client in a browser sends, in addition to those of REST. */
const PROTOCOL_HEADERS = ['MCP-Protocol-Version', 'Mcp-Method', 'Mcp-Name', 'Mcp-Session-Id', 'Last-Event-ID'] as const

/** OPTIONS: 204, without a key. Open to any origin, as REST is (docs/contract.md#conventions). */
function preflightAnswer(requestId: string): Response {
  return new Response(null, {
    status: 204,
    headers: {
      ...CORS_HEADERS,
      'Access-Control-Allow-Methods': 'POST, OPTIONS',
      'Access-Control-Allow-Headers': [...ALLOWED_HEADERS, ...PROTOCOL_HEADERS].join(', '),
      'Access-Control-Max-Age': String(PREFLIGHT_MAX_AGE_S),
      'X-Request-Id': requestId,
    },
  })
}

function refusal(error: RpcError): Reply {
  return { httpStatus: error.httpStatus, text: errorText(error) }
}

function unreadable(message: string, httpStatus: number): Reply {
  return refusal({ id: null, code: RPC_CODES.parse, message, httpStatus })
}

/** Batches were part of one revision only, and `initialize` never was part of one (MCP specification 2025-03-26). */
function faultOfBatch(messages: readonly Message[], headers: Headers): RpcError | null {
  const refuse = (message: string): RpcError => ({ id: null, code: RPC_CODES.invalidRequest, message, httpStatus: 400 })
  const version = headers.get('mcp-protocol-version')
  if (version !== null && version !== BATCH_VERSION)
    return refuse(`Only revision ${BATCH_VERSION} supports batches: send one message per request`)
  if (messages.length === 0) return refuse('A batch must contain at least one message')
  if (messages.length > BATCH_MESSAGES_MAX) return refuse(`A batch must contain at most ${BATCH_MESSAGES_MAX} messages`)
  const hasInitialize = messages.some((message) => message.kind === 'request' && message.method === 'initialize')
  return hasInitialize ? refuse('initialize cannot be part of a batch') : null
}
