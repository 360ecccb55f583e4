// Made from the OpenAPI document by test/clients/support/make-types.ts. Do not edit.
import type { DateText, IsoDate } from './dates.ts'

export interface Booking {
  /** Opaque. */
  id: string
  unitSlug: string
  unitName: string
  /** Only `guest` rows are guest stays: filter on it before computing occupancy or revenue. */
  type: 'guest' | 'owner_stay' | 'maintenance' | 'block'
  status: 'draft' | 'option' | 'confirmed' | 'checked_in' | 'checked_out' | 'cancelled'
  /** `partner` for bookings created through this API. */
  source: string
  /** The first night. */
  arrival: IsoDate
  /** The departure day. */
  departure: IsoDate
  nights: number
  adults: number
  children: number
  /** In minor units of the agency's currency. */
  totalAmount: number
  /** The caller's own reference. */
  sourceRef: string | null
  /** When the booking was created. */
  createdAt: string
  /** When the booking last changed. */
  updatedAt: string
  holdExpiresAt: string | null
  cancelledAt: string | null
  /** `hold_expired` for a hold that expired. */
  cancelReason: string | null
  /** Present only if the booking was made in a group. */
  groupId?: string
}

export interface BookingCancelledEvent {
  /** Unique per event: treat repeated ids as duplicates. */
  id: string
  occurredAt: string
  /** Increases from event to event: sort by it. */
  seq: number
  /** Only on events of a sandbox. */
  mode?: 'test'
  event: 'booking.cancelled'
  data: BookingEventData
}

/** At least one night of the stay is already booked. */
export interface BookingConflictProblem {
  code: 'BOOKING_CONFLICT'
  /** Human-readable. Branch on `code` instead. */
  title: string
  /** Same as the `X-Request-Id` header. */
  requestId: string
  conflict: {
    /** First night of the requested stay that is already booked. */
    from: IsoDate
    /** The day after the last night of the requested stay that is already booked. */
    to: IsoDate
    nights: IsoDate[]
    bookableFrom: IsoDate | null
  }
}

/** At least one night of the stay is already booked. */
export interface BookingConflictProblemOfStays {
  code: 'BOOKING_CONFLICT'
  /** Human-readable. Branch on `code` instead. */
  title: string
  /** Same as the `X-Request-Id` header. */
  requestId: string
  conflict: {
    /** First night of the requested stay that is already booked. */
    from: IsoDate
    /** The day after the last night of the requested stay that is already booked. */
    to: IsoDate
    nights: IsoDate[]
    bookableFrom: IsoDate | null
  }
  /** Index in `stays` of the first refused stay. */
  stay: number
  /** All refused stays, in order, each with its `code` and the members of that code. */
  refusals: {
    stay: number
    code: string
    [member: string]: unknown
  }[]
}

export interface BookingCreatedEvent {
  /** Unique per event: treat repeated ids as duplicates. */
  id: string
  occurredAt: string
  /** Increases from event to event: sort by it. */
  seq: number
  /** Only on events of a sandbox. */
  mode?: 'test'
  event: 'booking.created'
  data: BookingEventData
}

/** The booking at the time of the event. Contains no guest personal data. */
export interface BookingEventData {
  /** Opaque. */
  id: string
  unitSlug: string
  unitName: string
  /** Only `guest` rows are guest stays: filter on it before computing occupancy or revenue. */
  type: 'guest' | 'owner_stay' | 'maintenance' | 'block'
  status: 'draft' | 'option' | 'confirmed' | 'checked_in' | 'checked_out' | 'cancelled'
  /** `partner` for bookings created through this API. */
  source: string
  /** The caller's own reference. */
  sourceRef: string | null
  /** The first night. */
  arrival: IsoDate
  /** The departure day. */
  departure: IsoDate
  nights: number
  adults: number
  children: number
  /** In minor units of the agency's currency. */
  totalAmount: number
  currency: string
  /** Increases with every change to the booking. */
  version: number
  /** Present only if the booking was made in a group. */
  groupId?: string
}

