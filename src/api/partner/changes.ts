import { Type } from '@sinclair/typebox'
import type { Admission } from '../../access/partner-access.ts'
import { type AskedChanges, FROM_START, type NoChanges } from '../../changes/change-feed.ts'
import { pageText } from '../../changes/change-page.ts'
import { WAITING_MAX, WAITING_PER_KEY_MAX } from '../../changes/waiting-places.ts'
import { rateHeaders } from '../http/answer.ts'
import { EVENT_DATA, EVENT_MEMBERS } from '../openapi/webhooks.ts'
import type { Operation, QueryOf } from '../operation.ts'
import { failureOf } from '../problems/problem-of-failure.ts'
import { invalidField, type Problem, problem } from '../problems/problems.ts'
import type { Open } from '../route/admission.ts'
import { KeyAdmission } from '../route/key-admission.ts'
import type { Outcome } from '../route/outcome.ts'
import { type DescribedRoute, served } from '../route/route.ts'
import { text } from '../schema/text-schema.ts'
import { EVENT_STREAM, eventStream, isStreamAccepted } from './change-stream.ts'
import type { PartnerDependencies } from './partner-dependencies.ts'

const LIMIT_MAX = 500
const LIMIT_DEFAULT = 100
const WAIT_S_MAX = 20

const CURSOR = Type.String({ description: 'Opaque. Reading goes on after it.' })

const LIST_CHANGES = {
  id: 'listChanges',
  method: 'GET',
  path: '/partner/v1/changes',
  tag: 'Events',
  summary: 'List booking changes, without gaps',
  description:
    'Every booking change of the agency in one order: exactly the webhook events. A change that was returned is returned again to ' +
    'everyone who asks from before it. With `wait`, the answer comes as soon as there is a change. With `Accept: text/event-stream` ' +
    'the same changes come as server-sent events: `id` is the cursor, `event` the kind, `data` the change; the header `Last-Event-ID` ' +
    `takes precedence over \`after\`. A key can have ${WAITING_PER_KEY_MAX} waiting requests and streams.`,
  scope: 'read:bookings',
  query: Type.Object({
    after: Type.Optional(
      text({
        description: `A cursor from an earlier answer; \`${FROM_START}\`: from the beginning. Left out: no changes, only today's end.`,
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
        ...{ minimum: 0, maximum: WAIT_S_MAX, default: 0 },
        description: 'Seconds to wait when there is no change yet. Ignored without `after`.',
      }),
    ),
  }),
  answer: {
    status: 200,
    description: 'The changes after the cursor.',
    schema: Type.Object({
      changes: Type.Array(Type.Object({ cursor: CURSOR, ...EVENT_MEMBERS, data: EVENT_DATA }, { $id: 'Change' }), {
        maxItems: LIMIT_MAX,
        description: 'In the order of `seq`.',
      }),
      cursor: CURSOR,
      hasMore: Type.Boolean({ description: 'There are more changes already: ask again without waiting.' }),
    }),
    stream: EVENT_STREAM,
  },
  problems: ['VALIDATION', 'CURSOR_EXPIRED'],
} as const satisfies Operation

/** Not made with `partnerRoute`: a stream is an answer of its own, and may fail after it has begun. */
export const CHANGES: readonly DescribedRoute<PartnerDependencies>[] = [
  {
    operation: LIST_CHANGES,
    serve: ({ ledger, requestStats, onFailure }) => {
      const { clock, newId, changes, access, usage } = ledger
      const serving = { operation: LIST_CHANGES, surface: 'partner', requestStats, newId, onFailure } as const

      async function list(open: Open<Admission>, { after, limit, wait = 0 }: Query): Promise<Outcome> {
        const page = await changes.page({ ...asked(open, after, limit), waitMs: wait * 1_000 })
        return 'kind' in page ? refusal(page, open, 'after') : pageText(page)
      }

      async function stream(open: Open<Admission>, { after, limit }: Query): Promise<Outcome> {
        // Clients send an empty id when they have none.
        const lastId = open.request.headers.get('last-event-id') || null
        const opened = await changes.stream(asked(open, lastId ?? after, limit))
        if ('kind' in opened) return refusal(opened, open, lastId === null ? 'after' : 'Last-Event-ID')
        const { requestId, admission } = open
        const headers = rateHeaders(requestId, admission.rate, clock.now())
        headers.set('Content-Type', 'text/event-stream')
        const route = `${LIST_CHANGES.method} ${LIST_CHANGES.path}`
        const failed = (error: unknown) =>
          onFailure({ error, requestId, route, isBug: failureOf(error, { isWrite: false }).isBug })
        return new Response(eventStream(opened, failed), { headers })
      }

      function asked(open: Open<Admission>, after: string | undefined, limit = LIMIT_DEFAULT): AskedChanges {
        const { holder } = open.admission
        return {
          ...{ agencyId: holder.agency.id, keyId: holder.key.id, after: after ?? null, limit },
          isServed: () => access.isServed(holder),
          signal: open.request.signal,
          onWaited: (ms) => {
            open.waitedMs = (open.waitedMs ?? 0) + ms
          },
        }
      }

      function refusal({ kind }: NoChanges, open: Open<Admission>, field: string): Problem {
        // A request that is refused with 429 costs no quota (docs/design.md#order-of-checks).
        if (kind === 'key_full') usage.giveBack(open.admission.holder.agency.id)
        return kind === 'malformed' ? invalidField(field, CURSOR_EXPECTED) : PROBLEM_OF[kind]
      }

      return served(serving, new KeyAdmission(ledger, LIST_CHANGES.scope), (open, _path, query) =>
        isStreamAccepted(open.request) ? stream(open, query as Query) : list(open, query as Query),
      )
    },
  },
]

type Query = QueryOf<typeof LIST_CHANGES>

const CURSOR_EXPECTED = `must be a cursor from an earlier answer to this agency, or ${FROM_START}`

const PROBLEM_OF = {
  expired: problem(
    'CURSOR_EXPIRED',
    'The changes after this cursor are no longer kept: get a new cursor without after, then read the bookings again',
    {},
  ),
  key_full: problem(
    'RATE_LIMITED',
    `This key already has ${WAITING_PER_KEY_MAX} requests that wait for changes: let one end, then retry`,
    {},
    { retryAfterS: 1 },
  ),
  process_full: problem(
    'INTERNAL',
    `The service already has ${WAITING_MAX} requests that wait for changes. Try again`,
    {},
    { retryAfterS: 5 },
  ),
} as const satisfies Record<Exclude<NoChanges['kind'], 'malformed'>, Problem>
