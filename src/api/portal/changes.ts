import { Type } from '@sinclair/typebox'
import { WAITING_PER_AGENCY_MAX, WAITING_PER_KEY_MAX } from '../../events/changes/waiting-places.ts'
import {
  answerChanges,
  CHANGES_QUERY,
  CURSOR,
  charsOf,
  EVENT_STREAM,
  isStreamAccepted,
  LIMIT_MAX,
} from '../../http/change-requests.ts'
import { AgencyChangeJson } from './agency-change-text.ts'
import type { PortalOperation } from './portal-operation.ts'
import { AGENCY_PATH, agencyRoute } from './portal-route.ts'

const LIST_CHANGES = {
  id: 'listChanges',
  role: 'viewer',
  method: 'GET',
  path: `${AGENCY_PATH}/changes`,
  tag: 'Bookings',
  summary: 'List changes of bookings, units and rates, without gaps',
  description:
    'Every change of a booking, a unit or its rates in one order, including those that partners do not see: lifetimes of holds, expected ' +
    'extensions. A booking is shown as after the change, with its current guest and notes. With `wait`, the answer comes as ' +
    'soon as there is a change. With `Accept: text/event-stream` the same changes come as server-sent events: `id` is the cursor, ' +
    '`event` the kind, `data` the change; the header `Last-Event-ID` takes precedence over `after`. A token can have ' +
    `${WAITING_PER_KEY_MAX} waiting requests and streams, and an agency ${WAITING_PER_AGENCY_MAX}, its API keys included. Cursors of the partner API are not accepted here, nor vice versa.`,
  isAutomatic: true,
  query: CHANGES_QUERY,
  answer: {
    status: 200,
    description: 'The changes after the cursor.',
    schema: Type.Object({
      changes: Type.Array(AgencyChangeJson, { maxItems: LIMIT_MAX, description: 'In the order of `seq`.' }),
      cursor: CURSOR,
      hasMore: Type.Boolean({ description: 'There are more changes already: ask again without waiting.' }),
    }),
    stream: EVENT_STREAM,
  },
  problems: ['CURSOR_EXPIRED'],
} as const satisfies PortalOperation

/** All tokens of the operator share his places. */
const OPERATOR = 'operator'

export const CHANGES = [
  agencyRoute(LIST_CHANGES, ({ ledger, access, request, identity, query, agency, stream }) =>
    answerChanges({
      feed: ledger.changes,
      request,
      query,
      of: identity.kind === 'person' ? 'person' : 'access token',
      reader: {
        agencyId: agency.id,
        ownerId: identity.kind === 'operator' ? OPERATOR : agency.id,
        keyId: identity.kind === 'operator' ? OPERATOR : identity.member.id,
        sessionId: identity.session?.sha256 ?? null,
        isServed: () => access.readmit(identity) !== null,
      },
      render: async (changes) => {
        const rendered = await ledger.changeTexts.render(agency.id, changes)
        // A list is taken from the budget as any answer is; a stream ends too late for that.
        if (isStreamAccepted(request)) await access.takeAnswer(identity, charsOf(rendered))
        return rendered
      },
      stream: stream(),
    }),
  ),
]
