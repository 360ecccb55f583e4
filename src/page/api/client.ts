/** The portal API, typed by its operations. Requests carry the session's cookie. */
import createClient, { type FetchResponse, type MaybeOptionalInit } from 'openapi-fetch'
import { heardTime } from '../lib/present.ts'
import { connection, isSomebodyThere } from './connection.ts'
import { noAnswer, Problem } from './problem.ts'
import type { PortalPaths } from './schema.ts'
import { sessionEnded, signedInAt } from './session.ts'

/** No form of another site can send it, so it proves that a write comes from this page. */
const PAGE_HEADER = { 'X-Nightledger-Page': '1' } as const

/** A read that nobody has asked for does not keep the session alive. */
const AUTOMATIC_HEADER = 'X-Nightledger-Automatic'

/** Paths that need a session. The routes that open one say themselves why they refuse. */
const SESSION_PATHS = '/portal/v1/'
const TIMEOUT_MS = 30_000
/** After this the connection itself is looked at. */
const LATE_MS = 4_000

/** Sends a request with the session's cookie. @throws Problem when no answer arrives */
async function send(request: Request): Promise<Response> {
  const limit = AbortSignal.timeout(TIMEOUT_MS)
  const late = setTimeout(() => void connection.doubted(), LATE_MS)
  try {
    const response = await fetch(request, { signal: AbortSignal.any([request.signal, limit]) })
    connection.answered()
    heardTime(Date.parse(response.headers.get('date') ?? ''))
    return response
  } catch (error) {
    // Given up by the page itself: says nothing about the connection.
    if (request.signal.aborted) throw error
    connection.failed()
    throw noAnswer(error)
  } finally {
    clearTimeout(late)
  }
}

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'
type PathWith<M extends Method> = {
  [P in keyof PortalPaths]: M extends keyof PortalPaths[P] ? P : never
}[keyof PortalPaths]
type OperationAt<P extends keyof PortalPaths, M extends Method> =
  PortalPaths[P] extends Record<M, infer O extends Record<string, unknown>> ? O : never
type Init<P extends keyof PortalPaths, M extends Method> = MaybeOptionalInit<Record<M, OperationAt<P, M>>, M>

/**
 * openapi-fetch takes the type of `init` from the call, which lets misspelt optional members pass. Here it follows from the path alone.
 * The compiler cannot compare the two, so the client is cast.
 */
type Call<M extends Method> = <P extends PathWith<M>>(
  path: P,
  ...init: undefined extends Init<P, M> ? [init?: Init<P, M>] : [init: Init<P, M>]
) => Promise<FetchResponse<OperationAt<P, M>, object, 'application/json'>>

type Client = { readonly [M in Method as Uppercase<M>]: Call<M> }

/** `client.GET('/portal/v1/agencies/{agencySlug}/keys', { params: … })`. Use it through `answerOf`. */
export const client = createClient<PortalPaths, 'application/json'>({
  baseUrl: location.origin,
  fetch: async (request) => {
    if (!isSomebodyThere()) request.headers.set(AUTOMATIC_HEADER, '1')
    const sentAt = performance.now()
    const response = await send(request)
    // One that went out with the previous cookie says nothing about the present session.
    if (needsSession(response) && sentAt >= signedInAt()) sessionEnded()
    return response
  },
  headers: PAGE_HEADER,
}) as unknown as Client

/**
 * The body of an answer.
 * @throws Problem when the service refuses or does not answer
 */
export async function answerOf<T>(
  call: Promise<{ data?: T; error?: unknown; response: Response }>,
): Promise<NonNullable<T>> {
  const { data, error, response } = await call
  if (data === undefined || data === null) throw new Problem(response.status, sessionProblem(response) ?? bodyOf(error))
  return data
}

/** A value as the service has it. `tag`: its entity tag; null if unknown, as in the answer to a repeated write. */
export interface Tagged<T> {
  readonly value: T
  readonly tag: string | null
}

/** The body of an answer, with its entity tag. @throws Problem as `answerOf` */
export async function taggedAnswerOf<T>(
  call: Promise<{ data?: T; error?: unknown; response: Response }>,
): Promise<Tagged<NonNullable<T>>> {
  const [value, { response }] = await Promise.all([answerOf(call), call])
  return { value, tag: response.headers.get('etag') }
}

function needsSession({ status, url }: Response): boolean {
  return status === 401 && new URL(url).pathname.startsWith(SESSION_PATHS)
}

/** The service tells programs to send a token; people are to sign in. */
function sessionProblem(response: Response): Record<string, unknown> | null {
  if (!needsSession(response)) return null
  return { code: 'SESSION_ENDED', title: 'Your session has ended. Sign in, then try again.' }
}

function bodyOf(error: unknown): Record<string, unknown> {
  return typeof error === 'object' && error !== null ? (error as Record<string, unknown>) : {}
}
