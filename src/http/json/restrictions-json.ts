import { createHash } from 'node:crypto'
import { type Static, Type } from '@sinclair/typebox'
import { formatNight, type IsoWeekday, STAY_NIGHTS_MAX } from '../../core/domain/night.ts'
import {
  ADVANCE_NOTICE_HOURS_MAX,
  BOOKING_WINDOW_DAYS_MAX,
  DATE_RULES,
  NO_RESTRICTIONS,
  RESTRICTIONS_MAX,
  type Restrictions,
} from '../../core/domain/restrictions.ts'
import { choice, dateText, nullable } from '../text-schema.ts'
import { nightOf } from './request-fields.ts'

const VALUE = Type.Union([Type.Boolean(), Type.Integer({ minimum: 1, maximum: STAY_NIGHTS_MAX })], {
  description: '`true` or `false` for closedToArrival, closedToDeparture and stopSell; otherwise a number of nights.',
})
const ROW = {
  from: nullable(dateText('First date; null: no limit.')),
  to: nullable(dateText('The day after the last date; null: no limit.')),
  weekdays: nullable(
    Type.Array(Type.Integer({ minimum: 1, maximum: 7 }), {
      minItems: 1,
      maxItems: 7,
      description: '1 (Monday) to 7 (Sunday); null: all.',
    }),
  ),
}
const RULE = { rule: choice(DATE_RULES), value: VALUE }
const NOTICE = Type.Integer({
  minimum: 0,
  maximum: ADVANCE_NOTICE_HOURS_MAX,
  description: 'A stay must be booked at least this many hours before check-in on the arrival date; null: no limit.',
})
const WINDOW = Type.Integer({
  minimum: 1,
  maximum: BOOKING_WINDOW_DAYS_MAX,
  description: "An arrival can be at most this many days after today in the agency's time zone; null: no limit.",
})

export const RestrictionsJson = Type.Object(
  {
    restrictions: Type.Array(Type.Object({ ...ROW, ...RULE })),
    advanceNoticeHours: nullable(NOTICE),
    bookingWindowDays: nullable(WINDOW),
  },
  { $id: 'Restrictions' },
)

/** An omitted member is null or empty: PUT replaces all restrictions. */
export const NEW_RESTRICTIONS = Type.Object(
  {
    restrictions: Type.Optional(
      Type.Array(
        Type.Object({
          from: Type.Optional(ROW.from),
          to: Type.Optional(ROW.to),
          weekdays: Type.Optional(ROW.weekdays),
          ...RULE,
        }),
        { maxItems: RESTRICTIONS_MAX },
      ),
    ),
    advanceNoticeHours: Type.Optional(nullable(NOTICE)),
    bookingWindowDays: Type.Optional(nullable(WINDOW)),
  },
  { additionalProperties: false },
)

/** @param restrictions left out: none */
export function restrictionsJson(restrictions: Restrictions = NO_RESTRICTIONS): Static<typeof RestrictionsJson> {
  const { rows, advanceNoticeHours, bookingWindowDays } = restrictions
  return {
    restrictions: rows.map(({ from, to, weekdays, rule, value }) => ({
      from: from === null ? null : formatNight(from),
      to: to === null ? null : formatNight(to),
      weekdays: weekdays === null ? null : [...weekdays],
      rule,
      value,
    })),
    advanceNoticeHours,
    bookingWindowDays,
  }
}

/** Restrictions from a request body. `restrictionsProblems` finds what the schema cannot. */
export function restrictionsOf(body: Static<typeof NEW_RESTRICTIONS>): Restrictions {
  const { restrictions = [], advanceNoticeHours = null, bookingWindowDays = null } = body
  return {
    rows: restrictions.map(({ from = null, to = null, weekdays = null, rule, value }) => ({
      from: from === null ? null : nightOf(from),
      to: to === null ? null : nightOf(to),
      weekdays: weekdays === null ? null : (weekdays as IsoWeekday[]),
      rule,
      value,
    })),
    advanceNoticeHours,
    bookingWindowDays,
  }
}

/** 132 bits. */
const TAG_CHARS = 22

/** Made only from the restrictions, so it is still valid after a restart. Their order matters: later rows win. */
export function restrictionsTag(restrictions?: Restrictions): string {
  const text = JSON.stringify(restrictionsJson(restrictions))
  return `"${createHash('sha256').update(text).digest('base64url').slice(0, TAG_CHARS)}"`
}
