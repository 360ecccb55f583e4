/**
 * `/mcp`: streamable HTTP without sessions and without streams. Every POST stands alone and is answered with JSON
 * (contract, Tool endpoint; MCP specification 2025-11-25 and 2026-07-28, Streamable HTTP).
 *
 * The door is REST's: key → plan → requests per minute → requests per month, with REST's bodies and headers. What
 * comes after it is answered as JSON-RPC. `Origin` is not looked at: any origin may call (contract, Conventions), and a
 * page that got here by DNS rebinding still has no key (docs/decisions.md).
 */

import { type Admission, type PartnerAccess, UNAUTHORIZED } from '../../access/partner-access.ts'
import type { OpenRequest, RequestStats, RouteWatch } from '../../observability/request-stats.ts'
import { plainHeaders, problemAnswer, rateHeaders } from '../http/answer.ts'
import { requestIdOf } from '../http/request-id.ts'
import { readJson } from '../http/strict-json.ts'
import { failureOf } from '../problems/problem-of-failure.ts'
import { eraOf } from './era.ts'
import {
  errorText,
  type Message,
  messageOf,
  RPC_CODES,
  type RpcError,
  type RpcRequest,
  successText,
} from './json-rpc.ts'
import type { McpFailure, McpLedger } from './mcp-dependencies.ts'
import { answerOf } from './methods.ts'
import { preflightAnswer } from './preflight.ts'
import { BATCH_VERSION } from './protocol.ts'

export const MCP_PATH = '/mcp'

/** Each request of a batch costs one of the budget; beyond this many it is refused as a whole. */
export const BATCH_MESSAGES_MAX = 20

export interface McpEndpoint {
  readonly path: typeof MCP_PATH
  fetch(request: Request): Response | Promise<Response>
}

/** An admitted request. `admission`: the latest one, whose budget the answer tells. */
interface Open extends OpenRequest {
  readonly request: Request
  admission: Admission
  /** Set where the answer should be tried again later. */
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
  onFailure(failure: McpFailure): void
}): McpEndpoint {
  const { ledger, requestStats, onFailure } = options
  const { access, clock, newId } = ledger
  const watchOf = (method: string) => requestStats.route({ surface: 'mcp', method, path: MCP_PATH })
  const posts = watchOf('POST')
  const preflights = watchOf('OPTIONS')
  const others = watchOf('any')

  function fetch(request: Request): Response | Promise<Response> {
    const arrivedMs = posts.arrived()
    const requestId = requestIdOf(request.headers.get('x-request-id'), newId)
    if (request.method === 'OPTIONS')
      return ended(preflights, { arrivedMs, requestId, admission: null }, preflightAnswer(requestId))
    const admission = access.admit(request.headers.get('authorization'))
    if (request.method !== 'POST')
      return ended(others, { arrivedMs, requestId, admission }, methodNotAllowed(requestId, admission))
    if (admission === null)
      return ended(
        posts,
        { arrivedMs, requestId, admission },
        problemAnswer(UNAUTHORIZED, requestId, plainHeaders(requestId)),
      )
    const open: Open = { request, arrivedMs, requestId, admission, retryAfterS: null }
    if (admission.refusal !== null)
      return ended(posts, open, problemAnswer(admission.refusal, requestId, headersOf(open)))
    return serve(open).then((response) => ended(posts, open, response))
  }

  /** No streams to open and no sessions to end: 405 whatever the key; a valid one still sees its budget. */
  function methodNotAllowed(requestId: string, admission: Admission | null): Response {
    const headers = admission === null ? plainHeaders(requestId) : rateHeaders(requestId, admission.rate, clock.now())
    headers.set('Allow', 'POST, OPTIONS')
    const message = 'Only POST is supported: this endpoint has no streams and no sessions'
    return new Response(errorText({ id: null, code: RPC_CODES.invalidRequest, message, httpStatus: 405 }), {
      status: 405,
      headers,
    })
  }

  async function serve(open: Open): Promise<Response> {
    const { request, requestId } = open
    const body = await readJson(request)
    // The key may have been revoked while the body was arriving.
    const admission = access.readmit(open.admission)
    if (admission === null) return problemAnswer(UNAUTHORIZED, requestId, plainHeaders(requestId))
    open.admission = admission
    if (admission.refusal !== null) return problemAnswer(admission.refusal, requestId, headersOf(open))
    if (body.kind === 'refused') return answer(open, unreadable(body.problem.title, body.problem.status))
    if (body.value === undefined) return answer(open, unreadable('body must be a JSON-RPC message', 400))
    if (!Array.isArray(body.value)) return answer(open, await replyTo(open, messageOf(body.value)))
    const messages = body.value.map(messageOf)
    const refused = refusedBatch(messages, request.headers)
    if (refused !== null) return answer(open, refusal(refused))
    const paid = payForRest(open, access, messages)
    if (paid !== null) return problemAnswer(paid, requestId, headersOf(open))
    return answer(open, await replyToBatch(open, messages))
  }

  async function replyTo(open: Open, message: Message): Promise<Reply> {
    if (message.kind === 'invalid') return refusal(message.error)
    if (message.kind === 'response') return ACCEPTED
    const era = eraOf(message, open.request.headers)
    if (era.kind === 'refused') return refusal(era.error)
    // There is no state that a notification could change.
    if (message.kind === 'notification') return ACCEPTED
    return replyToRequest(open, message, era.kind === 'modern')
  }

  async function replyToRequest(open: Open, request: RpcRequest, isModern: boolean): Promise<Reply> {
    try {
      const outcome = await answerOf(ledger, { request, isModern, holder: open.admission.holder })
      return typeof outcome === 'string'
        ? { httpStatus: 200, text: successText(request.id, outcome) }
        : refusal(outcome)
    } catch (error) {
      return refusal(failed(open, request, error))
    }
  }

  async function replyToBatch(open: Open, messages: readonly Message[]): Promise<Reply> {
    const replies = await Promise.all(messages.map((message) => replyTo(open, message)))
    const texts = replies.flatMap(({ text }) => text ?? [])
    return texts.length === 0 ? ACCEPTED : { httpStatus: 200, text: `[${texts.join(',')}]` }
  }

  /** Never the error's own message: it may hold what a caller must not see. */
  function failed(open: Open, { id, method }: RpcRequest, error: unknown): RpcError {
    const { requestId } = open
    const { problem, isBug } = failureOf(error, { isWrite: false })
    onFailure({ error, requestId, route: `POST ${MCP_PATH} ${method.slice(0, 64)}`, isBug })
    open.retryAfterS = problem.retryAfterS
    const message = 'The request could not be answered because of an error in the service: try again'
    return { id, code: RPC_CODES.internal, message, data: { requestId }, httpStatus: 200 }
  }

  function headersOf({ requestId, admission }: Open): Headers {
    return rateHeaders(requestId, admission.rate, clock.now())
  }

  function answer(open: Open, { httpStatus, text }: Reply): Response {
    const headers = headersOf(open)
    if (text === null) headers.delete('Content-Type')
    if (open.retryAfterS !== null) headers.set('Retry-After', String(open.retryAfterS))
    return new Response(text, { status: httpStatus, headers })
  }

  return { path: MCP_PATH, fetch }
}

