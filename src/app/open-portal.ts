/** The composition root of the portal: connects its ports to their implementations. */
import { randomBytes } from 'node:crypto'
import { AccessTokenCommands } from '../accounts/access-token-commands.ts'
import { AgencyCommands } from '../accounts/agency-commands.ts'
import type { AgencyStore } from '../accounts/agency-store.ts'
import { BookingNotes } from '../accounts/booking-notes.ts'
import { CalendarFeeds } from '../accounts/calendar-feeds.ts'
import { FeeCommands } from '../accounts/fee-commands.ts'
import { GuestCommands } from '../accounts/guest-commands.ts'
import { type InvitationMail, InvitationMails, type Mailer } from '../accounts/invitation-mails.ts'
import { KeyCommands } from '../accounts/key-commands.ts'
import { type OidcFailure, type OidcProvider, OidcSignIn } from '../accounts/oidc-sign-in.ts'
import { Passkeys } from '../accounts/passkeys.ts'
import { PeopleCommands } from '../accounts/people-commands.ts'
import { PersonChanges } from '../accounts/person-changes.ts'
import { LinkSecrets } from '../accounts/person-links.ts'
import { PersonSignIn } from '../accounts/person-sign-in.ts'
import { RetentionCommands } from '../accounts/retention-commands.ts'
import type { RetentionRound } from '../accounts/retention-job.ts'
import { Sandboxes } from '../accounts/sandboxes.ts'
import { makeSecret } from '../accounts/secrets.ts'
import { UnitCommands } from '../accounts/unit-commands.ts'
import type { UsageDraft } from '../accounts/usage-meter.ts'
import { AgencyChangeTexts } from '../api/portal/agency-change-text.ts'
import { redirectUriOf } from '../api/portal/oidc.ts'
import type { PortalLedger, PortalListener } from '../api/portal/portal-dependencies.ts'
import { RENDERINGS } from '../api/portal/renderings.ts'
import { stateHash } from '../core/journal/snapshot-codec.ts'
import type { WebhookCommands } from '../events/webhooks/webhook-commands.ts'
import { FairShares } from '../lib/queues.ts'
import { PostgresAgencyBookings } from '../postgres/stores/postgres-agency-bookings.ts'
import { PostgresAgencyStore } from '../postgres/stores/postgres-agency-store.ts'
import { PostgresAuditList } from '../postgres/stores/postgres-audit-list.ts'
import { PostgresCalendarFeedRows } from '../postgres/stores/postgres-calendar-feed-rows.ts'
import { PostgresPersonRows } from '../postgres/stores/postgres-person-rows.ts'
import { PostgresRetentionRows } from '../postgres/stores/postgres-retention-rows.ts'
import { PostgresSessionRows } from '../postgres/stores/postgres-session-rows.ts'
import { PostgresTapeStays } from '../postgres/stores/postgres-tape-stays.ts'
import { PostgresUsageRows } from '../postgres/stores/postgres-usage-rows.ts'
import {
  type ResidentUnit,
  type ResidentUnits,
  RUN_VERIFICATION,
  VerificationProcess,
} from '../verify/verification-process.ts'
import type { Ledger } from './ledger.ts'
import { selfCommand } from './self-command.ts'

interface PortalOptions {
  /** 32 bytes; calendar addresses are derived from it, and it opens the keys of the chains for a verification. */
  readonly secretKey: Uint8Array
  readonly webhooks: WebhookCommands
  /** Aborted when the service stops: a verification is not waited for. */
  readonly draining: AbortSignal
  /** How people sign in, and are invited. */
  readonly people: Pick<PortalLedger, 'pageUrl'> & {
    /** null: nobody signs in with a provider. */
    readonly oidc: OidcProvider | null
    onOidcFailure(failure: OidcFailure): void
    /** null: no mail is sent. */
    readonly mailer: Mailer | null
  }
  /** Of this process's memory, or of the database. */
  readonly agencies: Pick<PortalLedger, 'allAgencies' | 'newAgencyId'>
  /** Of all workers of the service; null: this process has none beside it. */
  readonly runRetention: ((isDryRun: boolean) => Promise<RetentionRound>) | null
  /** Those of the units that any worker has in memory; null: this process has no workers beside it. */
  readonly residentUnits: ResidentUnits | null
}

