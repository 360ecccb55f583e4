/** The columns that this process reads and writes, each spelled once. A test compares them with the database. */

import type { Passkey } from '../../accounts/passkeys.ts'
import type { PersonLink } from '../../accounts/person-links.ts'
import type { Guest } from '../../core/bookings/booking-lists.ts'
import type { AccessToken, Agency, ApiKey, Plan, Role, Scope } from '../../core/catalogue/agency.ts'
import type { Person } from '../../core/catalogue/people.ts'
import type { WebhookEventKind } from '../../core/domain/booking.ts'
import type { FeeType, Unit, UnitRules, UnitStatus } from '../../core/domain/unit.ts'
import { BOOKING_FIELDS } from '../../core/journal/booking-codec.ts'
import {
  bigint,
  boolean,
  digits,
  double,
  type Field,
  id,
  instant,
  integer,
  json,
  night,
  nullable,
  text,
  texts,
  withAfter,
} from '../../core/journal/fields.ts'
import type { Actor } from '../../core/journal/record.ts'
import type { StoredEndpoint } from '../../events/webhooks/endpoint-rows.ts'
import { table } from './table.ts'

type FieldsOf<T> = { readonly [N in keyof T]: Field<T[N]> }

const ofAgency = { agencyId: id('agc') }

const bookingRow = { ...ofAgency, ...BOOKING_FIELDS, notes: nullable(text()), seq: bigint() }
export const BOOKING_ROW = table('booking_row', bookingRow, { id: 'booking_id' })
/** The guest of a booking is found by the database. */
export const BOOKING = table('booking', { ...bookingRow, guestId: nullable(id('gst')) }, { id: 'booking_id' })

/** An entry. Its payload and its link are sent separately. */
export const JOURNAL_ROW = table(
  'journal_row',
  {
    shard: integer(),
    seq: bigint(),
    month: night(),
    at: instant(),
    ...ofAgency,
    unitId: nullable(id('unt')),
    otherUnitId: nullable(id('unt')),
    bookingId: nullable(id('bkg')),
    id: id('evt'),
    kind: text(),
    isAnnounced: boolean(),
    actorKind: text<Actor['kind']>(),
    actorId: nullable(id('key')),
    route: text(),
    requestId: nullable(text()),
    traceparent: nullable(text()),
    checksum: digits(),
  },
  { id: 'entry_id' },
)

const guest = {
  id: id('gst'),
  firstName: text(),
  lastName: text(),
  email: nullable(text()),
  phone: nullable(text()),
  nationality: nullable(text()),
  createdAt: instant(),
} as const satisfies FieldsOf<Omit<Guest, 'keep'>>
export const GUEST = table('guest', { ...guest, keep: boolean() }, { id: 'guest_id' })
export const GUEST_ROW = table(
  'guest_row',
  { ...ofAgency, ...withAfter(guest, 'id', { bookingId: id('bkg') }) },
  { id: 'guest_id' },
)

/** The booking as the caller gave it. */
export const AUDIT_ROW = table(
  'audit_row',
  {
    ...ofAgency,
    id: id('aud'),
    at: instant(),
    actorKind: text<Actor['kind']>(),
    actorId: nullable(id('key')),
    route: text(),
    outcome: text(),
    bookingId: nullable(text()),
    requestId: nullable(text()),
    traceparent: nullable(text()),
    count: bigint(),
  },
  { id: 'line_id' },
)

export const IDEMPOTENCY_ROW = table('idempotency_row', {
  ...ofAgency,
  keyId: id('key'),
  route: text(),
  idempotencyKey: text(),
  requestHash: text(),
  status: integer(),
  createdAt: instant(),
})

export const UNIT_MASTER_FIELDS = {
  id: id('unt'),
  slug: text(),
  name: text(),
  status: text<UnitStatus>(),
  city: nullable(text()),
  area: nullable(text()),
  building: nullable(text()),
  bedrooms: double(),
  beds: double(),
  bathrooms: double(),
  maxGuests: integer(),
  sizeSqm: nullable(double()),
  checkinTime: text(),
  checkoutTime: text(),
  instantBook: boolean(),
  registrationNumber: nullable(text()),
} as const satisfies FieldsOf<Omit<Unit, 'rules'>>
export const UNIT_RULE_FIELDS = {
  basePrice: bigint(),
  cleaningFee: bigint(),
  extraBedFee: bigint(),
  minStay: integer(),
  turnoverNights: integer(),
} as const satisfies FieldsOf<Omit<UnitRules, 'rates' | 'restrictions'>>
export const UNIT = table(
  'unit',
  {
    ...ofAgency,
    ...UNIT_MASTER_FIELDS,
    ...UNIT_RULE_FIELDS,
    rates: json<Readonly<Record<string, unknown>>>(),
    restrictions: nullable(json<Readonly<Record<string, unknown>>>()),
  },
  { id: 'unit_id' },
)