export interface BookingHistoryEntry {
  /** Version of the booking after the change. */
  version: number
  /** When the change was made. */
  at: string
  /** The webhook event of the change. */
  event: 'booking.created' | 'booking.updated' | 'booking.cancelled'
  status: 'draft' | 'option' | 'confirmed' | 'checked_in' | 'checked_out' | 'cancelled'
  /** The unit after the change, by the slug that it had then. */
  unitSlug: string
  /** The first night. */
  arrival: IsoDate
  /** The departure day. */
  departure: IsoDate
  /** In minor units of the agency's currency. */
  totalAmount: number
  /** `you`: this key; `partner`: another key; `agency`: the agency or its operator; `system`: a hold that expired. */
  by: 'you' | 'partner' | 'agency' | 'system'
}

export interface BookingUpdatedEvent {
  /** Unique per event: treat repeated ids as duplicates. */
  id: string
  occurredAt: string
  /** Increases from event to event: sort by it. */
  seq: number
  /** Only on events of a sandbox. */
  mode?: 'test'
  event: 'booking.updated'
  data: BookingEventData
}

export interface Change {
  /** Opaque cursor. Pass it as `after` to continue. */
  cursor: string
  /** Unique per event: treat repeated ids as duplicates. */
  id: string
  occurredAt: string
  /** Increases from event to event: sort by it. */
  seq: number
  /** Only on events of a sandbox. */
  mode?: 'test'
  event: 'booking.created' | 'booking.updated' | 'booking.cancelled'
  data: BookingEventData
}

/** The changes after the cursor are no longer kept, or the ledger was restored from a backup without them. */
export interface CursorExpiredProblem {
  code: 'CURSOR_EXPIRED'
  /** Human-readable. Branch on `code` instead. */
  title: string
  /** Same as the `X-Request-Id` header. */
  requestId: string
}

/** The current guest is expected to extend their stay into the requested nights. */
export interface ExpectedExtensionConflictProblem {
  code: 'EXPECTED_EXTENSION_CONFLICT'
  /** Human-readable. Branch on `code` instead. */
  title: string
  /** Same as the `X-Request-Id` header. */
  requestId: string
  conflicts: {
    /** First reserved night. */
    from: IsoDate
    /** The day after the last reserved night. */
    to: IsoDate
  }[]
}

/** The current guest is expected to extend their stay into the requested nights. */
export interface ExpectedExtensionConflictProblemOfStays {
  code: 'EXPECTED_EXTENSION_CONFLICT'
  /** Human-readable. Branch on `code` instead. */
  title: string
  /** Same as the `X-Request-Id` header. */
  requestId: string
  conflicts: {
    /** First reserved night. */
    from: IsoDate
    /** The day after the last reserved night. */
    to: IsoDate
  }[]
  /** Index in `stays` of the first refused stay. */
  stay: number
  /** All refused stays, in order, each with its `code` and the members of that code. */
  refusals: {
    stay: number
    code: string
    [member: string]: unknown
  }[]
}

/** The agency's plan has no API access, or the route is only for the keys of a sandbox and this is none. */
export interface FeatureDisabledProblem {
  code: 'FEATURE_DISABLED'
  /** Human-readable. Branch on `code` instead. */
  title: string
  /** Same as the `X-Request-Id` header. */
  requestId: string
}

export interface FeeType {
  id: string
  /** Shown to the guest verbatim. */
  label: string
  kind: 'fixed' | 'percent'
  /** Minor units per stay; null for percentages. */
  amount: number | null
  /** Percentage of the accommodation; null for fixed fees. */
  pct: number | null
  includesWeeklyCleaning: boolean
}

export interface Guest {
  id: string
  firstName: string
  lastName: string
  email: string | null
  phone: string | null
  nationality: string | null
  createdAt: string
}

export interface GuestWithStays {
  id: string
  firstName: string
  lastName: string
  email: string | null
  phone: string | null
  nationality: string | null
  createdAt: string
  /** The most recent arrivals first. */
  stays: ({
    /** Works with `GET /bookings/{id}`. */
    id: string
    unitSlug: string
    /** The first night. */
    arrival: IsoDate
    /** The departure day. */
    departure: IsoDate
    status: 'draft' | 'option' | 'confirmed' | 'checked_in' | 'checked_out' | 'cancelled'
  })[]
}

/** The history of the unit at `asOf` is no longer kept: the operator has archived it. */
export interface HistoryExpiredProblem {
  code: 'HISTORY_EXPIRED'
  /** Human-readable. Branch on `code` instead. */
  title: string
  /** Same as the `X-Request-Id` header. */
  requestId: string
}

