/** What was done, from the route of an audit entry. Each deed reads after a name, and after "tried to". */

interface DeedWords {
  /** `cancelled a booking`. */
  readonly past: string
  /** `cancel a booking`. */
  readonly plain: string
}

const DEEDS: Readonly<Record<string, readonly [past: string, plain: string]>> = {
  'POST bookings': ['made a booking', 'make a booking'],
  'PATCH bookings/{}': ['changed a booking', 'change a booking'],
  'POST bookings/{}/cancel': ['cancelled a booking', 'cancel a booking'],
  'POST bookings/{}/erase-texts': ['erased the texts', 'erase the texts'],
  'PUT bookings/{}/notes': ['changed the notes', 'change the notes'],
  'PATCH guests/{}': ['changed a guest', 'change a guest'],
  'POST units': ['added a unit', 'add a unit'],
  'PATCH units/{}': ['changed a unit', 'change a unit'],
  'PUT units/{}/rates': ['set the rates of a unit', 'set the rates of a unit'],
  'POST units/{}/calendar-feed': ['replaced a calendar address', 'replace a calendar address'],
  'POST fee-types': ['added a fee', 'add a fee'],
  'PATCH fee-types/{}': ['changed a fee', 'change a fee'],
  'POST keys': ['created an API key', 'create an API key'],
  'DELETE keys/{}': ['revoked an API key', 'revoke an API key'],
  'POST access-tokens': ['created an access token', 'create an access token'],
  'DELETE access-tokens/{}': ['revoked an access token', 'revoke an access token'],
  'POST webhook-endpoints': ['registered a webhook endpoint', 'register a webhook endpoint'],
  'PATCH webhook-endpoints/{}': ['changed a webhook endpoint', 'change a webhook endpoint'],
  'DELETE webhook-endpoints/{}': ['deleted a webhook endpoint', 'delete a webhook endpoint'],
  'POST webhook-endpoints/{}/ping': ['sent a test message', 'send a test message'],
  'POST webhook-endpoints/{}/rotate-secret': ['rotated a webhook secret', 'rotate a webhook secret'],
  'POST deliveries/{}/resend': ['resent a delivery', 'resend a delivery'],
  'PATCH ': ['changed the agency’s settings', 'change the agency’s settings'],
  'POST agencies': ['created the agency', 'create the agency'],
  'POST /portal/session': ['signed in', 'sign in'],
  'DELETE /portal/session': ['signed out', 'sign out'],
  'hold timer': ['released an expired hold', 'release an expired hold'],
  demo: ['set up the demo', 'set up the demo'],
}

/** @param route method and path template, `POST /partner/v1/bookings` */
export function deedWords(route: string): DeedWords {
  const short = route
    .replace(/ \/(?:partner|portal)\/v1\//, ' ')
    .replace(/agencies\/\{agencySlug\}\/?/, '')
    .replaceAll(/\{\w+\}/g, '{}')
  const [past, plain] = DEEDS[short] ?? ['sent a request', 'send a request']
  return { past, plain }
}
