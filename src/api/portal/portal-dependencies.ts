import type { AccessTokenCommands } from '../../accounts/access-token-commands.ts'
import type { AgencyCommands } from '../../accounts/agency-commands.ts'
import type { AuditList } from '../../accounts/audit-list.ts'
import type { BookingNotes } from '../../accounts/booking-notes.ts'
import type { CalendarFeeds } from '../../accounts/calendar-feeds.ts'
import type { FeeCommands } from '../../accounts/fee-commands.ts'
import type { GuestCommands } from '../../accounts/guest-commands.ts'
import type { GuestErasures } from '../../accounts/guest-erasures.ts'
import type { InvitationMail } from '../../accounts/invitation-mails.ts'
import type { KeyCommands } from '../../accounts/key-commands.ts'
import type { OidcSignIn } from '../../accounts/oidc-sign-in.ts'
import type { Passkeys } from '../../accounts/passkeys.ts'
import type { PeopleCommands } from '../../accounts/people-commands.ts'
import type { PersonAccess } from '../../accounts/person-rows.ts'
import type { PersonSignIn } from '../../accounts/person-sign-in.ts'
import type { PortalAccess } from '../../accounts/portal-access.ts'
import type { StoredSession } from '../../accounts/portal-sessions.ts'
import type { RefusalCounter } from '../../accounts/refusal-counter.ts'
import type { RetentionCommands } from '../../accounts/retention-commands.ts'
import type { Sandboxes } from '../../accounts/sandboxes.ts'
import type { UnitCommands } from '../../accounts/unit-commands.ts'
import type { DayUsed, MonthUsed, UsageMeter } from '../../accounts/usage-meter.ts'
import type { BookingCommands } from '../../core/bookings/booking-commands.ts'
import type {
  AgencyBookings,
  BookingHistory,
  BookingList,
  GuestList,
  TapeStays,
} from '../../core/bookings/booking-lists.ts'
import type { SandboxClocks } from '../../core/bookings/sandbox-clocks.ts'
import type { UnitsAsOf } from '../../core/bookings/units-as-of.ts'
import type { Agency } from '../../core/catalogue/agency.ts'
import type { Catalogue } from '../../core/catalogue/catalogue.ts'
import type { ChangeFeed } from '../../events/changes/change-feed.ts'
import type { Change } from '../../events/changes/change-page.ts'
import type { WebhookCommands } from '../../events/webhooks/webhook-commands.ts'
import type { EntityTags, FailureReport } from '../../http/answer.ts'
import type { IdempotentWrites } from '../../http/idempotent-writes.ts'
import type { Clock } from '../../lib/clock.ts'
import type { IdSource } from '../../lib/ids.ts'
import type { FairShares } from '../../lib/queues.ts'
import type { RequestStats } from '../../observability/request-stats.ts'
import type { Verification } from '../../verify/findings.ts'
import type { AgencyChange } from './agency-change.ts'

/** What the portal needs from the listener that serves it. */
export interface PortalListener {
  /** Settles as `answer` does; until then the connection of `request` is not closed for being idle (http/server/listener.ts). */
  withoutIdleTimeout<T>(request: Request, answer: () => Promise<T>): Promise<T>
  /** `PUBLIC_URL`; if that is not set, the URL of the public listener under the host name that the request was sent to. */
  publicUrl(request: Request): string
}

/** What the portal needs from the running core. */
export interface PortalLedger extends PortalListener {
  readonly clock: Clock
  readonly newId: IdSource
  readonly catalogue: Catalogue
  readonly commands: BookingCommands
  readonly agencies: AgencyCommands
  readonly retention: RetentionCommands
  readonly sandboxes: Sandboxes
  readonly sandboxClocks: SandboxClocks
  readonly keys: KeyCommands
  readonly accessTokens: AccessTokenCommands
  readonly people: PeopleCommands
  readonly personSignIn: PersonSignIn
  readonly passkeys: Passkeys
  /** Of everybody in the agency who was not removed. */
  personAccessOf(agencyId: string): Promise<readonly PersonAccess[]>
  /** By id, of people in any state. */
  personNamesOf(agencyId: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** The operator's sessions, as they are stored now. */
  operatorSessions(): Promise<readonly StoredSession[]>
  /** The origin of the page, as people open it. */
  pageUrl(): string
  /** The OpenID provider that signs people in; null when there is none. */
  readonly provider: Pick<OidcSignIn, 'name' | 'isOnly' | 'start' | 'finish'> | null
  /** Mails an invitation. @returns whether a mail server has accepted it; never rejects */
  mailInvitation(invitation: InvitationMail): Promise<boolean>
  readonly units: UnitCommands
  readonly fees: FeeCommands
  readonly guests: GuestCommands
  readonly guestErasures: Pick<GuestErasures, 'preview' | 'erase' | 'completeBegun'>
  readonly guestList: GuestList
  readonly bookingList: BookingList
  readonly bookings: AgencyBookings
  readonly bookingHistory: BookingHistory
  readonly unitsAsOf: UnitsAsOf
  readonly bookingNotes: BookingNotes
  readonly tapeStays: TapeStays
  /** As the agency sees them. */
  readonly changes: ChangeFeed<AgencyChange>
  /** AgencyChangeTexts. */
  readonly changeTexts: { render(agencyId: string, changes: readonly AgencyChange[]): Promise<readonly Change[]> }
  readonly tags: EntityTags
  /** Of large answers (`RENDERINGS`). */
  readonly renderings: Pick<FairShares, 'run'>
  readonly auditList: AuditList
  readonly calendarFeeds: CalendarFeeds
  readonly webhooks: WebhookCommands
  readonly idempotency: Pick<IdempotentWrites, 'run'>
  /** Of the write attempts that are not recorded one by one. */
  readonly refusals: Pick<RefusalCounter, 'count'>
  readonly usage: Pick<UsageMeter, 'position'>
  /** By slug: those of the whole service, which the catalogue of one node of several does not have. */
  allAgencies(): readonly Agency[] | Promise<readonly Agency[]>
  /** The id of the agency that a request creates. */
  newAgencyId(request: Request): string
  /** Newest month first, as of the meter's last flush. */
  usageOf(agencyId: string): Promise<readonly MonthUsed[]>
  /** Days with requests, newest first, as of the meter's last flush. @param from `YYYY-MM-DD` */
  usageDaysOf(agencyId: string, from: string): Promise<readonly DayUsed[]>
  /**
   * Checks all agencies, and the memory of the running actors. `signal` is aborted when the caller has gone.
   * @throws VerificationError when it does not finish
   */
  verify(signal: AbortSignal): Promise<Verification>
}

/** What every portal route needs. */
export interface PortalDependencies {
  readonly ledger: PortalLedger
  readonly access: PortalAccess
  /**
   * Counts a request without a valid token, by what its headers say.
   * @returns null: answer 401. Otherwise 429, with the whole seconds to wait
   */
  throttled(request: Request): number | null
  /**
   * The same for a wrong token, passkey or link in a body.
   * @param claim the id of the person whom it claims to be from; null when it does not say
   */
  throttledSignIn(request: Request, claim: string | null): number | null
  /** Whether so many have come from its address that the next one is refused without a look, though it may be right. It is not counted. */
  isFlooding(request: Request): boolean
  /** Of the client (client-address.ts). */
  addressOf(request: Request): string
  readonly requestStats: RequestStats
  onFailure(report: FailureReport): void
}