/** The `Idempotency-Key` was already used for a different request. */
export interface IdempotencyKeyReusedProblem {
  code: 'IDEMPOTENCY_KEY_REUSED'
  /** Human-readable. Branch on `code` instead. */
  title: string
  /** Same as the `X-Request-Id` header. */
  requestId: string
}

/** The service failed; `title` says what is known about the outcome. Safe to retry with backoff. */
export interface InternalProblem {
  code: 'INTERNAL'
  /** Human-readable. Branch on `code` instead. */
  title: string
  /** Same as the `X-Request-Id` header. */
  requestId: string
  /** Trace ID of a request with a `traceparent` header. */
  traceId?: string
}

export interface Key {
  id: string
  name: string | null
  prefix: string | null
  scopes: ('read:units' | 'read:availability' | 'read:rates' | 'read:bookings' | 'read:guests' | 'write:bookings')[]
  createdAt: string | null
  expiresAt: string | null
}

/** The stay is shorter than the effective minimum stay. */
export interface MinStayProblem {
  code: 'MIN_STAY'
  /** Human-readable. Branch on `code` instead. */
  title: string
  /** Same as the `X-Request-Id` header. */
  requestId: string
  /** Minimum number of nights for this arrival. */
  minStay: number
}

/** The stay is shorter than the effective minimum stay. */
export interface MinStayProblemOfStays {
  code: 'MIN_STAY'
  /** Human-readable. Branch on `code` instead. */
  title: string
  /** Same as the `X-Request-Id` header. */
  requestId: string
  /** Minimum number of nights for this arrival. */
  minStay: number
  /** Index in `stays` of the first refused stay. */
  stay: number
  /** All refused stays, in order, each with its `code` and the members of that code. */
  refusals: {
    stay: number
    code: string
    [member: string]: unknown
  }[]
}

/** No such unit, booking, group, guest or route in the agency. */
export interface NotFoundProblem {
  code: 'NOT_FOUND'
  /** Human-readable. Branch on `code` instead. */
  title: string
  /** Same as the `X-Request-Id` header. */
  requestId: string
}

/** No such unit, booking, group, guest or route in the agency. */
export interface NotFoundProblemOfStays {
  code: 'NOT_FOUND'
  /** Human-readable. Branch on `code` instead. */
  title: string
  /** Same as the `X-Request-Id` header. */
  requestId: string
  /** Index in `stays` of the first refused stay. */
  stay: number
  /** All refused stays, in order, each with its `code` and the members of that code. */
  refusals: {
    stay: number
    code: string
    [member: string]: unknown
  }[]
}

export interface Offer {
  /** Slug. */
  unit: string
  name: string
  city: string | null
  area: string | null
  bedrooms: number
  maxGuests: number
  /** The first night. */
  arrival: IsoDate
  /** The departure day. */
  departure: IsoDate
  nights: number
  currency: string
  /** Minor units: what a quote and a booking of this stay and party would come to, with discounts and fees. */
  total: number
  instantBook: boolean
}

export interface Quota {
  /** `YYYY-MM`, UTC. */
  month: string
  /** Requests this month, across all of the agency's keys. */
  used: number
  quota: number
  remaining: number
  resetsAt: string
}

/** The monthly quota is exhausted. It resets on the 1st of the next month (UTC). */
export interface QuotaExceededProblem {
  code: 'QUOTA_EXCEEDED'
  /** Human-readable. Branch on `code` instead. */
  title: string
  /** Same as the `X-Request-Id` header. */
  requestId: string
  /** Requests allowed per month. */
  quota: number
  /** Requests made this month. */
  used: number
  /** When the quota resets. */
  resetsAt: string
}

export interface QuoteAnswer {
  /** Whether a booking of this stay would be accepted now. */
  available: boolean
  instantBook: boolean
  currency: string
  /** Every 409 code that booking this stay now would return; empty when available. */
  reasons: ('BOOKING_CONFLICT' | 'TURNOVER_BLOCK_CONFLICT' | 'EXPECTED_EXTENSION_CONFLICT')[]
  quote: {
    nights: number
    currency: string
    /** Minor units; the sum of the lines. */
    total: number
    lines: QuoteLine[]
  }
}

