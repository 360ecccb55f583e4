import { Type } from '@sinclair/typebox'
import { UNIT_EVENTS, type UnitEventKind } from '../../core/domain/booking.ts'
import { WAITING_PER_KEY_MAX } from '../../events/changes/waiting-places.ts'
import { isProblem } from '../../http/answer.ts'
import {
  answerChanges,
  CHANGES_QUERY,
  CURSOR,
  charsOf,
  EVENT_STREAM,
  isStreamAccepted,
  LIMIT_MAX,
} from '../../http/change-requests.ts'
import { changeSchema } from '../../http/openapi/webhooks.ts'
import type { Operation } from '../../http/operation.ts'
import { choice } from '../../http/text-schema.ts'
import { partnerRoute } from './partner-route.ts'

const LIST_CHANGES = {
  id: 'listChanges',
  method: 'GET',
  path: '/partner/v1/changes',
  isLarge: true,
  tag: 'Events',
  summary: 'List changes to bookings, and to rates and units, without gaps',
  description:
    'Every booking change of the agency in one order: exactly the webhook events. `include` adds changes to rates and units. A change ' +
    'is returned to every reader whose cursor is before it. With `wait`, the answer comes as soon as there is a change. With `Accept: text/event-stream` ' +
    'the same changes come as server-sent events: `id` is the cursor, `event` the kind, `data` the change; the header `Last-Event-ID` ' +
    `takes precedence over \`after\`. A key can have ${WAITING_PER_KEY_MAX} waiting requests and streams.`,
  scope: 'read:bookings',
  scopesWith: { parameter: 'include', scopes: { rates: 'read:rates', units: 'read:units' } },
  query: Type.Object({
    ...CHANGES_QUERY.properties,
    include: Type.Optional(
      choice(['rates', 'units', 'rates,units', 'units,rates'], {
        description:
          '`rates`, `units` or both, separated by a comma. `rates` adds `rates.updated` and also needs the scope `read:rates`; `units` ' +
          'adds `unit.updated` and also needs `read:units`. A cursor can be used with and without `include`.',
      }),
    ),
  }),
  answer: {
    status: 200,
    description: 'The changes after the cursor.',
    schema: Type.Object({
      changes: Type.Array(changeSchema(CURSOR), { maxItems: LIMIT_MAX, description: 'In the order of `seq`.' }),
      cursor: CURSOR,
      hasMore: Type.Boolean({ description: 'There are more changes already: ask again without waiting.' }),
    }),
    stream: EVENT_STREAM,
  },
  problems: ['VALIDATION', 'CURSOR_EXPIRED'],
} as const satisfies Operation

export const CHANGES = [
  partnerRoute(LIST_CHANGES, async ({ ledger, request, query, agency, key, stream }) => {
    const { changes: feed, access, usage } = ledger
    const outcome = await answerChanges({
      feed,
      request,
      query,
      of: 'key',
      reader: {
        agencyId: agency.id,
        include: includedIn(query.include),
        keyId: key.id,
        isServed: () => access.isServed({ agency, key }),
      },
      render: async (changes) => {
        // A list is taken when it is answered; a stream ends too late for that.
        if (isStreamAccepted(request)) await access.takeAnswer(agency.id, charsOf(changes))
        return changes
      },
      stream: stream(),
    })
    // A request that is refused with 429 costs no quota (docs/design.md#order-of-checks).
    if (isProblem(outcome) && outcome.code === 'RATE_LIMITED') usage.giveBack(agency.id)
    return outcome
  }),
]

const INCLUDED_BY = { 'rates.updated': 'rates', 'unit.updated': 'units' } as const satisfies Record<
  UnitEventKind,
  string
>
const NOTHING: readonly UnitEventKind[] = []

function includedIn(list: string | undefined): readonly UnitEventKind[] {
  if (list === undefined) return NOTHING
  const names = list.split(',')
  return UNIT_EVENTS.filter((event) => names.includes(INCLUDED_BY[event]))
}
