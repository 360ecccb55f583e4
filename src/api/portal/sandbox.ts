import { type Static, Type } from '@sinclair/typebox'
import { clockView } from '../../core/bookings/sandbox-clocks.ts'
import type { Agency } from '../../core/catalogue/agency.ts'
import { timestampOrNull } from '../../http/json/booking-json.ts'
import { ClockJson, clockJson, MOVE_BODY, moveOf } from '../../http/json/clock-json.ts'
import { invalidField, notFound } from '../../http/problems.ts'
import { nullable } from '../../http/text-schema.ts'
import { AgencyJson, agencyJson } from './agencies.ts'
import type { PortalOperation } from './portal-operation.ts'
import { AGENCY_PATH, type AgencyCall, agencyRoute, settled } from './portal-route.ts'

const SANDBOX_PATH = `${AGENCY_PATH}/sandbox` as const

const sandboxAnswer = { description: 'The sandbox, an agency of its own.', schema: Type.Object({ agency: AgencyJson }) }

const WhereJson = Type.Object({
  agency: AgencyJson,
  clock: Type.Composite([
    Type.Omit(ClockJson, []),
    Type.Object({
      nextAt: nullable(
        Type.String({
          format: 'date-time',
          description: 'When the next hold expires or the next failed webhook is sent again; null when nothing waits.',
        }),
      ),
    }),
  ]),
})

const GET_SANDBOX = {
  id: 'getSandbox',
  role: 'owner',
  method: 'GET',
  path: SANDBOX_PATH,
  tag: 'Sandbox',
  summary: 'Get the sandbox of the agency, and its time',
  answer: { status: 200, description: 'The sandbox.', schema: WhereJson },
} as const satisfies PortalOperation

const CREATE_SANDBOX = {
  id: 'createSandbox',
  role: 'owner',
  method: 'POST',
  path: SANDBOX_PATH,
  tag: 'Sandbox',
  summary: 'Make the sandbox of the agency',
  description:
    'An agency of its own, for partners to try everything: with copies of the units, rates, fees and restrictions, and with invented ' +
    'guests and stays. Its keys begin with `hr_test_`. Owners open its paths with their own access.',
  answer: { status: 201, ...sandboxAnswer },
  problems: ['SANDBOX_EXISTS'],
} as const satisfies PortalOperation

const RESET_SANDBOX = {
  id: 'resetSandbox',
  role: 'owner',
  method: 'POST',
  path: `${SANDBOX_PATH}/reset`,
  tag: 'Sandbox',
  summary: 'Make the sandbox new',
  description:
    'Copies the units, rates, fees and restrictions again, and sets the time to the present one. Keys and webhook endpoints survive; stays, ' +
    'guests and the feed of changes do not.',
  answer: { status: 200, ...sandboxAnswer },
} as const satisfies PortalOperation

const DELETE_SANDBOX = {
  id: 'deleteSandbox',
  role: 'owner',
  method: 'DELETE',
  path: SANDBOX_PATH,
  tag: 'Sandbox',
  summary: 'Delete the sandbox with its keys and webhook endpoints',
  answer: { status: 200, ...sandboxAnswer },
} as const satisfies PortalOperation

const MOVE_CLOCK = {
  id: 'moveSandboxClock',
  role: 'owner',
  method: 'POST',
  path: `${SANDBOX_PATH}/clock`,
  tag: 'Sandbox',
  summary: 'Move the time of the sandbox ahead',
  body: MOVE_BODY,
  bodyExample: { advanceSeconds: 3_600 },
  answer: { status: 202, description: 'The move has begun.', schema: ClockJson },
} as const satisfies PortalOperation

const shown = (agency: Agency) => ({ agency: agencyJson(agency) })

/** A sandbox has another id after a reset, and none once it is deleted: a repetition is found by the live agency. */
const BY_LIVE_AGENCY = {
  scope: ({ ledger, agency }: Pick<AgencyCall<PortalOperation>, 'ledger' | 'agency'>) =>
    ledger.sandboxes.liveOf(agency),
}

export const SANDBOX = [
  agencyRoute(GET_SANDBOX, async ({ ledger, agency }) => {
    const sandbox = ledger.sandboxes.of(agency)
    if (sandbox === null) return notFound('sandbox')
    const nextAt = timestampOrNull(await ledger.sandboxes.nextMoment(sandbox))
    const clock = { ...clockJson(clockView(sandbox.clock)), nextAt }
    return JSON.stringify({ ...shown(sandbox), clock } satisfies Static<typeof WhereJson>)
  }),
  agencyRoute(
    CREATE_SANDBOX,
    async ({ ledger, agency, caller, keep }) =>
      settled(await ledger.sandboxes.make(agency, caller, keep.of(shown), keep.request), 'sandbox', shown),
    BY_LIVE_AGENCY,
  ),
  agencyRoute(
    RESET_SANDBOX,
    async ({ ledger, agency, caller, keep }) =>
      settled(await ledger.sandboxes.reset(agency, caller, keep.of(shown)), 'sandbox', shown),
    BY_LIVE_AGENCY,
  ),
  agencyRoute(
    DELETE_SANDBOX,
    async ({ ledger, agency, caller, keep }) =>
      settled(await ledger.sandboxes.remove(agency, caller, keep.of(shown)), 'sandbox', shown),
    BY_LIVE_AGENCY,
  ),
  agencyRoute(MOVE_CLOCK, async ({ ledger, agency, caller, body, keep }) => {
    const move = moveOf(body)
    if ('code' in move) return move
    const outcome = await ledger.sandboxes.write(agency, (sandbox) =>
      ledger.sandboxClocks.move(sandbox, move, caller, keep.of(clockJson)),
    )
    if (outcome === null) return notFound('sandbox')
    return outcome.kind === 'done'
      ? JSON.stringify(clockJson(outcome.clock))
      : invalidField(outcome.field, outcome.message)
  }),
]
