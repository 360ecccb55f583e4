import { describe, expect, test } from 'bun:test'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { PORTAL_OPERATIONS, portalDocument } from '../../../src/api/portal/portal-surface.ts'
import { validator } from '../../../src/http/validator.ts'

const A = '/portal/v1/agencies/{agencySlug}'

describe("the portal's document", () => {
  test("meets Redocly's recommended rules without an error or a warning", async () => {
    const config = await createConfig({ extends: ['recommended'] })
    const source = JSON.stringify(JSON.parse(await portalDocument()), null, 2)
    const found = await lintFromString({ source, absoluteRef: 'portal.json', config })
    expect(found.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`)).toEqual([])
  })

  test("has every route of the design's table, and those that were added to it", () => {
    expect(PORTAL_OPERATIONS.map(({ method, path }) => `${method} ${path.replace(A, '{a}')}`).sort()).toEqual([
      'DELETE /portal/v1/me/passkeys/{passkeyId}',
      'DELETE /portal/v1/me/sessions',
      'DELETE /portal/v1/me/sessions/{sessionId}',
      'DELETE {a}/access-tokens/{tokenId}',
      'DELETE {a}/keys/{keyId}',
      'DELETE {a}/people/{personId}',
      'DELETE {a}/sandbox',
      'DELETE {a}/webhook-endpoints/{endpointId}',
      'GET /portal/v1/agencies',
      'GET /portal/v1/me',
      'GET /portal/v1/me/passkeys',
      'GET /portal/v1/me/sessions',
      'GET /portal/v1/verification',
      'GET {a}',
      'GET {a}/access-tokens',
      'GET {a}/audit',
      'GET {a}/bookings',
      'GET {a}/bookings/{bookingId}',
      'GET {a}/bookings/{bookingId}/deliveries',
      'GET {a}/bookings/{bookingId}/history',
      'GET {a}/bookings/{bookingId}/quote',
      'GET {a}/changes',
      'GET {a}/fee-types',
      'GET {a}/guests',
      'GET {a}/guests/{guestId}',
      'GET {a}/keys',
      'GET {a}/people',
      'GET {a}/retention',
      'GET {a}/sandbox',
      'GET {a}/tape',
      'GET {a}/units',
      'GET {a}/units/{unitSlug}',
      'GET {a}/units/{unitSlug}/calendar',
      'GET {a}/units/{unitSlug}/calendar-feed',
      'GET {a}/units/{unitSlug}/rates',
      'GET {a}/units/{unitSlug}/restrictions',
      'GET {a}/usage',
      'GET {a}/webhook-endpoints',
      'GET {a}/webhook-endpoints/{endpointId}',
      'GET {a}/webhook-endpoints/{endpointId}/deliveries',
      'PATCH /portal/v1/me/passkeys/{passkeyId}',
      'PATCH {a}',
      'PATCH {a}/bookings/{bookingId}',
      'PATCH {a}/fee-types/{feeTypeId}',
      'PATCH {a}/guests/{guestId}',
      'PATCH {a}/people/{personId}',
      'PATCH {a}/units/{unitSlug}',
      'PATCH {a}/webhook-endpoints/{endpointId}',
      'POST /portal/v1/agencies',
      'POST /portal/v1/me/passkeys',
      'POST /portal/v1/me/passkeys/options',
      'POST /portal/v1/retention/run',
      'POST {a}/access-tokens',
      'POST {a}/bookings',
      'POST {a}/bookings/group',
      'POST {a}/bookings/group/{groupId}/cancel',
      'POST {a}/bookings/{bookingId}/cancel',
      'POST {a}/bookings/{bookingId}/erase-texts',
      'POST {a}/deliveries/{deliveryId}/resend',
      'POST {a}/fee-types',
      'POST {a}/guests/{guestId}/erase',
      'POST {a}/keys',
      'POST {a}/people',
      'POST {a}/people/{personId}/invitations',
      'POST {a}/sandbox',
      'POST {a}/sandbox/clock',
      'POST {a}/sandbox/reset',
      'POST {a}/units',
      'POST {a}/units/{unitSlug}/calendar-feed',
      'POST {a}/units/{unitSlug}/rates/preview',
      'POST {a}/units/{unitSlug}/restrictions/preview',
      'POST {a}/webhook-endpoints',
      'POST {a}/webhook-endpoints/{endpointId}/ping',
      'POST {a}/webhook-endpoints/{endpointId}/resend',
      'POST {a}/webhook-endpoints/{endpointId}/rotate-secret',
      'PUT {a}/bookings/{bookingId}/notes',
      'PUT {a}/retention',
      'PUT {a}/units/{unitSlug}/rates',
      'PUT {a}/units/{unitSlug}/restrictions',
    ])
  })

  test('names its schemas as clients know them, and describes bodies but no headers', async () => {
    const document = JSON.parse(await portalDocument())
    expect(Object.keys(document.components.schemas).join(' ')).toBe(
      'AccessToken Actor Agency AgencyGuest AgencyGuestWithStays AuditChange AuditEntry AuditedStay BOOKING_CONFLICT_problem BOOKING_CONFLICT_problemOfStays Booking BookingChange BookingHistoryEntry CROSS_ORIGIN_problem CURSOR_EXPIRED_problem CalendarFeed Delivery EMAIL_TAKEN_problem ErasedGuest FEATURE_DISABLED_problem FeeType Guest GuestChange GuestErasure ' +
        'HISTORY_EXPIRED_problem IDEMPOTENCY_KEY_REUSED_problem INTERNAL_problem INVALID_TRANSITION_problem Invitation Key LAST_OWNER_problem LAST_PASSKEY_problem LINK_NOT_VALID_problem ListedPerson NOTES_CHANGED_problem NOT_FOUND_problem NOT_FOUND_problemOfStays NewPasskey OIDC_ONLY_problem PEOPLE_ONLY_problem Passkey PasskeyAnswer PasskeyCreationOptions PasskeyRequestOptions Person QuoteLine RATES_CHANGED_problem RATE_LIMITED_problem RESTRICTIONS_CHANGED_problem ROLE_MISSING_problem Rates RatesChange Restrictions Retention RetentionSettings SANDBOX_EXISTS_problem SLUG_TAKEN_problem Session Tape TestClock UNAUTHORIZED_problem ' +
        'Unit UnitChange UsageDay UsageMonth VALIDATION_problem VERSION_CHANGED_problem Verification WebhookEndpoint',
    )
    expect(JSON.stringify(document)).not.toContain('"headers"')
  })

  test.each(
    PORTAL_OPERATIONS.filter(({ body }) => body !== undefined).map((operation) => [operation.id, operation] as const),
  )('shows a body of %s that passes', (_, { body, bodyExample }) => {
    if (body === undefined) throw new Error('Expected a body')
    expect(validator(body, 'body').passes(bodyExample)).toBe(true)
  })
})
