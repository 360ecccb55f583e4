/**
 * Answers of the JSON surfaces. Measured: cloning prebuilt headers and setting those that change costs a fifth of
 * building them from an object per answer (docs/decisions.md#speed).
 */

import type { RateDecision } from '../accounts/rate-limit.ts'
import { traceIdIn } from '../lib/traceparent.ts'
import { CORS_HEADERS } from './cors.ts'
import { type Problem, problemBody } from './problems.ts'

const COMMON = {
  'Content-Type': 'application/json',
  // Answers are one agency's own and of this moment.
  'Cache-Control': 'no-store',
  ...CORS_HEADERS,
} as const

const COMMON_HEADERS = new Headers(COMMON)

/** What the answers of a kind have besides `COMMON`. `null`: not that one. */
const OF_KIND = {
  plain: {},
  /** With an entity tag, but the answer to a request that is not conditional. */
  tagged: {},
  /** May be kept, and asked for again with its entity tag. */
  conditional: { 'Cache-Control': 'private, no-cache' },
  /** 304: it has no body, so no type of one either. */
  unchanged: { 'Cache-Control': 'private, no-cache', 'Content-Type': null },
} as const satisfies Record<string, Record<string, string | null>>

/** Which answer with an entity tag it is. */
type TaggedKind = Exclude<keyof typeof OF_KIND, 'plain'>

/** Headers that are changed for every answer with this limit. To set one costs a tenth of a microsecond, so what stays is remembered. */
interface Shared {
  readonly headers: Headers
  /** As in `X-RateLimit-Reset`: the same for many answers in a row. Null before the first. */
  resetAtS: number | null
}

/** By limit. Plans differ little, so a handful; bounded nevertheless. */
const sharedByLimit = {
  plain: new Map<number, Shared>(),
  tagged: new Map<number, Shared>(),
  conditional: new Map<number, Shared>(),
  unchanged: new Map<number, Shared>(),
} as const satisfies Record<keyof typeof OF_KIND, Map<number, Shared>>
const LIMITS_KEPT_MAX = 1_000

/** Headers of an answer without rate limits. */
export function plainHeaders(requestId: string): Headers {
  const headers = new Headers(COMMON_HEADERS)
  headers.set('X-Request-Id', requestId)
  return headers
}

/** The answer without rate limits that has an entity tag. @param body null for a 304 */
export function plainTaggedAnswer(
  { tag, body, kind }: { tag: string; body: string | null; kind: TaggedKind },
  { status, requestId }: { status: number; requestId: string },
): Response {
  const headers = plainHeaders(requestId)
  setOfKind(headers, kind)
  headers.set('ETag', tag)
  return new Response(body, { status, headers })
}

/** Headers of an answer to an API key: the contract's three, and those of draft-ietf-httpapi-ratelimit-headers. */
export function rateHeaders(requestId: string, rate: RateDecision, now: number): Headers {
  return new Headers(withRate(sharedOf('plain', rate.limit), requestId, rate, now))
}

/**
 * The answer to a key. The headers of its limit are one object, changed for every answer: `new Response` copies what it is
 * given, at once. So an answer's headers are made once and not twice.
 */
export function rateAnswer(
  body: string,
  { status, requestId, rate, now }: { status: number; requestId: string; rate: RateDecision; now: number },
): Response {
  const headers = withRate(sharedOf('plain', rate.limit), requestId, rate, now)
  return new Response(body, { status, headers })
}

/**
 * The answer to a key with an entity tag.
 * @param body null for a 304
 */
export function taggedAnswer(
  { tag, body, kind }: { tag: string; body: string | null; kind: TaggedKind },
  { status, requestId, rate, now }: { status: number; requestId: string; rate: RateDecision; now: number },
): Response {
  const headers = withRate(sharedOf(kind, rate.limit), requestId, rate, now)
  headers.set('ETag', tag)
  return new Response(body, { status, headers })
}

