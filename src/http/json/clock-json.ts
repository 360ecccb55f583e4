/** The clock of a sandbox, as partners and the portal read and move it. */

import { type Static, Type } from '@sinclair/typebox'
import { type ClockMove, type ClockView, MOVE_DAYS_MAX } from '../../core/bookings/sandbox-clocks.ts'
import { DAY_MS, parseInstant } from '../../lib/clock.ts'
import { invalidField, type Problem } from '../problems.ts'
import { choice, timestampText } from '../text-schema.ts'
import { timestampOf } from './booking-json.ts'

export const ClockJson = Type.Object(
  {
    now: Type.String({ format: 'date-time', description: 'What the clock shows.' }),
    status: choice(['ready', 'advancing'], {
      description:
        '`advancing`: what happens up to the requested time is still being worked off. `ready`: all of it has happened.',
    }),
  },
  { $id: 'TestClock' },
)

export const MOVE_BODY = Type.Object({
  now: Type.Optional(timestampText('Where to move the clock. Either this or `advanceSeconds`.')),
  advanceSeconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: (MOVE_DAYS_MAX * DAY_MS) / 1_000,
      description: 'How far to move it, counted from where it is already going.',
    }),
  ),
})

/** Where the body asks the clock to go, or why it is refused. */
export function moveOf({ now, advanceSeconds }: Static<typeof MOVE_BODY>): ClockMove | Problem {
  if ((now === undefined) === (advanceSeconds === undefined))
    return invalidField('now', 'or advanceSeconds is required, and not both')
  if (advanceSeconds !== undefined) return { advanceSeconds }
  const at = parseInstant(now ?? '')
  return at === null ? invalidField('now', 'must be a date and time with an offset from UTC') : { now: at }
}

export function clockJson({ now, status }: ClockView): Static<typeof ClockJson> {
  return { now: timestampOf(now), status }
}
