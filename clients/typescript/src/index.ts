// What the package offers: everything else is internal.
export type { AnyChange, Changes, ChangesParams, Follow, FollowOptions, Reset } from './changes.ts'
export {
  type BookingsParams,
  type BookParams,
  type CalendarParams,
  type GuestsParams,
  Nightledger,
  type Quote,
  type SearchParams,
} from './client.ts'
export { type DateText, type IsoDate, isoDate } from './dates.ts'
export {
  ApiError,
  BookingConflictError,
  CursorExpiredError,
  ExpectedExtensionConflictError,
  FeatureDisabledError,
  HistoryExpiredError,
  HistoryRewrittenError,
  IdempotencyKeyReusedError,
  InternalError,
  MinStayError,
  NightledgerError,
  NoAnswerError,
  NotFoundError,
  QuotaExceededError,
  QuoteChangedError,
  RateLimitedError,
  type RawAnswer,
  RestrictedError,
  ScopeMissingError,
  TurnoverBlockConflictError,
  UnauthorizedError,
  ValidationError,
} from './errors.ts'
export type { Checkpoint } from './history.ts'
export type { Listing } from './listing.ts'
export type { Duration, TestClock, TestEventKind } from './test-mode.ts'
export type { CallOptions, ClientOptions, Clock } from './transport.ts'
export type * from './types.ts'
