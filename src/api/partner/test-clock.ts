import { type Agency, isSandbox } from '../../core/catalogue/agency.ts'
import { MOVE_BODY, moveOf, refusalOfMove, SandboxTimeJson, sandboxTimeJson } from '../../http/json/sandbox-json.ts'
import type { Operation } from '../../http/operation.ts'
import { type Problem, problem } from '../../http/problems.ts'
import { partnerRoute } from './partner-route.ts'

const PATH = '/partner/v1/test/clock'

const GET_TEST_CLOCK = {
  id: 'getTestClock',
  method: 'GET',
  path: PATH,
  tag: 'Sandbox',
  summary: 'Get the time of the sandbox',
  scope: null,
  answer: { status: 200, description: 'The time of the sandbox.', schema: SandboxTimeJson },
  problems: ['SANDBOX_ONLY'],
} as const satisfies Operation

const MOVE_TEST_CLOCK = {
  id: 'moveTestClock',
  method: 'POST',
  path: PATH,
  tag: 'Sandbox',
  summary: 'Move the time of the sandbox ahead',
  description:
    'Holds expire, answers kept for an `Idempotency-Key` expire, restrictions by notice move, and failed webhooks are sent again, each at ' +
    'its own moment and in order. Ask for the time until `status` is `ready`. There is no way back; a reset of the sandbox sets the present time.',
  scope: 'write:bookings',
  body: MOVE_BODY,
  bodyExample: { advanceSeconds: 86_400 },
  answer: { status: 202, description: 'The move has begun.', schema: SandboxTimeJson },
  problems: ['VALIDATION', 'SANDBOX_ONLY'],
} as const satisfies Operation

export const SANDBOX_ONLY = problem(
  'SANDBOX_ONLY',
  'This exists in a sandbox only: use a key that begins with hr_test_',
  {},
)

/** Null in a sandbox. */
export function unlessSandbox(agency: Agency): Problem | null {
  return isSandbox(agency) ? null : SANDBOX_ONLY
}

export const TEST_CLOCK = [
  partnerRoute(GET_TEST_CLOCK, ({ ledger, agency }) => {
    return unlessSandbox(agency) ?? JSON.stringify(sandboxTimeJson(ledger.sandboxClocks.timeOf(agency)))
  }),
  partnerRoute(MOVE_TEST_CLOCK, async ({ ledger, agency, caller, body }) => {
    const to = moveOf(body)
    const refusal = unlessSandbox(agency) ?? ('code' in to ? to : null)
    if (refusal !== null || 'code' in to) return refusal ?? SANDBOX_ONLY
    const moved = await ledger.sandboxClocks.move(agency, to)
    if ('refused' in moved) return refusalOfMove(moved) ?? SANDBOX_ONLY
    await ledger.commands.auditSuccess(agency, caller)
    return JSON.stringify(sandboxTimeJson(moved))
  }),
]
