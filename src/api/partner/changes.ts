import { Type } from '@sinclair/typebox'
import type { Admission } from '../../access/partner-access.ts'
import { WAITING_PER_KEY_MAX } from '../../changes/waiting-places.ts'
import { rateHeaders } from '../http/answer.ts'
import { EVENT_DATA, EVENT_MEMBERS } from '../openapi/webhooks.ts'
import { type Operation, routeNameOf } from '../operation.ts'
import { failureOf } from '../problems/problem-of.ts'
import {
  answerChanges,
  CHANGES_QUERY,
  type ChangesQuery,
  CURSOR,
  charsOf,
  EVENT_STREAM,
  isStreamAccepted,
  LIMIT_MAX,
} from '../route/change-requests.ts'
import { KeyAdmission } from '../route/key-admission.ts'
import type { Open } from '../route/route.ts'
import { type DescribedRoute, isProblem, type Outcome, served } from '../route/route.ts'
import type { PartnerDependencies } from './partner-route.ts'

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
  query: CHANGES_QUERY,
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
export const CHANGES: readonly DescribedRoute<PartnerDependencies, typeof LIST_CHANGES>[] = [
  {
    operation: LIST_CHANGES,
    serve: ({ ledger, requestStats, onFailure }) => {
      const { clock, newId, changes: feed, access, usage } = ledger
      const serving = { operation: LIST_CHANGES, surface: 'partner', requestStats, newId, onFailure } as const
      const route = routeNameOf(LIST_CHANGES)

      async function answer(open: Open<Admission>, query: ChangesQuery): Promise<Outcome> {
        const { request, requestId, admission } = open
        const { holder } = admission
        const outcome = await answerChanges({
          ...{ feed, request, query, open, of: 'key' },
          reader: { agencyId: holder.agency.id, keyId: holder.key.id, isServed: () => access.isServed(holder) },
          render: async (changes) => {
            // A list is taken when it is answered; a stream ends too late for that.
            if (isStreamAccepted(request)) await access.takeAnswer(holder.agency.id, charsOf(changes))
            return changes
          },
          headers: () => rateHeaders(requestId, admission.rate, clock.now()),
          onFailure: (error) =>
            onFailure({ error, requestId, route, isBug: failureOf(error, { isWrite: false }).isBug }),
        })
        // A request that is refused with 429 costs no quota (docs/design.md#order-of-checks).
        if (isProblem(outcome) && outcome.code === 'RATE_LIMITED') usage.giveBack(holder.agency.id)
        return outcome
      }

      return served(serving, new KeyAdmission(ledger, LIST_CHANGES.scope), (open, _path, query) =>
        answer(open, query as ChangesQuery),
      )
    },
  },
]
