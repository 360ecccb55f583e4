import { DEFAULT_LIMITS, type Ledger, type LedgerLimits, openLedger } from '../../src/app/open-ledger.ts'
import type { BookingRequest } from '../../src/core/bookings/booking-request.ts'
import type { Caller } from '../../src/core/bookings/caller.ts'
import type { Agency } from '../../src/core/catalogue/agency.ts'
import type { Unit } from '../../src/core/domain/unit.ts'
import { type Clock, systemClock } from '../../src/lib/clock.ts'
import { makeAgency } from './fixtures.ts'
import { AGENCY } from './memory-ledger.ts'
import { night } from './samples.ts'

export const CALLER: Caller = { actor: { kind: 'key', id: 'key_a' }, route: 'POST /test', requestId: 'req_test' }

/** What a ledger reported while a test ran. */
export interface Reports {
  readonly fenced: unknown[]
  readonly defects: { defect: string; unitId: string; seq: number }[]
  readonly failures: unknown[]
}

/** The real ledger on a test database, as main.ts opens it. */
export async function openTestDatabaseLedger(
  url: string,
  options: { limits?: Partial<LedgerLimits>; clock?: Clock; onBookingChange?: (agencyId: string) => void } = {},
): Promise<Ledger & { reports: Reports }> {
  const reports: Reports = { fenced: [], defects: [], failures: [] }
  const ledger = await openLedger({
    databaseUrl: url,
    clock: options.clock ?? systemClock,
    limits: { ...DEFAULT_LIMITS, ...options.limits },
    holder: 'test',
    onBookingChange: (agencyId) => options.onBookingChange?.(agencyId),
    watch: {
      onFenced: (cause) => reports.fenced.push(cause),
      onSnapshotDefect: (defect) => reports.defects.push(defect),
      onSnapshotFailure: (error) => reports.failures.push(error),
      onHoldTimerFailure: (error) => reports.failures.push(error),
      onHoldFailure: (fields) => reports.failures.push(fields),
      onBug: (error) => reports.failures.push(error),
      onHousekeepingFailure: (error) => reports.failures.push(error),
      onTakeOverFailure: (error) => reports.failures.push(error),
      onCountersNotWritten: (error) => reports.failures.push(error),
    },
  })
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

/** A partner's request for a stay of two adults. */
export function requestFor(
  unit: Unit,
  arrival: string,
  departure: string,
  change: Partial<BookingRequest> = {},
): BookingRequest {
  return {
    unit,
    stay: { arrival: night(arrival), departure: night(departure) },
    type: 'guest',
    status: 'confirmed',
    source: 'partner',
    sourceRef: null,
    adults: 2,
    children: 0,
    extraBed: false,
    notes: null,
    holdHours: null,
    guest: null,
    enforcement: 'partner',
    ...change,
  }
}