/** Sets all that differs from answer to answer. */
function withRate(shared: Shared, requestId: string, { remaining, resetAtS }: RateDecision, now: number): Headers {
  const { headers } = shared
  headers.set('X-Request-Id', requestId)
  headers.set('X-RateLimit-Remaining', String(remaining))
  if (shared.resetAtS !== resetAtS) {
    shared.resetAtS = resetAtS
    headers.set('X-RateLimit-Reset', String(resetAtS))
  }
  headers.set('RateLimit', `"minute";r=${remaining};t=${Math.max(0, resetAtS - Math.ceil(now / 1_000))}`)
  return headers
}

/** Shared by all answers of a kind and limit: for those that set something else too, a copy is needed. */
function sharedOf(kind: keyof typeof OF_KIND, limit: number): Shared {
  const known = sharedByLimit[kind].get(limit)
  if (known !== undefined) return known
  const headers = new Headers({
    ...COMMON,
    'X-RateLimit-Limit': String(limit),
    'RateLimit-Policy': `"minute";q=${limit};w=60`,
  })
  setOfKind(headers, kind)
  const shared = { headers, resetAtS: null }
  if (sharedByLimit[kind].size < LIMITS_KEPT_MAX) sharedByLimit[kind].set(limit, shared)
  return shared
}

function setOfKind(headers: Headers, kind: keyof typeof OF_KIND): void {
  for (const [name, value] of Object.entries<string | null>(OF_KIND[kind]))
    if (value === null) headers.delete(name)
    else headers.set(name, value)
}

/** A refusal as a response. Takes ownership of `headers`. @param request left out if the body need not name its trace */
export function problemAnswer(
  problem: Problem,
  requestId: string,
  headers: Headers,
  request?: Pick<Request, 'headers'>,
): Response {
  if (problem.retryAfterS !== null) headers.set('Retry-After', String(problem.retryAfterS))
  if (problem.status === 401) headers.set('WWW-Authenticate', 'Bearer')
  // Failures are looked up in traces; refusals explain themselves.
  const ids = request !== undefined && problem.status >= 500 ? { requestId, ...traceIdIn(request) } : { requestId }
  return new Response(problemBody(problem, ids), { status: problem.status, headers })
}

/** Is only between processes of the service. */
const NO_ANSWER_HEADER = 'X-Nightledger-No-Answer'

/** An answer that never arrives: the connection is closed before its first byte. */
export function noAnswer(): Response {
  const cut = new ReadableStream({
    pull(controller) {
      controller.error(new Error('Closed a connection without an answer'))
    },
  })
  return new Response(cut, { status: 201, headers: { [NO_ANSWER_HEADER]: 'true' } })
}

/** Whether it is one that never arrives, or says that the answer is one. */
export function isNoAnswer({ headers }: Response): boolean {
  return headers.has(NO_ANSWER_HEADER)
}

/** Says to a process that has forwarded the request that its client is to get no answer: a connection that breaks is no reason not to ask again. */
export function noAnswerNotice(): Response {
  return new Response(null, { status: 201, headers: { [NO_ANSWER_HEADER]: 'true' } })
}

/**
 * Entity tags (RFC 9110, sections 8.8.3 and 13.1): made, and read from `If-None-Match` and `If-Match`.
 *
 * A tag is a hash of what an answer is made from, never of the answer: which one it is, and the versions of everything it
 * depends on. Versions count from the start of the process, so the hash has a seed that is drawn at every start: a tag of an
 * earlier process, and with it one of a history that was given up, is never valid. It also hides how busy other agencies are.
 *
 * X1: anybody may send these headers, without a key too; they are read in linear time.
 */

export class EntityTags {
  readonly #seed: bigint

  /** @param seed 64 bits, drawn at random for each process */
  constructor(seed: bigint) {
    this.#seed = seed
  }

  /**
   * The tag of an answer, with its quotes.
   * @param source the route, everything that the caller asked, and the versions of what it is answered from, so that no two
   *   different answers have the same text
   */
  of(source: string): string {
    return `"${this.partOf(source)}"`
  }

