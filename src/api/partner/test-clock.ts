import { Type } from '@sinclair/typebox'
import { type ClockMove, type ClockView, clockView, MOVE_DAYS_MAX } from '../../core/bookings/sandbox-clocks.ts'
import type { Agency } from '../../core/catalogue/agency.ts'
import type { SandboxClock } from '../../core/catalogue/agency-time.ts'
import { timestampOf } from '../../http/json/booking-json.ts'
import type { BodyOf, Operation } from '../../http/operation.ts'
import { invalidField, type Problem, problem } from '../../http/problems.ts'
import { choice, timestampText } from '../../http/text-schema.ts'
import { DAY_MS, parseInstant } from '../../lib/clock.ts'
import { recordedRefusal, writeOnce } from './booking-writes.ts'
import { partnerRoute } from './partner-route.ts'

const CLOCK = Type.Object(
  {
    now: Type.String({ format: 'date-time', description: 'What the clock shows.' }),
    status: choice(['ready', 'advancing'], {
      description:
        '`advancing`: what happens up to the requested time is still being worked off. `ready`: all of it has happened.',
    }),
  },
  { $id: 'TestClock' },
)

const LIVE_KEY = 'Only the keys of a sandbox (`hr_test_`) have a clock: 403 `FEATURE_DISABLED` for any other.'

const GET_CLOCK = {
  id: 'getTestClock',
  method: 'GET',
  path: '/partner/v1/test/clock',
  tag: 'Sandbox',
  summary: "Get the sandbox's clock",
  description: `The time of the sandbox, which stands until it is moved. ${LIVE_KEY}`,
  scope: 'read:availability',
  answer: { status: 200, description: 'The clock.', schema: CLOCK },
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
  body: Type.Object({
    now: Type.Optional(timestampText('Where to move the clock. Either this or `advanceSeconds`.')),
    advanceSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: (MOVE_DAYS_MAX * DAY_MS) / 1_000,
        description: 'How far to move it, counted from where it is already going.',
      }),
    ),
  }),
  bodyExample: { advanceSeconds: 86_400 },
  answer: {
    status: 202,
    description: 'The clock when the request was accepted. Ask until it is `ready`.',
    schema: CLOCK,
  },
  problems: ['VALIDATION', 'IDEMPOTENCY_KEY_REUSED'],
} as const satisfies Operation

const NO_SANDBOX = problem(
  'FEATURE_DISABLED',
  'Only a sandbox has a clock: use one of its keys, which begin with hr_test_',
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

function moveOf({ now, advanceSeconds }: BodyOf<typeof MOVE_CLOCK>): ClockMove | Problem {
  if ((now === undefined) === (advanceSeconds === undefined))
    return invalidField('now', 'or advanceSeconds is required, and not both')
  if (advanceSeconds !== undefined) return { advanceSeconds }
  const at = parseInstant(now ?? '')
  return at === null ? invalidField('now', 'must be a date and time with an offset from UTC') : { now: at }
}

function clockText({ now, status }: ClockView): string {
  return JSON.stringify({ now: timestampOf(now), status })
}
