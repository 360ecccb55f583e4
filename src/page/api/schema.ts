/** The portal's types, made by the compiler from the operations that the service answers with. Nothing else of the service is known here. */
import type { PortalPaths } from '../../api/portal/portal-surface.ts'

export type { PortalPaths }

type Path = keyof PortalPaths
/** The path of something that belongs to the agency. */
type OfAgency<P extends string> = `/portal/v1/agencies/{agencySlug}${P}`

/** The body of the answer with status 200: `Answer<'/portal/v1/me', 'get'>`. */
type Answer<P extends Path, M extends keyof PortalPaths[P] = 'get' & keyof PortalPaths[P]> = PortalPaths[P][M] extends {
  responses: { 200: { content: { 'application/json': infer T } } }
}
  ? T
  : never

/** What rates would do, before they are saved. */
export type Preview = Answer<OfAgency<'/units/{unitSlug}/rates/preview'>, 'post'>

/** The same for restrictions. */
export type RestrictionsPreview = Answer<OfAgency<'/units/{unitSlug}/restrictions/preview'>, 'post'>

type Usage = Answer<OfAgency<'/usage'>>
type AuditEntry = Answer<OfAgency<'/audit'>>['audit'][number]
type AuditChange = Exclude<NonNullable<AuditEntry['change']>, { kind: 'guest_erased' }>
type Change = Answer<OfAgency<'/changes'>>['changes'][number]

interface Schemas {
  AccessToken: Answer<OfAgency<'/access-tokens'>>['accessTokens'][number]
  Actor: Answer<'/portal/v1/me'>['actor']
  Agency: Answer<OfAgency<''>>['agency']
  AuditChange: AuditChange
  AuditEntry: AuditEntry
  AuditedStay: NonNullable<AuditChange['after']>
  Booking: Answer<OfAgency<'/bookings/{bookingId}'>>['booking']
  BookingChange: Extract<Change, { event: `booking.${string}` }>
  Calendar: Answer<OfAgency<'/units/{unitSlug}/calendar'>>['calendar']
  Delivery: Answer<OfAgency<'/bookings/{bookingId}/deliveries'>>['deliveries'][number]
  FeeType: Answer<OfAgency<'/fee-types'>>['feeTypes'][number]
  GuestChange: Extract<Change, { event: 'guest.erased' }>
  Guest: Answer<OfAgency<'/guests'>>['guests'][number]
  GuestErasure: Answer<OfAgency<'/guests/{guestId}/erase'>, 'post'>['erasure']
  HistoryEntry: Answer<OfAgency<'/bookings/{bookingId}/history'>>['history'][number]
  Key: Answer<OfAgency<'/keys'>>['keys'][number]
  OpenedLink: Answer<'/portal/links', 'post'>
  OwnSession: Answer<'/portal/v1/me/sessions'>['sessions'][number]
  Passkey: Answer<'/portal/v1/me/passkeys'>['passkeys'][number]
  Person: Answer<OfAgency<'/people'>>['people'][number]
  QuoteLine: NonNullable<Preview['quote']>['lines'][number]
  Rates: Answer<OfAgency<'/units/{unitSlug}/rates'>>['rates']
  RatesChange: Extract<Change, { event: 'rates.updated' }>
  Retention: Answer<OfAgency<'/retention'>>['retention']
  SignInWays: Answer<'/portal/sign-in/options', 'post'>
  RetentionSettings: Answer<OfAgency<'/retention'>>
  Restrictions: Answer<OfAgency<'/units/{unitSlug}/restrictions'>>
  Tape: Answer<OfAgency<'/tape'>>
  Unit: Answer<OfAgency<'/units/{unitSlug}'>>['unit']
  UnitChange: Extract<Change, { event: 'unit.updated' }>
  UsageDay: Usage['days'][number]
  UsageMonth: Usage['usage'][number]
  Warnings: NonNullable<Answer<OfAgency<'/bookings'>, 'post'>['warnings']>
  WebhookEndpoint: Answer<OfAgency<'/webhook-endpoints/{endpointId}'>>['webhookEndpoint']
}

/** JSON shapes of the portal: `Schema<'Booking'>`. */
export type Schema<Name extends keyof Schemas> = Schemas[Name]
