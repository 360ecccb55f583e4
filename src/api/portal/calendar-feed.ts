/** The iCalendar feed of a unit, for channels: under a secret address, and the routes that show and change that address. */
import { Type } from '@sinclair/typebox'
import type { Agency } from '../../core/catalogue/agency.ts'
import { timeOf } from '../../core/catalogue/agency-time.ts'
import { addNights, NIGHT_MAX, NIGHT_MIN, type Night, parseNight, STAY_NIGHTS_MAX } from '../../core/domain/night.ts'
import { BOOKING_WINDOW_DAYS_MAX } from '../../core/domain/restrictions.ts'
import type { Unit } from '../../core/domain/unit.ts'
import type { UnitState } from '../../core/domain/unit-state.ts'
import { calendarText } from '../../events/ical/calendar-text.ts'
import { plainHeaders, problemAnswer } from '../../http/answer.ts'
import { failureOf } from '../../http/problem-of.ts'
import { notFound, type Problem, problem } from '../../http/problems.ts'
import { targetOf } from '../../http/request.ts'
import type { Route } from '../../http/route.ts'
import { countedRoute } from '../../http/route.ts'
import { assert } from '../../lib/assert.ts'
import { dayOf } from '../../lib/clock.ts'
import { traceIdIn } from '../../lib/traceparent.ts'
import { CALENDARS_PER_UNIT_MAX, type CalendarOutcome, CalendarTexts } from './calendar-texts.ts'
import type { PortalDependencies, PortalLedger } from './portal-dependencies.ts'
import type { PortalOperation } from './portal-operation.ts'
import { agencyRoute } from './portal-route.ts'
import { UNIT_PATH } from './units.ts'

/** No channel needs runs of nights that ended longer ago than this. */
const PAST_NIGHTS = 31
/**
 * Nor which nights are not for sale further ahead: a rule for some weekdays without an end would be thousands of events. Booked nights, and
 * those of cleaning, are written however far ahead they are.
 */
const NOT_SOLD_NIGHTS = BOOKING_WINDOW_DAYS_MAX

const FeedJson = Type.Object(
  {
    unit: Type.String(),
    path: Type.String({ description: 'Path and query, to append to the public address of the service.' }),
    url: Type.String({ description: 'The full URL, based on the host name this request was sent to.' }),
  },
  { $id: 'CalendarFeed' },
)

const feedAnswer = {
  status: 200,
  description: "The secret address. Anyone who has it can read the unit's blocked nights, and nothing else.",
  schema: Type.Object({ calendarFeed: FeedJson }),
} as const

const GET_FEED = {
  id: 'getCalendarFeed',
  role: 'manager',
  method: 'GET',
  path: `${UNIT_PATH}/calendar-feed`,
  tag: 'Calendars',
  summary: "Get a unit's secret iCalendar address",
  answer: feedAnswer,
} as const satisfies PortalOperation

const CHANGE_FEED = {
  id: 'changeCalendarFeed',
  role: 'manager',
  method: 'POST',
  path: `${UNIT_PATH}/calendar-feed`,
  tag: 'Calendars',
  summary: "Replace a unit's secret iCalendar address",
  description: 'The old address answers 404 immediately.',
  answer: feedAnswer,
} as const satisfies PortalOperation

export const CALENDAR_FEED = [
  agencyRoute(GET_FEED, async ({ ledger, agency, path, request }) => {
    const unit = (await ledger.catalogue.inventory(agency.id)).unitBySlug(path.unitSlug)
    if (unit === null) return notFound('unit')
    return JSON.stringify(
      feedJson(agency, unit, await ledger.calendarFeeds.token(agency, unit), ledger.publicUrl(request)),
    )
  }),
  agencyRoute(
    CHANGE_FEED,
    async ({ ledger, caller, keep, agency, path, request }) => {
      const unit = (await ledger.catalogue.inventory(agency.id)).unitBySlug(path.unitSlug)
      if (unit === null) return notFound('unit')
      const kept = keep.of(({ id }: Unit) => ({ unitId: id }))
      const token = await ledger.calendarFeeds.change(agency, unit, caller, kept)
      return JSON.stringify(feedJson(agency, unit, token, ledger.publicUrl(request)))
    },
    {
      isRevocation: () => true,
      // The address is not kept: the unit's address as it is now.
      shown: async ({ ledger, agency, request }, kept) => {
        const { unitId } = JSON.parse(kept) as { unitId: string }
        const unit = (await ledger.catalogue.inventory(agency.id)).unitById(unitId)
        assert(unit !== null, 'Cannot show a calendar address: its unit has vanished')
        return JSON.stringify(
          feedJson(agency, unit, await ledger.calendarFeeds.token(agency, unit), ledger.publicUrl(request)),
        )
      },
    },
  ),
]