function ended(watch: RouteWatch, request: OpenRequest, response: Response): Response {
  watch.answered(request, response.status)
  return response
}

function refusal(error: RpcError): Reply {
  return { httpStatus: error.httpStatus, text: errorText(error) }
}

function unreadable(message: string, httpStatus: number): Reply {
  return refusal({ id: null, code: RPC_CODES.parse, message, httpStatus })
}

/** Batches were part of one revision only, and `initialize` never was part of one (MCP specification 2025-03-26). */
function refusedBatch(messages: readonly Message[], headers: Headers): RpcError | null {
  const refuse = (message: string): RpcError => ({ id: null, code: RPC_CODES.invalidRequest, message, httpStatus: 400 })
  const version = headers.get('mcp-protocol-version')
  if (version !== null && version !== BATCH_VERSION)
    return refuse(`Only revision ${BATCH_VERSION} supports batches: send one message per request`)
  if (messages.length === 0) return refuse('A batch must contain at least one message')
  if (messages.length > BATCH_MESSAGES_MAX) return refuse(`A batch must contain at most ${BATCH_MESSAGES_MAX} messages`)
  const hasInitialize = messages.some((message) => message.kind === 'request' && message.method === 'initialize')
  return hasInitialize ? refuse('initialize cannot be part of a batch') : null
}

/** Every request of a batch costs as if it had come alone. Nothing of it is served if the budget does not reach. */
function payForRest(open: Open, access: PartnerAccess, messages: readonly Message[]): Admission['refusal'] {
  const requests = messages.filter(({ kind }) => kind === 'request').length
  for (let paid = 1; paid < requests; paid++) {
    const admission = access.admit(open.request.headers.get('authorization'))
    if (admission === null) return UNAUTHORIZED
    open.admission = admission
    if (admission.refusal !== null) return admission.refusal
  }
  return null
}
