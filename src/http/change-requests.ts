/** What requests for changes have in common, whoever sends them: their query, their answers, their refusals. */

import { Type } from '@sinclair/typebox'
import {
  type ChangeFeed,
  type ChangeStream,
  type ChangesRequest,
  FROM_START,
  type NoChanges,
} from '../events/changes/change-feed.ts'
import { type Change, type ChangeInLog, type ChangePage, pageText } from '../events/changes/change-page.ts'
import { WAITING_MAX, WAITING_PER_AGENCY_MAX, WAITING_PER_KEY_MAX } from '../events/changes/waiting-places.ts'
import type { Outcome } from './answer.ts'
import type { QueryOf } from './operation.ts'
import { invalidField, type Problem, problem } from './problems.ts'
import type { StreamCall } from './route.ts'
import { text } from './text-schema.ts'

export const LIMIT_MAX = 500
const LIMIT_DEFAULT = 100
const WAIT_S_MAX = 20

export const CURSOR = Type.String({ description: 'Opaque cursor. Pass it as `after` to continue.' })

export const CHANGES_QUERY = Type.Object({
  after: Type.Optional(
    text({
      description: `A cursor from an earlier answer; \`${FROM_START}\`: from the beginning. If omitted: no changes, only the current end.`,
      examples: [FROM_START],
    }),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: LIMIT_MAX,
      default: LIMIT_DEFAULT,
      description: 'Changes per answer, at most.',
    }),
  ),
  wait: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: WAIT_S_MAX,
      default: 0,
      description: 'Seconds to wait when there is no change yet. Ignored without `after`.',
    }),
  ),
})

type ChangesQuery = QueryOf<{ readonly query: typeof CHANGES_QUERY }>

interface ChangeRequest<C extends ChangeInLog> {
  readonly feed: ChangeFeed<C>
  readonly request: Request
  readonly query: ChangesQuery
  /** Who reads, and what is included. */
  readonly reader: Pick<ChangesRequest, 'include' | 'agencyId' | 'ownerId' | 'keyId' | 'sessionId' | 'isServed'>
  /** What the reader's places are counted by. */
  readonly of: 'key' | 'access token' | 'person'
  readonly stream: StreamCall
  /** The changes as they are answered, in the same order. */
  render(changes: readonly C[]): readonly Change[] | Promise<readonly Change[]>
}

export function charsOf(changes: readonly Change[]): number {
  return changes.reduce((chars, { json }) => chars + json.length, 0)
}

/** The answer to a request for changes: a list, or a stream if that is what it accepts. */
export function answerChanges<C extends ChangeInLog>(params: ChangeRequest<C>): Promise<Outcome> {
  return isStreamAccepted(params.request) ? stream(params) : list(params)
}

async function list<C extends ChangeInLog>(params: ChangeRequest<C>): Promise<Outcome> {
  const { after, wait = 0 } = params.query
  const page = await params.feed.page({ ...changesRequest(params, after), waitMs: wait * 1_000 })
  return 'kind' in page ? refusal(page, params, 'after') : pageText(await rendered(params, page))
}

async function stream<C extends ChangeInLog>(params: ChangeRequest<C>): Promise<Outcome> {
  // Clients send an empty id when they have none.
  const lastId = params.request.headers.get('last-event-id') || null
  const opened = await params.feed.stream(changesRequest(params, lastId ?? params.query.after))
  if ('kind' in opened) return refusal(opened, params, lastId === null ? 'after' : 'Last-Event-ID')
  const { next, close } = opened
  try {
    const first = await rendered(params, opened.first)
    const headers = params.stream.headers()
    headers.set('Content-Type', 'text/event-stream')
    // nginx holds a response back until its buffer is full, and an idle agency's stream never fills it.
    headers.set('X-Accel-Buffering', 'no')
    const body = eventStream(
      {
        first,
        close,
        next: async () => {
          const page = await next()
          return page === null ? null : rendered(params, page)
        },
      },
      params.stream.onFailure,
    )
    return new Response(body, { headers })
  } catch (error) {
    close()
    throw error
  }
}