/** A quote of this stay would no longer have an entity tag of `If-Match`. Nothing was booked; `quote` is the present price. */
export interface QuoteChangedProblem {
  code: 'QUOTE_CHANGED'
  /** Human-readable. Branch on `code` instead. */
  title: string
  /** Same as the `X-Request-Id` header. */
  requestId: string
  quote: {
    nights: number
    currency: string
    /** Minor units; the sum of the lines. */
    total: number
    lines: QuoteLine[]
  }
}

export interface QuoteLine {
  kind: 'accommodation' | 'discount' | 'cleaning' | 'extra_bed' | 'fee'
  label: string
  /** First night; accommodation lines only. */
  from: IsoDate | null
  /** The day after the last night; accommodation lines only. */
  to: IsoDate | null
  /** Null for percentages. */
  quantity: number | null
  /** Minor units; `amount` is `quantity` × `unitAmount`. Null for percentages. */
  unitAmount: number | null
  /** Percentages only. */
  pct: number | null
  /** Minor units; negative for discounts. */
  amount: number
  /** Fee lines only. */
  feeTypeId: string | null
}

export interface RateLimit {
  /** Per key, over a rolling minute. */
  requestsPerMinute: number
  sharedWith: ('rest' | 'mcp')[]
}

/** The per-minute rate limit is exceeded. `Retry-After` gives the number of seconds to wait. */
export interface RateLimitedProblem {
  code: 'RATE_LIMITED'
  /** Human-readable. Branch on `code` instead. */
  title: string
  /** Same as the `X-Request-Id` header. */
  requestId: string
}

export interface RatesUpdatedEvent {
  /** Unique per event: treat repeated ids as duplicates. */
  id: string
  occurredAt: string
  /** Increases from event to event: sort by it. */
  seq: number
  /** Only on events of a sandbox. */
  mode?: 'test'
  event: 'rates.updated'
  data: UnitEventData
}

/** Restrictions of the unit refuse the stay. `restrictions` lists all of them, `alternatives` the nearest arrivals that would be accepted. */
export interface RestrictedProblem {
  code: 'RESTRICTED'
  /** Human-readable. Branch on `code` instead. */
  title: string
  /** Same as the `X-Request-Id` header. */
  requestId: string
  /** All rules that refuse the stay. */
  restrictions: ({
    /** The rule. */
    rule: 'closedToArrival' | 'closedToDeparture' | 'maxStay' | 'stopSell' | 'advanceNoticeHours' | 'bookingWindowDays'
    /** The date that the rule was checked for. */
    date: IsoDate
    value: boolean | number
  })[]
  /** The nearest arrivals, within 30 days either way, for which the same number of nights would be accepted now; null: none. */
  alternatives: {
    previousArrival: IsoDate | null
    nextArrival: IsoDate | null
  }
}

/** Restrictions of the unit refuse the stay. `restrictions` lists all of them, `alternatives` the nearest arrivals that would be accepted. */
export interface RestrictedProblemOfStays {
  code: 'RESTRICTED'
  /** Human-readable. Branch on `code` instead. */
  title: string
  /** Same as the `X-Request-Id` header. */
  requestId: string
  /** All rules that refuse the stay. */
  restrictions: ({
    /** The rule. */
    rule: 'closedToArrival' | 'closedToDeparture' | 'maxStay' | 'stopSell' | 'advanceNoticeHours' | 'bookingWindowDays'
    /** The date that the rule was checked for. */
    date: IsoDate
    value: boolean | number
  })[]
  /** The nearest arrivals, within 30 days either way, for which the same number of nights would be accepted now; null: none. */
  alternatives: {
    previousArrival: IsoDate | null
    nextArrival: IsoDate | null
  }
  /** Index in `stays` of the first refused stay. */
  stay: number
  /** All refused stays, in order, each with its `code` and the members of that code. */
  refusals: {
    stay: number
    code: string
    [member: string]: unknown
  }[]
}

/** The API key does not have the scope that `scope` names. */
export interface ScopeMissingProblem {
  code: 'SCOPE_MISSING'
  /** Human-readable. Branch on `code` instead. */
  title: string
  /** Same as the `X-Request-Id` header. */
  requestId: string
  /** The missing scope. */
  scope: 'read:units' | 'read:availability' | 'read:rates' | 'read:bookings' | 'read:guests' | 'write:bookings'
}