const PLAN_FIELDS = {
  apiAccess: boolean(),
  requestsPerMinute: integer(),
  requestsPerMonth: bigint(),
} as const satisfies FieldsOf<Plan>
const AGENCY_OWN_FIELDS = {
  id: id('agc'),
  slug: text(),
  name: text(),
  currency: text(),
  timezone: text(),
  status: text<Agency['status']>(),
  defaultHoldHours: integer(),
  createdAt: instant(),
  sandboxOf: nullable(id('agc')),
} as const satisfies FieldsOf<Omit<Agency, 'plan' | 'clock' | 'sandboxOf'>> & { sandboxOf: Field<string | null> }
const CLOCK_FIELDS = { clockNow: nullable(instant()), clockTarget: nullable(instant()) } as const
export const AGENCY = table('agency', { ...AGENCY_OWN_FIELDS, ...PLAN_FIELDS, ...CLOCK_FIELDS }, { id: 'agency_id' })

export const API_KEY = table(
  'api_key',
  {
    id: id('key'),
    ...ofAgency,
    name: nullable(text()),
    prefix: text(),
    secretSha256: text(),
    scopes: texts<Scope>(),
    createdAt: instant(),
    expiresAt: nullable(instant()),
    revokedAt: nullable(instant()),
    lastUsedAt: nullable(instant()),
  } as const satisfies FieldsOf<ApiKey>,
  { id: 'key_id', secretSha256: 'secret_sha256' },
)

export const ACCESS_TOKEN = table(
  'access_token',
  {
    id: id('tok'),
    ...ofAgency,
    name: text(),
    role: text<Role>(),
    prefix: text(),
    secretSha256: text(),
    createdAt: instant(),
    expiresAt: nullable(instant()),
    revokedAt: nullable(instant()),
  } as const satisfies FieldsOf<AccessToken>,
  { id: 'token_id', secretSha256: 'secret_sha256' },
)

export const PERSON = table(
  'person',
  {
    id: id('per'),
    ...ofAgency,
    name: text(),
    email: nullable(text()),
    role: text<Role>(),
    createdAt: instant(),
    removedAt: nullable(instant()),
    revision: integer(),
  } as const satisfies FieldsOf<Person>,
  { id: 'person_id' },
)

export const PASSKEY = table(
  'passkey',
  {
    id: id('pky'),
    ...ofAgency,
    personId: id('per'),
    credentialId: text(),
    name: text(),
    publicKey: text(),
    signCount: bigint(),
    transports: texts(),
    createdAt: instant(),
    lastUsedAt: nullable(instant()),
    challengedAt: instant(),
  } as const satisfies FieldsOf<Passkey>,
  { id: 'passkey_id' },
)

export const PERSON_LINK = table(
  'person_link',
  {
    sha256: text(),
    ...ofAgency,
    personId: id('per'),
    kind: text<PersonLink['kind']>(),
    createdAt: instant(),
    expiresAt: instant(),
  } as const satisfies FieldsOf<PersonLink>,
  { sha256: 'secret_sha256' },
)

const feeType = {
  id: id('fee'),
  label: text(),
  kind: text<FeeType['kind']>(),
  amount: nullable(bigint()),
  basisPoints: nullable(integer()),
  includesWeeklyCleaning: boolean(),
  application: text<FeeType['application']>(),
  active: boolean(),
} as const satisfies FieldsOf<FeeType>
export const FEE_TYPE = table('fee_type', { ...ofAgency, ...feeType }, { id: 'fee_type_id' })

export const ENDPOINT = table(
  'webhook_endpoint',
  {
    ...ofAgency,
    id: id('whe'),
    url: text(),
    description: nullable(text()),
    events: texts<WebhookEventKind>(),
    status: text<StoredEndpoint['status']>(),
    disabledReason: nullable(text()),
    consecutiveFailures: integer(),
    secretSealed: text(),
    previousSecretSealed: nullable(text()),
    previousSecretUntil: nullable(instant()),
    createdAt: instant(),
    updatedAt: instant(),
  } as const satisfies FieldsOf<Omit<StoredEndpoint, 'waitingEvents' | 'waitingDeliveries'>>,
  { id: 'endpoint_id' },
)
