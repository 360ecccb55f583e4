import type { Ledger, LedgerLimits } from '../../src/app/open-ledger.ts'
import type { Agency, ApiKey } from '../../src/core/catalogue/agency.ts'
import type { FeeType } from '../../src/core/domain/rules.ts'
import type { Unit } from '../../src/core/domain/unit.ts'
import type { Clock } from '../../src/lib/clock.ts'
import { systemIds } from '../../src/lib/ids.ts'
import { makeFeeType, makeKey } from './fixtures.ts'
import { AGENCY } from './memory-ledger.ts'
import { addAgency, addUnit, openTestDatabaseLedger, type Reports } from './open-ledger.ts'
import { type TestDatabase, testDatabase } from './postgres.ts'
import { sampleUnit } from './samples.ts'

/** A plan that no test of something else meets the limits of. */
const AMPLE_PLAN = { apiAccess: true, requestsPerMinute: 1_000_000, requestsPerMonth: 100_000_000 }

export interface TestKey {
  readonly key: ApiKey
  /** As a partner sends it. */
  readonly secret: string
}

/** The real ledger on a database of its own, with what a test fills it with. */
export interface TestLedger {
  readonly ledger: Ledger & { reports: Reports }
  readonly database: TestDatabase
  agency(change?: Partial<Agency>): Promise<Agency>
  /** A key with every scope, unless the change says otherwise. */
  key(agency: Agency, change?: Partial<ApiKey>): Promise<TestKey>
  /** Slug and name come from the id unless the change says otherwise. */
  unit(agency: Agency, change?: Partial<Unit>): Promise<Unit>
  feeType(agency: Agency, change?: Partial<FeeType>): Promise<FeeType>
  close(): Promise<void>
}

export async function openTestLedger(
  options: { limits?: Partial<LedgerLimits>; clock?: Clock } = {},
): Promise<TestLedger> {
  const database = await testDatabase()
  const ledger = await openTestDatabaseLedger(database.url, options)
  return {
    ledger,
    database,
    agency: (change = {}) => {
      const id = systemIds('agc')
      return addAgency(ledger, { ...AGENCY, id, slug: id.replace('_', '-'), plan: AMPLE_PLAN, ...change })
    },
    key: (agency, change) => makeKey(ledger, agency, change),
    unit: (agency, change = {}) => {
      const id = systemIds('unt')
      return addUnit(ledger, agency, sampleUnit({ id, slug: id.replace('_', '-'), name: `Unit ${id}`, ...change }))
    },
    feeType: (agency, change) => makeFeeType(ledger, agency, change),
    close: async () => {
      await ledger.close()
      await database.drop()
    },
  }
}