export interface Tenant {
  id: string
  name: string
  slug: string
  /** All amounts are in the minor unit of this currency. */
  currency: string
  /** IANA time zone name. */
  timezone: string
}

export interface TestClock {
  /** What the clock shows. */
  now: string
  /** `advancing`: what happens up to the requested time is still being worked off. `ready`: all of it has happened. */
  status: 'ready' | 'advancing'
}

/** The arrival falls on a cleaning night after the previous stay. */
export interface TurnoverBlockConflictProblem {
  code: 'TURNOVER_BLOCK_CONFLICT'
  /** Human-readable. Branch on `code` instead. */
  title: string
  /** Same as the `X-Request-Id` header. */
  requestId: string
  conflict: {
    bookableFrom: IsoDate | null
    /** The departure that the cleaning nights follow. */
    departure: IsoDate
  }
}

/** The arrival falls on a cleaning night after the previous stay. */
export interface TurnoverBlockConflictProblemOfStays {
  code: 'TURNOVER_BLOCK_CONFLICT'
  /** Human-readable. Branch on `code` instead. */
  title: string
  /** Same as the `X-Request-Id` header. */
  requestId: string
  conflict: {
    bookableFrom: IsoDate | null
    /** The departure that the cleaning nights follow. */
    departure: IsoDate
  }
  /** Index in `stays` of the first refused stay. */
  stay: number
  /** All refused stays, in order, each with its `code` and the members of that code. */
  refusals: {
    stay: number
    code: string
    [member: string]: unknown
  }[]
}

/** The API key is missing, malformed, unknown, revoked or expired, or the agency is suspended. */
export interface UnauthorizedProblem {
  code: 'UNAUTHORIZED'
  /** Human-readable. Branch on `code` instead. */
  title: string
  /** Same as the `X-Request-Id` header. */
  requestId: string
}

export interface Unit {
  id: string
  /** Stable identifier of the unit in URLs. */
  slug: string
  name: string
  /** Draft units are listed, archived ones are not. */
  status: 'active' | 'draft' | 'archived'
  city: string | null
  area: string | null
  building: string | null
  bedrooms: number
  beds: number
  bathrooms: number
  maxGuests: number
  sizeSqm: number | null
  /** Nightly base price, in minor units. */
  basePrice: number
  /** Per stay, in minor units. */
  cleaningFee: number
  /** Nights. */
  minStay: number
  /** Local time in the agency's time zone. */
  checkinTime: string
  /** Local time in the agency's time zone. */
  checkoutTime: string
  instantBook: boolean
  /** The number that Regulation (EU) 2024/1028 requires listings to show. */
  registrationNumber: string | null
}

export interface UnitCalendar {
  /** Slug. */
  unit: string
  /** Runs of unavailable nights, as long as possible, in ascending order. */
  blocked: {
    /** First unavailable night. */
    from: IsoDate
    /** The next available night, or the end of the range: exclusive. */
    to: IsoDate
  }[]
  /** Only with `prices=true`. Element i is the price of the night `from` + i in minor units, with season and weekday, before discounts, cleaning and fees. */
  prices?: number[]
  /** Only with `prices=true` or `restrictions=true`. Element i is the shortest stay, in nights, for an arrival on `from` + i that meets the minimum of every night it includes, restrictions too. */
  minStay?: number[]
  /** Only with `restrictions=true`. Character i is 1 if a stay can arrive on `from` + i, and 0 if the date is closed to arrival, too soon for the advance notice or beyond the booking window. Nights that are not for sale are in `blocked`. */
  arrival?: string
  /** Only with `restrictions=true`. Character i is 1 if a stay can depart on `from` + i, and 0 if the date is closed to departure. The last character is that of `to`. */
  departure?: string
  /** Only with `restrictions=true`. Element i is the maximum stay, in nights, for an arrival on `from` + i; 0: none. */
  maxStay?: number[]
}

export interface UnitChange {
  /** Opaque cursor. Pass it as `after` to continue. */
  cursor: string
  /** Unique per event: treat repeated ids as duplicates. */
  id: string
  occurredAt: string
  /** Increases from event to event: sort by it. */
  seq: number
  /** Only on events of a sandbox. */
  mode?: 'test'
  event: 'rates.updated' | 'unit.updated'
  data: UnitEventData
}