async function rendered<C extends ChangeInLog>(params: ChangeRequest<C>, page: ChangePage<C>): Promise<ChangePage> {
  return { ...page, changes: await params.render(page.changes) }
}

function changesRequest<C extends ChangeInLog>(params: ChangeRequest<C>, after: string | undefined): ChangesRequest {
  const { reader, request, stream, query } = params
  return {
    ...reader,
    after: after ?? null,
    limit: query.limit ?? LIMIT_DEFAULT,
    signal: request.signal,
    onWaited: (ms) => {
      stream.open.waitedMs = (stream.open.waitedMs ?? 0) + ms
    },
  }
}

function refusal<C extends ChangeInLog>({ kind }: NoChanges, { of }: ChangeRequest<C>, field: string): Problem {
  switch (kind) {
    case 'malformed':
      return invalidField(field, `must be a cursor from an earlier answer to this agency, or ${FROM_START}`)
    case 'expired':
      return EXPIRED
    case 'key_full':
      return FULL[of]
    case 'agency_full':
      return AGENCY_FULL
    case 'process_full':
      return PROCESS_FULL
  }
}

const EXPIRED = problem(
  'CURSOR_EXPIRED',
  'The changes after this cursor are no longer kept: get a new cursor without after, then read the bookings again',
  {},
)
const FULL = {
  key: full('key', WAITING_PER_KEY_MAX),
  'access token': full('access token', WAITING_PER_KEY_MAX),
  person: full('person', WAITING_PER_KEY_MAX),
} as const
const AGENCY_FULL = full('agency', WAITING_PER_AGENCY_MAX)
const PROCESS_FULL = problem(
  'INTERNAL',
  `The service already has ${WAITING_MAX} requests that wait for changes. Try again`,
  {},
  { retryAfterS: 5 },
)

function full(what: string, waitingMax: number): Problem {
  return problem(
    'RATE_LIMITED',
    `This ${what} already has ${waitingMax} requests that wait for changes: let one end, then retry`,
    {},
    { retryAfterS: 1 },
  )
}

/** The changes of an agency as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). */

export const EVENT_STREAM = {
  mediaType: 'text/event-stream',
  description: 'Server-sent events: `id` is the cursor, `event` the kind, `data` the change as JSON.',
} as const

/** A weight of 0: the media type is not accepted (RFC 9110, section 12.4.2). */
const NOT_ACCEPTED = /;[ \t]*q=0(?:\.0*)?[ \t]*(?:;|$)/

/** A client that takes JSON too gets JSON. Only media types that are named count, not ranges. */
export function isStreamAccepted({ headers }: Request): boolean {
  const accepted = (headers.get('accept') ?? '')
    .toLowerCase()
    .split(',')
    .flatMap((range) => (NOT_ACCEPTED.test(range) ? [] : (range.split(';')[0] ?? '').trim()))
  return accepted.includes(EVENT_STREAM.mediaType) && !accepted.includes('application/json')
}

/**
 * The body of a stream. It is written only as fast as the client reads; Bun closes the connection of one that has read nothing for
 * as long as any connection may be idle.
 * @param onFailure called once if reading fails. The body ends; the client connects again, with the id of the last event
 */
export function eventStream(stream: ChangeStream, onFailure: (error: unknown) => void): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let page: ChangePage | null = stream.first
  let isCancelled = false
  return new ReadableStream({
    start: (controller) => controller.enqueue(encoder.encode(eventsText(stream.first))),
    pull: async (controller) => {
      try {
        page = await stream.next()
      } catch (error) {
        page = null
        onFailure(error)
      }
      if (isCancelled) return
      if (page === null) {
        stream.close()
        controller.close()
      } else controller.enqueue(encoder.encode(eventsText(page)))
    },
    cancel: () => {
      isCancelled = true
      stream.close()
    },
  })
}

/**
 * An event for each change. A page without changes is a comment, and an id without data: no event happens, but the client has the id
 * when it connects again.
 */
function eventsText({ changes, cursor }: ChangePage): string {
  if (changes.length === 0) return `:\nid: ${cursor}\n\n`
  return changes.map(({ cursor, event, json }) => `id: ${cursor}\nevent: ${event}\ndata: ${json}\n\n`).join('')
}
