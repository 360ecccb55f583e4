/** The composition root of the portal: its ports meet what implements them. */
import { randomBytes } from 'node:crypto'
import type { Ledger } from './open-ledger.ts'
import { PostgresAgencyBookings } from '../postgres/stores/postgres-agency-bookings.ts'
import { PostgresAgencyStore } from '../postgres/stores/postgres-agency-store.ts'
import { PostgresAuditList } from '../postgres/stores/postgres-audit-list.ts'
import { PostgresCalendarFeedRows } from '../postgres/stores/postgres-calendar-feed-rows.ts'
import { PostgresUsageRows } from '../postgres/stores/postgres-usage-rows.ts'
import { AgencyDesk } from '../admin/agency-commands.ts'
import { CalendarFeeds } from '../admin/calendar-feeds.ts'
import { FeeDesk } from '../admin/fee-commands.ts'
import { GuestDesk } from '../admin/guest-commands.ts'
import { KeyDesk } from '../admin/key-commands.ts'
import { UnitDesk } from '../admin/unit-commands.ts'
import { newKeySecret } from '../access/key-secret.ts'
import type { PortalLedger } from '../api/portal/portal-dependencies.ts'
import { stateHash } from '../core/journal/snapshot-codec.ts'
import { sameProgram } from './same-program.ts'
import { RUN_VERIFICATION } from '../verify/verification-messages.ts'
import { type PeekUnit, VerificationProcess } from '../verify/verification-process.ts'
import type { WebhookDesk } from '../webhooks/webhook-commands.ts'

export interface PortalOptions {
  /** 32 bytes; calendar addresses are derived from it. */
  readonly secretKey: Uint8Array
  readonly webhooks: WebhookDesk
  readonly withoutIdleTimeout: PortalLedger['withoutIdleTimeout']
  /** Aborted when the service stops: a verification is not waited for. */
  readonly draining: AbortSignal
}

/** What the portal's routes run on. */
export function openPortal(
  ledger: Ledger,
  { secretKey, webhooks, withoutIdleTimeout, draining }: PortalOptions,
): PortalLedger {
  const { sql, lists, clock, newId, catalogue, desk, guestList, bookingList, usage } = ledger
  const epoch = () => ledger.epoch
  const store = new PostgresAgencyStore(sql, epoch)
  const verification = new VerificationProcess({
    databaseUrl: ledger.databaseUrl,
    command: sameProgram(RUN_VERIFICATION),
    peek: peekUnit(ledger),
    clock,
  })
  const usageRows = new PostgresUsageRows(sql)
  return {
    ...{ clock, newId, catalogue, desk, guestList, bookingList, usage },
    agencies: new AgencyDesk({ catalogue, store, clock, newId }),
    keys: new KeyDesk({ catalogue, store, clock, newId, makeSecret: () => newKeySecret(randomBytes) }),
    units: new UnitDesk({ catalogue, desk, newId }),
    fees: new FeeDesk({ catalogue, store, clock, newId }),
    guests: new GuestDesk({ guests: guestList, store, clock, newId }),
    bookings: new PostgresAgencyBookings(sql, lists),
    auditList: new PostgresAuditList(lists),
    calendarFeeds: new CalendarFeeds({ rows: new PostgresCalendarFeedRows(sql, epoch), secretKey, clock, newId }),
    webhooks,
    usageOf: (agencyId) => usageRows.usageOf(agencyId),
    verify: (signal) => verification.verify(AbortSignal.any([signal, draining])),
    withoutIdleTimeout,
  }
}

function peekUnit({ directory }: Ledger): PeekUnit {
  return (unitId) => {
    const state = directory.peek(unitId)
    return state === null ? null : { seq: state.seq, hash: stateHash(state) }
  }
}