/** Which unit changed, and for which dates. Contains no prices. */
export interface UnitEventData {
  unitId: string
  /** Slug of the unit after the change. */
  unitSlug: string
  /** Increases with every change to the unit. Versions have gaps. */
  version: number
  from: IsoDate | null
  to: IsoDate | null
}

export interface UnitUpdatedEvent {
  /** Unique per event: treat repeated ids as duplicates. */
  id: string
  occurredAt: string
  /** Increases from event to event: sort by it. */
  seq: number
  /** Only on events of a sandbox. */
  mode?: 'test'
  event: 'unit.updated'
  data: UnitEventData
}

/** Malformed parameters, headers or body. `title` names the first offending field and what is accepted. */
export interface ValidationProblem {
  code: 'VALIDATION'
  /** Human-readable. Branch on `code` instead. */
  title: string
  /** Same as the `X-Request-Id` header. */
  requestId: string
  errors: {
    /** The offending field, for example `guest.email`. */
    field: string
    /** Names the field and what is accepted. */
    message: string
  }[]
}

export interface GetMeAnswer {
  tenant: Tenant
  key: Key
  rateLimit: RateLimit
  quota: Quota
}

export interface ListUnitsAnswer {
  units: Unit[]
}

export interface GetUnitAnswer {
  unit: Unit
}

export interface GetAvailabilityQuery {
  unit: string
  from: DateText
  to: DateText
  asOf?: string | undefined
}

export interface GetAvailabilityAnswer {
  unit: string
  /** As requested. */
  from: IsoDate
  /** As requested. */
  to: IsoDate
  /** In ascending order. */
  blockedNights: IsoDate[]
}

export interface GetCalendarQuery {
  from: DateText
  to: DateText
  units?: string | undefined
  prices?: 'true' | 'false' | undefined
  restrictions?: 'true' | 'false' | undefined
  page?: number | undefined
  pageSize?: number | undefined
}

export interface GetCalendarAnswer {
  /** As requested. */
  from: IsoDate
  /** As requested; exclusive. */
  to: IsoDate
  /** Prices are in its minor unit. */
  currency: string
  units: UnitCalendar[]
  page: number
  pageSize: number
  totalItems: number
  pageCount: number
}

export interface SearchStaysQuery {
  arrival?: DateText | undefined
  departure?: DateText | undefined
  from?: DateText | undefined
  to?: DateText | undefined
  nights?: number | undefined
  adults?: number | undefined
  children?: number | undefined
  city?: string | undefined
  area?: string | undefined
  bedrooms?: number | undefined
  maxTotal?: number | undefined
  each?: 'unit' | 'stay' | undefined
  sort?: 'total' | '-total' | 'arrival' | 'name' | undefined
  extraBed?: 'true' | 'false' | undefined
  page?: number | undefined
  pageSize?: number | undefined
}

export interface SearchStaysAnswer {
  offers: Offer[]
  page: number
  pageSize: number
  totalItems: number
  pageCount: number
}

export interface QuoteStayBody {
  /** Slug of the unit. */
  unit: string
  /** The first night. */
  arrival: DateText
  /** The departure day: after arrival, at most 366 nights later. */
  departure: DateText
  adults?: number | undefined
  children?: number | undefined
  /** Ignored without children. */
  extraBed?: boolean | undefined
}

export interface ListFeeTypesAnswer {
  feeTypes: FeeType[]
}

export interface ListBookingsQuery {
  from?: DateText | undefined
  to?: DateText | undefined
  status?: string | undefined
  unit?: string | undefined
  group?: string | undefined
  page?: number | undefined
  pageSize?: number | undefined
  limit?: number | undefined
}

export interface ListBookingsAnswer {
  bookings: Booking[]
  page: number
  pageSize: number
  totalItems: number
  pageCount: number
}

export interface CreateBookingBody {
  /** Slug of the unit. */
  unit: string
  /** The first night. */
  arrival: DateText
  /** The departure day: after arrival, at most 366 nights later. */
  departure: DateText
  /** `draft` and `option` are holds that expire on their own. */
  status?: 'draft' | 'option' | 'confirmed' | undefined
  adults?: number | undefined
  children?: number | undefined
  /** Ignored without children. */
  extraBed?: boolean | undefined
  sourceRef?: string | null | undefined
  notes?: string | null | undefined
  holdHours?: number | null | undefined
  guest?: {
    firstName: string
    lastName: string
    email?: string | null | undefined
    phone?: string | null | undefined
    nationality?: string | null | undefined
  } | null | undefined
}

