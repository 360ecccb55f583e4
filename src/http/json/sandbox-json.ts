/** The time of a sandbox, as partners and the portal read and move it. */

import { Type } from '@sinclair/typebox'
import { MOVE_DAYS_MAX, type Moved, type SandboxTime } from '../../accounts/sandbox-clocks.ts'
import { DAY_MS, parseInstant } from '../../lib/clock.ts'
import { invalid, invalidField, type Problem } from '../problems.ts'
import { choice, timestampText } from '../text-schema.ts'
import { timestampOf } from './booking-json.ts'

const SECONDS_MAX = (MOVE_DAYS_MAX * DAY_MS) / 1_000

export const SandboxTimeJson = Type.Object({
  now: Type.String({ format: 'date-time', description: 'The time of the sandbox. It stands still until it is moved.' }),
  status: choice(['ready', 'advancing'], {
    description: '`advancing`: a move is under way, and `now` is how far it has come.',
  }),
})

export const MOVE_BODY = Type.Object({
  now: Type.Optional(timestampText('The new time. It must not be before the present one.')),
  advanceSeconds: Type.Optional(
    Type.Integer({ minimum: 1, maximum: SECONDS_MAX, description: 'Seconds to move ahead, instead of `now`.' }),
  ),
})

export function sandboxTimeJson({ now, status }: SandboxTime) {
  return { now: timestampOf(now), status }
}

/** Where a body that has passed the schema moves the time to, or why it is refused. */
export function moveOf(body: { now?: string; advanceSeconds?: number }): { at: number } | { byMs: number } | Problem {
  const { now, advanceSeconds } = body
  if ((now === undefined) === (advanceSeconds === undefined))
    return invalid([{ field: 'now', message: 'Exactly one of now and advanceSeconds must be given' }])
  if (advanceSeconds !== undefined) return { byMs: advanceSeconds * 1_000 }
  const at = now === undefined ? null : parseInstant(now)
  return at === null ? invalidField('now', 'must be a timestamp with an offset, such as 2027-03-01T12:00:00Z') : { at }
}

/** Why the time cannot be moved there; null if it is moved. */
export function refusalOfMove(moved: Moved): Problem | null {
  if (!('refused' in moved)) return null
  const from = timestampOf(moved.from)
  return moved.refused === 'backwards'
    ? invalidField('now', `must not be before the time of the sandbox, ${from}: it only moves ahead`)
    : invalidField('now', `must be at most ${MOVE_DAYS_MAX} days after the time of the sandbox, ${from}`)
}
