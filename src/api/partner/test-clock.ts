import { type ClockView, clockView, MOVE_DAYS_MAX } from '../../core/bookings/sandbox-clocks.ts'
import type { Agency } from '../../core/catalogue/agency.ts'
import type { SandboxClock } from '../../core/catalogue/agency-time.ts'
import { ClockJson, clockJson, MOVE_BODY, moveOf } from '../../http/json/clock-json.ts'
import type { Operation } from '../../http/operation.ts'
import { invalidField, problem } from '../../http/problems.ts'
import { recordedRefusal, writeOnce } from './booking-writes.ts'
import { partnerRoute } from './partner-route.ts'

const LIVE_KEY = 'Only the keys of a sandbox (`hr_test_`) have a clock: 403 `FEATURE_DISABLED` for any other.'

const GET_CLOCK = {
  id: 'getTestClock',
  method: 'GET',
  path: '/partner/v1/test/clock',
  tag: 'Sandbox',
  summary: "Get the sandbox's clock",
  description: `The time of the sandbox, which stands until it is moved. ${LIVE_KEY}`,
  scope: 'read:availability',
  answer: { status: 200, description: 'The clock.', schema: ClockJson },
} as const satisfies Operation

const MOVE_CLOCK = {
  id: 'moveTestClock',
  method: 'POST',
  path: '/partner/v1/test/clock',
  tag: 'Sandbox',
  summary: "Move the sandbox's clock forward",
  description:
    'On the way holds lapse, stored answers expire and webhook attempts fall due, each at its own moment and in order. A clock only goes ' +
    `forward, at most ${MOVE_DAYS_MAX} days per request. While it is advancing, another request moves it on from where it is already going. ` +
    LIVE_KEY,
  scope: 'write:bookings',
  body: MOVE_BODY,
  bodyExample: { advanceSeconds: 86_400 },
  answer: {
    status: 202,
    description: 'The clock when the request was accepted. Ask until it is `ready`.',
    schema: ClockJson,
  },
  problems: ['VALIDATION', 'IDEMPOTENCY_KEY_REUSED'],
} as const satisfies Operation

/** The answer to a key of a live agency. */
export const NO_SANDBOX = problem(
  'FEATURE_DISABLED',
  'This exists in a sandbox only: use one of its keys, which begin with hr_test_',
  {},
)

export const TEST_CLOCK = [
  partnerRoute(GET_CLOCK, ({ agency }) => (hasClock(agency) ? clockText(clockView(agency.clock)) : NO_SANDBOX)),
  partnerRoute(MOVE_CLOCK, (call) => {
    const { ledger, agency, caller, body } = call
    if (!hasClock(agency)) return NO_SANDBOX
    const move = moveOf(body)
    if ('code' in move) return move
    const answer = {
      status: 202,
      canonicalBody: () => JSON.stringify(move),
      textOf: ({ clock }: { readonly clock: ClockView }) => clockText(clock),
    }
    return writeOnce<{ readonly kind: 'done'; readonly clock: ClockView }>(call, answer, async (keep) => {
      const kept = keep && ((clock: ClockView) => ({ ...keep(clockText(clock)), agencyId: agency.id }))
      const outcome = await ledger.sandboxClocks.move(agency, move, caller, kept)
      return outcome.kind === 'done' ? outcome : recordedRefusal(call, invalidField(outcome.field, outcome.message))
    })
  }),
]

function hasClock(agency: Agency): agency is Agency & { readonly clock: SandboxClock } {
  return agency.clock !== undefined
}

function clockText(clock: ClockView): string {
  return JSON.stringify(clockJson(clock))
}