/**
 * The address has the unit's id: with its slug, a channel would find nothing once that is changed, and sell nights that are taken.
 * @param base of the address; the path alone, of a request without `Host`: the address is then that of no host
 */
function feedJson(agency: Agency, unit: Unit, token: string, base: string) {
  const path = `/portal/v1/agencies/${agency.slug}/units/${unit.id}/calendar.ics?token=${token}`
  return { calendarFeed: { unit: unit.slug, path, url: URL.parse(path, base)?.href ?? path } }
}

/**
 * `GET …/units/{unit's id}/calendar.ics?token=…`: blocked nights as all-day events, without guest data. No portal token: channels send no headers. Everything
 * that does not fit is the same 404, so that nothing is learnt of agencies, units or tokens.
 */
export const CALENDAR_ICS: Route<PortalDependencies> = {
  operation: { method: 'GET', path: `${UNIT_PATH}/calendar.ics` },
  serve: ({ ledger, requestStats, onFailure }) => {
    const texts = new CalendarTexts(ledger.clock)
    const answered = async (request: Request, requestId: string): Promise<Response> => {
      const headers = plainHeaders(requestId)
      try {
        const calendar = await feedOf(ledger, texts, request)
        if (calendar === null) return problemAnswer(notFound('route'), requestId, headers)
        if (calendar.kind === 'over') return problemAnswer(tooManyCalendars(calendar), requestId, headers)
        headers.set('Content-Type', 'text/calendar; charset=utf-8')
        headers.set('Content-Disposition', 'inline; filename="calendar.ics"')
        return new Response(calendar.text, { headers })
      } catch (error) {
        const { problem, isBug } = failureOf(error, { isWrite: false })
        onFailure({ error, requestId, ...traceIdIn(request), route: 'GET calendar.ics', isBug })
        return problemAnswer(problem, requestId, headers, request)
      }
    }
    return countedRoute(
      { requestStats, newId: ledger.newId },
      { surface: 'portal', method: 'GET', path: `${UNIT_PATH}/calendar.ics` },
      answered,
    )
  },
}

function tooManyCalendars({ retryAfterS }: { readonly retryAfterS: number }): Problem {
  const title = `This calendar can be read ${CALENDARS_PER_UNIT_MAX} times per minute, and less often while many others of the agency are being read: retry in ${retryAfterS} s`
  return problem('RATE_LIMITED', title, {}, { retryAfterS })
}

/** Null: there is no such address. */
async function feedOf(ledger: PortalLedger, texts: CalendarTexts, request: Request): Promise<CalendarOutcome | null> {
  const { path, query } = targetOf(request.url)
  const [, , , , agencySlug = '', , idOrSlug = ''] = path.split('/')
  const agency = ledger.catalogue.agencyBySlug(agencySlug)
  if (agency === null || agency.status !== 'active') return null
  const inventory = await ledger.catalogue.inventory(agency.id)
  // Addresses of version 1.0.0 have the slug.
  const unit = inventory.sellableUnit(inventory.unitById(idOrSlug)?.slug ?? idOrSlug)
  if (unit === null) return null
  const token = new URLSearchParams(query).get('token') ?? ''
  if (!(await ledger.calendarFeeds.isToken(agency, unit, token))) return null

  const now = timeOf(agency, ledger.clock)
  const today = parseNight(dayOf(now, agency.timezone))
  assert(today !== null, 'Cannot write a calendar: today is outside the supported dates')
  const state = await ledger.commands.calendar(agency, unit)
  const version = `${state.seq} ${today} ${unit.name}`
  return texts.text({ agencyId: agency.id, unitId: unit.id, version }, () => written(unit, state, today, now))
}

function written(unit: Unit, { occupied, cleaning, closed }: UnitState, today: Night, now: number): string {
  const isBlocked = (night: Night) => occupied.has(night) || closed.has(night)
  const past = addNights(today, -PAST_NIGHTS)
  let first = past
  while (first > NIGHT_MIN && isBlocked(first) && isBlocked(addNights(first, -1))) first = addNights(first, -1)
  // The whole of a run, or of its part: cut off at a day, its UID would be another one tomorrow, and an importer would free its nights before it
  // takes them again.
  const from = addNights(past, -((past - first) % STAY_NIGHTS_MAX))
  const end = (NIGHT_MAX + 1) as Night
  const taken = [...occupied.nightsIn(from, end), ...cleaning.nightsIn(from, end)]
  const blocked = new Set([...taken, ...closed.nightsIn(from, (today + NOT_SOLD_NIGHTS) as Night)])
  return calendarText({ unitId: unit.id, name: unit.name, blocked: [...blocked].sort((a, b) => a - b), now })
}
