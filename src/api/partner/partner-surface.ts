import type { ClientPaths } from '../../http/openapi/client-paths.ts'
import { surfaceDocument } from '../../http/openapi/document.ts'
import { openapiRoute } from '../../http/openapi/openapi-route.ts'
import type { DescribedRoute } from '../../http/route.ts'
import { elysiaRoutes } from '../../http/route.ts'
import { AVAILABILITY } from './availability.ts'
import { BOOK, CANCEL } from './booking-writes.ts'
import { BOOKINGS } from './bookings.ts'
import { CALENDAR } from './calendar.ts'
import { CHANGES } from './changes.ts'
import { CHECKPOINT, CHECKPOINT_KEY } from './checkpoint.ts'
import { FEE_TYPES } from './fee-types.ts'
import { GROUPS } from './group-writes.ts'
import { GUESTS } from './guests.ts'
import { HISTORY } from './history.ts'
import { ME } from './me.ts'
import { PARTNER_DESCRIPTION } from './partner-description.ts'
import type { PartnerDependencies } from './partner-route.ts'
import { QUOTE } from './quote.ts'
import { SEARCH } from './search.ts'
import { TEST_CLOCK } from './test-clock.ts'
import { TEST_EVENTS } from './test-events.ts'
import { UNITS } from './units.ts'

export const PARTNER_PREFIX = '/partner/v1'

/** Every route of the contract. */
const ROUTES = [
  ...ME,
  ...UNITS,
  ...AVAILABILITY,
  ...CALENDAR,
  ...SEARCH,
  ...QUOTE,
  ...FEE_TYPES,
  ...BOOKINGS,
  ...HISTORY,
  ...BOOK,
  ...CANCEL,
  ...GROUPS,
  ...GUESTS,
  ...CHANGES,
  ...CHECKPOINT,
  ...TEST_CLOCK,
  ...TEST_EVENTS,
  openapiRoute('partner', `${PARTNER_PREFIX}/openapi.json`, partnerDocument),
] as const satisfies readonly DescribedRoute<PartnerDependencies>[]

/** The types of the partner API for its clients. */
export type PartnerPaths = ClientPaths<(typeof ROUTES)[number]['operation'], typeof PARTNER_DESCRIPTION>

export function partnerRoutes(dependencies: PartnerDependencies) {
  return elysiaRoutes<PartnerDependencies>(dependencies, [...ROUTES, CHECKPOINT_KEY])
}

/** The OpenAPI document of the partner API, as text. */
export function partnerDocument(): Promise<string> {
  return surfaceDocument(
    ROUTES.map(({ operation }) => operation),
    PARTNER_DESCRIPTION,
  )
}