/** What the portal's routes need, whichever listener serves them. */
export function openPortal(
  ledger: Ledger,
  { secretKey, webhooks, draining, agencies, runRetention, residentUnits, people }: PortalOptions,
): Omit<PortalLedger, keyof PortalListener> {
  const { sql, lists, clock, newId, catalogue, commands, guestList, bookingList, usage, refusals, idempotency } = ledger
  const { agencyChanges: changes, tags, bookingHistory, unitsAsOf } = ledger
  const epochOf = (agencyId: string) => ledger.epochOf(agencyId)
  const store = agencyStore(ledger)
  const verification = new VerificationProcess({
    databaseUrl: ledger.databaseUrl,
    secretKeyHex: Buffer.from(secretKey).toString('hex'),
    command: selfCommand(RUN_VERIFICATION),
    residentUnits: residentUnits ?? (async (unitIds) => residentUnitsOf(ledger, unitIds)),
    clock,
  })
  const bookings = new PostgresAgencyBookings(sql, lists)
  const usageRows = new PostgresUsageRows(sql)
  const renderings = new FairShares({ ...RENDERINGS, clock })
  const forgetChanges = (agencyId: string) => {
    for (const feed of [ledger.changes, ledger.agencyChanges]) feed.forget((id) => id === agencyId)
  }
  const agencyCommands = new AgencyCommands({
    catalogue,
    store,
    clock,
    newId,
    onSuspended: (agencyId) => ledger.sessions.endAllOf(agencyId),
  })
  const { rows: personRows, ...openedPeople } = openPeople(ledger, { secretKey, people })
  const sessionRows = new PostgresSessionRows(sql)
  const fees = new FeeCommands({ catalogue, store, clock, newId })
  return {
    clock,
    newId,
    catalogue,
    commands,
    guestList,
    bookingList,
    bookingHistory,
    unitsAsOf,
    usage,
    refusals,
    idempotency,
    changes,
    tags,
    agencies: agencyCommands,
    retention: new RetentionCommands({
      rows: new PostgresRetentionRows(sql, epochOf),
      job: ledger.retention,
      run: runRetention,
      clock,
      newId,
    }),
    sandboxClocks: ledger.sandboxClocks,
    sandboxes: new Sandboxes({
      catalogue,
      agencies: agencyCommands,
      fees,
      commands,
      rows: ledger.sandboxRows,
      store,
      clock,
      newId,
      onEnded: forgetChanges,
      onReplaced: (formerId, id) => {
        if (formerId !== null) usage.carryOver(formerId, id)
        webhooks.endpointsMoved(id)
      },
    }),
    keys: new KeyCommands({ catalogue, store, clock, newId, makeSecret }),
    accessTokens: new AccessTokenCommands({ catalogue, store, clock, newId, makeSecret }),
    ...openedPeople,
    personAccessOf: (agencyId) => personRows.accessOf(agencyId),
    personNamesOf: (agencyId, ids) => personRows.namesOf(agencyId, ids),
    operatorSessions: () => sessionRows.load('operator'),
    pageUrl: people.pageUrl,
    units: new UnitCommands({ catalogue, commands, clock, newId }),
    fees,
    guestErasures: ledger.guestErasures,
    guests: new GuestCommands({ guests: guestList, store, clock, newId }),
    bookings,
    bookingNotes: new BookingNotes({
      bookings,
      store,
      clock,
      newId,
      onErased: forgetChanges,
    }),
    renderings,
    changeTexts: new AgencyChangeTexts({ bookings, renderings }),
    tapeStays: new PostgresTapeStays(lists),
    auditList: new PostgresAuditList(lists),
    calendarFeeds: new CalendarFeeds({
      rows: new PostgresCalendarFeedRows(sql, epochOf),
      secretKey,
      clock,
      newId,
      termOf: ledger.ownership.termOf,
    }),
    webhooks,
    ...agencies,
    usageOf: (agencyId) => usageRows.usageOf(agencyId),
    usageDaysOf: (agencyId, from) => usageRows.daysOf(agencyId, from),
    verify: (signal) => verification.verify(AbortSignal.any([signal, draining])),
  }
}

/** How the people of agencies are invited, and sign in. */
export function openPeople(ledger: Ledger, { secretKey, people }: Pick<PortalOptions, 'secretKey' | 'people'>) {
  const { sql, lists, catalogue, sessions, clock, newId } = ledger
  const rows = new PostgresPersonRows(sql, { lists, epochOf: (agencyId) => ledger.epochOf(agencyId) })
  const passkeys = new Passkeys({ secretKey, publicUrl: people.pageUrl, clock })
  const links = new LinkSecrets({ secretKey, random: randomBytes })
  const changes = new PersonChanges({ catalogue, rows, sessions, clock })
  const common = { catalogue, rows, changes, clock, newId, links }
  const personSignIn = new PersonSignIn({ ...common, passkeys, sessions })
  const provider =
    people.oidc &&
    new OidcSignIn({
      provider: people.oidc,
      redirectUri: () => redirectUriOf(people.pageUrl()),
      secretKey,
      clock,
      linksOf: (email, browser) => personSignIn.linksOf(email, browser),
      onFailure: people.onOidcFailure,
    })
  const mails = new InvitationMails({ mailer: people.mailer, clock })
  return {
    rows,
    passkeys,
    people: new PeopleCommands({ ...common, store: agencyStore(ledger), provider }),
    personSignIn,
    provider,
    mailInvitation: (invitation: InvitationMail) => mails.send(invitation),
  }
}

/** Writes what the portal and the demo change of an agency. */
export function agencyStore(ledger: Ledger): AgencyStore {
  return new PostgresAgencyStore(ledger.sql, (agencyId) => ledger.epochOf(agencyId))
}

/** Stores the usage of months that no meter counts: of the demo. */
export function usageKeeper(ledger: Ledger): (usage: readonly UsageDraft[]) => Promise<void> {
  const rows = new PostgresUsageRows(ledger.sql)
  return (usage) => rows.keep((agencyId) => ledger.epochOf(agencyId), usage)
}

/** Those of the units that are resident in this process, for a verification. */
export function residentUnitsOf(
  { directory }: Pick<Ledger, 'directory'>,
  unitIds: readonly string[],
): readonly ResidentUnit[] {
  return unitIds.flatMap((unitId): ResidentUnit[] => {
    const state = directory.peek(unitId)
    return state === null ? [] : [[unitId, { seq: state.seq, hash: stateHash(state) }]]
  })
}
