import type { SurfaceDescription } from '../openapi/surface-description.ts'

/** What the OpenAPI document says about the portal as a whole. */
export const PORTAL_DESCRIPTION: SurfaceDescription = {
  info: {
    title: 'nightledger portal API',
    summary: 'API for the agency and the operator',
    description: "Amounts are integers in the minor unit of the agency's currency. Dates are `YYYY-MM-DD`.",
  },
  tags: {
    Agencies: 'Agencies, their plans and status.',
    Keys: 'The keys that partners authenticate with.',
    Units: 'Rental units, their prices and rules.',
    'Fee types': 'Fees included in every quote, and fees on request.',
    Bookings: 'Bookings of every type and status, with guest and notes.',
    Guests: 'Personal data.',
    'Audit and usage': 'Who did what, and how many requests were made.',
    Calendars: 'Unavailable nights, here and as iCalendar for channels.',
    Webhooks: 'Endpoints and their deliveries.',
  },
  securityScheme: {
    name: 'portalToken',
    scheme: { type: 'http', scheme: 'bearer', description: 'The PORTAL_TOKEN.' },
  },
  pathParameters: {
    agencySlug: { description: 'Slug of the agency.' },
    unitSlug: { description: 'Slug of the unit.' },
    bookingId: { description: 'Id of the booking.' },
    guestId: { description: 'Id of the guest.' },
    keyId: { description: 'Id of the API key.' },
    feeTypeId: { description: 'Id of the fee type.' },
    endpointId: { description: 'Id of the webhook endpoint.' },
    deliveryId: { description: 'Id of the delivery.' },
  },
  problems: ['VALIDATION', 'UNAUTHORIZED', 'NOT_FOUND', 'INTERNAL'],
  problemName: (code) => `${code}_problem`,
  problemsJoined: 'anyOf',
}
