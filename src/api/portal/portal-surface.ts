import type { AnyElysia } from 'elysia'
import { AGENCIES } from './agencies.ts'
import { AUDIT } from './audit.ts'
import { BOOKING_WRITES } from './booking-writes.ts'
import { BOOKINGS } from './bookings.ts'
import { CALENDAR_FEED, calendarIcs } from './calendar-feed.ts'
import { FEE_TYPES } from './fee-types.ts'
import { GUESTS } from './guests.ts'
import { KEYS } from './keys.ts'
import { openapi } from './openapi.ts'
import type { PortalSurface } from './portal-dependencies.ts'
import type { PortalOperation } from './portal-operation.ts'
import { type PortalRoute, resource } from './portal-route.ts'
import { RATES } from './rates.ts'
import { UNIT_CALENDAR } from './unit-calendar.ts'
import { UNITS } from './units.ts'
import { USAGE } from './usage.ts'
import { VERIFICATION } from './verification.ts'
import { WEBHOOK_DELIVERIES } from './webhook-deliveries.ts'
import { WEBHOOK_ENDPOINTS } from './webhook-endpoints.ts'

const RESOURCES: readonly (readonly PortalRoute[])[] = [
  AGENCIES,
  KEYS,
  UNITS,
  RATES,
  FEE_TYPES,
  BOOKINGS,
  BOOKING_WRITES,
  GUESTS,
  AUDIT,
  USAGE,
  VERIFICATION,
  UNIT_CALENDAR,
  CALENDAR_FEED,
  WEBHOOK_ENDPOINTS,
  WEBHOOK_DELIVERIES,
]

export const PORTAL_OPERATIONS: readonly PortalOperation[] = RESOURCES.flat().map(({ operation }) => operation)

/** Every route of the portal, one Elysia instance per resource. */
export function portalResources(surface: PortalSurface): AnyElysia[] {
  return [
    ...RESOURCES.map((routes) => resource(surface, routes)),
    calendarIcs(surface),
    openapi(surface, PORTAL_OPERATIONS),
  ]
}
