import { readConfig } from '../../src/app/config.ts'
import type { Ledger, LedgerLimits, LedgerOptions } from '../../src/app/ledger.ts'
import { prepareLedger } from '../../src/app/open-ledger.ts'
import { WholeLedger } from '../../src/cluster/whole-ledger.ts'
import type { Agency } from '../../src/core/catalogue/agency.ts'
import type { Unit } from '../../src/core/domain/unit.ts'
import { type Clock, systemClock } from '../../src/lib/clock.ts'
import { makeAgency } from './fixtures.ts'
import { asService } from './postgres.ts'
import { AGENCY, CALLER } from './samples.ts'
import { TEST_SECRET_KEY } from './service-process.ts'

/** Those of a service whose environment sets none. */
export const DEFAULT_LIMITS: LedgerLimits = readConfig({}).limits

/** Fewer than the service has: hundreds of tests open a ledger, and of what that takes, new connections were a third. */
const QUERY_CONNECTIONS = 3

/** What a ledger reported while a test ran. */
export interface Reports {
  readonly fenced: unknown[]
  readonly defects: { defect: string; unitId: string; seq: number }[]
  readonly damaged: { agencyId: string; unitId: string }[]
  readonly failures: unknown[]
}

/** The real ledger on a test database, as main.ts opens it: with the role that serves. */
export async function openTestDatabaseLedger(
  url: string,
  options: {
    limits?: Partial<LedgerLimits>
    clock?: Clock
    onBookingChange?: (agencyId: string) => void
    onUnitChange?: (agencyId: string) => void
    listErasure?: NonNullable<LedgerOptions['listErasure']>
  } = {},
): Promise<Ledger & { reports: Reports }> {
  const reports: Reports = { fenced: [], defects: [], damaged: [], failures: [] }
  const { ledger, begin } = await prepareLedger({
    databaseUrl: asService(url),
    queryConnections: QUERY_CONNECTIONS,
    secretKey: Uint8Array.fromHex(TEST_SECRET_KEY),
    clock: options.clock ?? systemClock,
    limits: { ...DEFAULT_LIMITS, ...options.limits },
    holder: 'test',
    openOwnership: (parts) => new WholeLedger(parts),
    onBookingChange: (agencyId) => options.onBookingChange?.(agencyId),
    onUnitChange: (agencyId) => options.onUnitChange?.(agencyId),
    ...(options.listErasure && { listErasure: options.listErasure }),
    watch: {
      onFenced: (cause) => reports.fenced.push(cause),
      onEntriesLost: (error) => reports.failures.push(error),
      onSnapshotDefect: (defect) => reports.defects.push(defect),
      onDamagedUnit: (fields) => reports.damaged.push(fields),
      onSnapshotFailure: (error) => reports.failures.push(error),
      onHoldTimerFailure: (error) => reports.failures.push(error),
      onHoldFailure: (fields) => reports.failures.push(fields),
      onBug: (error) => reports.failures.push(error),
      onHousekeepingFailure: (error) => reports.failures.push(error),
      onTakeOverFailure: (error) => reports.failures.push(error),
      onConfirmed: () => {},
      onCountersNotWritten: (error) => reports.failures.push(error),
    },
  })
  await begin()
  return { ...ledger, reports }
}

export function addAgency(ledger: Ledger, change: Partial<Agency> = {}): Promise<Agency> {
  return makeAgency(ledger, { ...AGENCY, ...change })
}

export async function addUnit(ledger: Ledger, agency: Agency, unit: Unit): Promise<Unit> {
  const set = await ledger.commands.setUnit(agency, unit.id, () => unit, CALLER)
  if (set === null) throw new Error('Cannot add a unit in a test')
  return set
}