  /** A part of a tag that has something else in it too: letters and digits, without quotes. As for `of` otherwise. */
  partOf(source: string): string {
    return Bun.hash.wyhash(source, this.#seed).toString(36)
  }
}

type IfMatch =
  | { readonly kind: 'any' }
  /** With their quotes, without `W/`. */
  | { readonly kind: 'tags'; readonly tags: readonly string[] }
  | { readonly kind: 'malformed' }

// A round takes the blanks before its comma and before its tag, never those after it: read in two ways, they cost exponential time.
const LIST =
  /^(?:[ \t]*,)*[ \t]*(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"(?:[ \t]*,(?:[ \t]*(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")?)*[ \t]*$/
const TAGS = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g

/**
 * Reads `If-Match`. A missing header is the same as `*` (docs/partner-additions.md#5-book-at-the-price-that-was-shown).
 * @param header null when it is missing; several headers come joined with a comma
 */
export function ifMatchOf(header: string | null): IfMatch {
  if (header === null || header.trim() === '*') return { kind: 'any' }
  if (!LIST.test(header)) return { kind: 'malformed' }
  return { kind: 'tags', tags: [...header.matchAll(TAGS)].map(([tag]) => withoutWeakness(tag)) }
}

/**
 * Whether `If-None-Match` holds the tag, so that the caller has the answer already
 * (docs/partner-additions.md#1-conditional-reads). A malformed header holds none.
 */
export function holdsTag(header: string | null, tag: string): boolean {
  if (header === null) return false
  // What nearly every client sends.
  if (header === tag) return true
  const held = ifMatchOf(header)
  return held.kind === 'any' || (held.kind === 'tags' && held.tags.includes(tag))
}

/** Proxies that compress an answer mark its tag as weak. */
function withoutWeakness(tag: string): string {
  return tag.startsWith('W/') ? tag.slice(2) : tag
}

/** A request that ended in 500, for the log. */
export interface FailureReport {
  readonly error: unknown
  readonly requestId: string
  readonly traceId?: string
  readonly route: string
  /** A broken invariant: the process must end. */
  readonly isBug: boolean
}

/**
 * What a handler returns: the JSON text of the operation's answer, with or without an entity tag, a whole answer, or a refusal. A refused
 * write is put into the audit trail before it is answered, unless it is there already (`recorded`).
 */
export type Outcome = string | Tagged | Response | Problem | RecordedRefusal | Replayed | Tried

/** An answer with its entity tag. */
export interface Tagged {
  readonly kind: 'tagged'
  readonly tag: string
  /** Null: the caller has it already, and gets 304. */
  readonly body: string | null
}

/** A refusal that is in the audit trail. */
export interface RecordedRefusal {
  readonly kind: 'refused'
  readonly problem: Problem
}

/** The first answer to a write, replayed to a request with the same `Idempotency-Key`. */
interface Replayed {
  readonly kind: 'replayed'
  readonly answer: { readonly status: number; readonly body: string }
}

/** The answer of a dry run. */
interface Tried {
  readonly kind: 'tried'
  readonly answer: { readonly status: 200; readonly body: string }
}

export function recorded(problem: Problem): RecordedRefusal {
  return { kind: 'refused', problem }
}

export function tagged(tag: string, body: string | null): Tagged {
  return { kind: 'tagged', tag, body }
}

/**
 * The answer to a conditional read (docs/partner-additions.md#1-conditional-reads).
 * @param write makes the body; not called when the caller has it already
 */
export function taggedUnlessHeld(request: Request, tag: string, write: () => string): Tagged {
  return tagged(tag, isHeld(request, tag) ? null : write())
}

/** Whether the caller has the answer with this tag already. */
export function isHeld(request: Request, tag: string): boolean {
  return holdsTag(request.headers.get('if-none-match'), tag)
}

export function isProblem(outcome: Outcome): outcome is Problem {
  return typeof outcome !== 'string' && 'code' in outcome
}

/** The length of the answer's text; 0 when it is short. */
export function charsOf(outcome: Outcome): number {
  if (typeof outcome === 'string') return outcome.length
  return 'kind' in outcome && outcome.kind === 'tagged' ? (outcome.body?.length ?? 0) : 0
}
