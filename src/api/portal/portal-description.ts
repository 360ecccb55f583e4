import type { SurfaceDescription } from '../openapi/surface-description.ts'

/** What the OpenAPI document says about the portal as a whole. */
export const PORTAL_DESCRIPTION: SurfaceDescription = {
  info: {
    title: 'nightledger portal API',
    summary: "The agency's and the operator's side",
    description: 'Amounts are integers in the minor unit of the currency of the agency; dates are `YYYY-MM-DD`.',
  },
  tags: {
    Agencies: 'Tenants, their plans and whether they are active.',
    Keys: 'What partners authenticate with.',
    Units: 'What is rented out, its prices and rules.',
    'Fee types': 'Fees in every quote, and on request.',
    Bookings: 'Of every type and status, with guest and notes.',
    Guests: 'Personal data.',
    'Audit and usage': 'Who did what, and how many requests were used.',
    Calendars: 'Nights that cannot be sold, here and for channels.',
    Webhooks: 'Endpoints, and what was delivered to them.',
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
