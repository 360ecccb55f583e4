import type { ClientPaths } from '../../http/openapi/client-paths.ts'
import { surfaceDocument } from '../../http/openapi/document.ts'
import { openapiRoute } from '../../http/openapi/openapi-route.ts'
import { elysiaRoutes } from '../../http/route.ts'
import { ACCESS_TOKENS } from './access-tokens.ts'
import { AGENCIES } from './agencies.ts'
import { AUDIT } from './audit.ts'
import { BOOKING_HISTORY } from './booking-history.ts'
import { BOOKING_NOTES } from './booking-notes.ts'
import { BOOKING_QUOTE } from './booking-quote.ts'
import { BOOKING_WRITES } from './booking-writes.ts'
import { BOOKINGS } from './bookings.ts'
import { CALENDAR_FEED, CALENDAR_ICS } from './calendar-feed.ts'
import { CHANGES } from './changes.ts'
import { FEE_TYPES } from './fee-types.ts'
import { GROUP_WRITES } from './group-writes.ts'
import { GUEST_ERASURE } from './guest-erasure.ts'
import { GUESTS } from './guests.ts'
import { KEYS } from './keys.ts'
import { ME } from './me.ts'
import { OIDC } from './oidc.ts'
import { OWN_PASSKEYS } from './own-passkeys.ts'
import { OWN_SESSIONS } from './own-sessions.ts'
import { PEOPLE } from './people.ts'
import type { PortalDependencies } from './portal-dependencies.ts'
import { PORTAL_DESCRIPTION } from './portal-description.ts'
import type { PortalOperation } from './portal-operation.ts'
import type { PortalRoute } from './portal-route.ts'
import { RATES } from './rates.ts'
import { RATES_PREVIEW } from './rates-preview.ts'
import { RESTRICTIONS } from './restrictions.ts'
import { RESTRICTIONS_PREVIEW } from './restrictions-preview.ts'
import { RETENTION_ROUTES } from './retention.ts'
import { SANDBOX } from './sandbox.ts'
import { SESSION, SESSION_OPERATIONS } from './session.ts'
import { TAPE } from './tape.ts'
import { UNIT_CALENDAR } from './unit-calendar.ts'
import { UNITS } from './units.ts'
import { USAGE } from './usage.ts'
import { VERIFICATION } from './verification.ts'
import { WEBHOOK_DELIVERIES } from './webhook-deliveries.ts'
import { WEBHOOK_ENDPOINTS } from './webhook-endpoints.ts'
import { WEBHOOK_RESEND } from './webhook-resend.ts'

const ROUTES = [
  ...ME,
  ...OWN_SESSIONS,
  ...OWN_PASSKEYS,
  ...AGENCIES,
  ...SANDBOX,
  ...RETENTION_ROUTES,
  ...PEOPLE,
  ...ACCESS_TOKENS,
  ...KEYS,
  ...UNITS,
  ...RATES,
  ...RESTRICTIONS,
  ...RATES_PREVIEW,
  ...RESTRICTIONS_PREVIEW,
  ...FEE_TYPES,
  ...BOOKINGS,
  ...BOOKING_WRITES,
  ...GROUP_WRITES,
  ...BOOKING_NOTES,
  ...BOOKING_QUOTE,
  ...BOOKING_HISTORY,
  ...CHANGES,
  ...GUESTS,
  ...GUEST_ERASURE,
  ...AUDIT,
  ...USAGE,
  ...VERIFICATION,
  ...TAPE,
  ...UNIT_CALENDAR,
  ...CALENDAR_FEED,
  ...WEBHOOK_ENDPOINTS,
  ...WEBHOOK_DELIVERIES,
  ...WEBHOOK_RESEND,
] as const satisfies readonly PortalRoute[]

export type PortalOperationId = (typeof ROUTES)[number]['operation']['id']

/** Every operation that needs a token. */
export const PORTAL_OPERATIONS: readonly PortalOperation[] = ROUTES.map(({ operation }) => operation)

/** The types of the portal for its clients. */
export type PortalPaths = ClientPaths<
  (typeof ROUTES)[number]['operation'] | (typeof SESSION_OPERATIONS)[number],
  typeof PORTAL_DESCRIPTION
>

/**
 * Every route of the portal; those after `ROUTES` need no token.
 * @param options.isPublic whether this is the listener for agencies: channels read their calendars there, and people sign in
 */
export function portalRoutes(dependencies: PortalDependencies, { isPublic = true }: { isPublic?: boolean } = {}) {
  return elysiaRoutes(dependencies, [
    ...ROUTES,
    ...(isPublic ? [...SESSION, ...OIDC, CALENDAR_ICS] : []),
    openapiRoute('portal', '/portal/v1/openapi.json', portalDocument),
  ])
}

/** The OpenAPI document of the portal, as text. */
export function portalDocument(): Promise<string> {
  return surfaceDocument([...PORTAL_OPERATIONS, ...SESSION_OPERATIONS], PORTAL_DESCRIPTION)
}