export interface CreateBookingAnswer {
  booking: Booking
}

export interface GetBookingAnswer {
  booking: Booking
}

export interface GetBookingHistoryAnswer {
  /** The changes that fired an event, oldest first, as far as they are kept; at most the newest 10000. Each shows the booking as it was after the change. A hold's new lifetime and an expected extension fire none, but may raise `version` in between. */
  history: BookingHistoryEntry[]
}

export interface CancelBookingBody {
  reason?: string | null | undefined
}

export interface CancelBookingAnswer {
  booking: Booking
}

export interface CreateGroupBody {
  /** Each is checked as if those before it were booked. All of them are booked, or none. */
  stays: ({
    /** Slug of the unit. */
    unit: string
    /** The first night. */
    arrival: DateText
    /** The departure day: after arrival, at most 366 nights later. */
    departure: DateText
    adults?: number | undefined
    children?: number | undefined
    /** Ignored without children. */
    extraBed?: boolean | undefined
    sourceRef?: string | null | undefined
    notes?: string | null | undefined
  })[]
  /** `draft` and `option` are holds that expire on their own. */
  status?: 'draft' | 'option' | 'confirmed' | undefined
  holdHours?: number | null | undefined
  guest?: {
    firstName: string
    lastName: string
    email?: string | null | undefined
    phone?: string | null | undefined
    nationality?: string | null | undefined
  } | null | undefined
}

export interface CreateGroupAnswer {
  /** Opaque id of the group. */
  groupId: string
  bookings: Booking[]
}

export interface CancelGroupBody {
  reason?: string | null | undefined
}

export interface CancelGroupAnswer {
  /** Opaque id of the group. */
  groupId: string
  bookings: Booking[]
}

export interface ListGuestsQuery {
  search?: string | undefined
  page?: number | undefined
  pageSize?: number | undefined
}

export interface ListGuestsAnswer {
  guests: Guest[]
  page: number
  pageSize: number
  totalItems: number
  pageCount: number
}

export interface GetGuestAnswer {
  guest: GuestWithStays
}

export interface ListChangesQuery {
  after?: string | undefined
  limit?: number | undefined
  wait?: number | undefined
  include?: 'rates' | 'units' | 'rates,units' | 'units,rates' | undefined
}

export interface ListChangesAnswer {
  /** In the order of `seq`. */
  changes: (Change | UnitChange)[]
  /** Opaque cursor. Pass it as `after` to continue. */
  cursor: string
  /** There are more changes already: ask again without waiting. */
  hasMore: boolean
}

/** A signed note (C2SP `tlog-checkpoint`): the origin, the number of entries, the root of the Merkle tree (RFC 6962) over them in base64, an empty line, and the signature. */
export type GetCheckpointAnswer = string

export interface GetCheckpointProofQuery {
  from: number
  to: number
}

export interface GetCheckpointProofAnswer {
  from: number
  to: number
  hashes: string[]
}

export interface GetBookingProofAnswer {
  /** A signed note (C2SP `tlog-checkpoint`): the origin, the number of entries, the root of the Merkle tree (RFC 6962) over them in base64, an empty line, and the signature. */
  checkpoint: string
  /** Oldest first; of more, the newest 100. */
  entries: {
    /** Of the entry in the tree, from 0. */
    index: number
    /** The bytes of the entry, base64: a JSON array. Its leaf is SHA-256 of a zero byte and these bytes. */
    entry: string
    /** From the leaf to the root. */
    hashes: string[]
  }[]
}

export interface MoveTestClockBody {
  /** Where to move the clock. Either this or `advanceSeconds`. */
  now?: string | undefined
  /** How far to move it, counted from where it is already going. */
  advanceSeconds?: number | undefined
}

export interface SendTestEventBody {
  /** Id of the booking. */
  bookingId: string
  kind: 'duplicate' | 'reorder' | 'late' | 'bad_signature' | 'old_timestamp'
}

export interface SendTestEventAnswer {
  /** In the order in which they are sent. */
  eventIds: string[]
  /** How many endpoints get them. */
  endpoints: number
}

export interface GetOpenApiAnswer {
  openapi: string
}
