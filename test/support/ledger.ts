import type { Ledger } from '../../src/app/ledger.ts'
import type { AccessToken, Agency, ApiKey, Role } from '../../src/core/catalogue/agency.ts'
import type { Booking } from '../../src/core/domain/booking.ts'
import type { FeeType, Unit } from '../../src/core/domain/unit.ts'
import { systemIds } from '../../src/lib/ids.ts'
import { makeAccessToken, makeFeeType, makeKey } from './fixtures.ts'
import { addAgency, addUnit, openTestDatabaseLedger, type Reports } from './open-ledger.ts'
import { type TestDatabase, testDatabase } from './postgres.ts'
import { AGENCY, AMPLE_PLAN, CALLER, requestFor, sampleUnit } from './samples.ts'

export interface TestKey {
  readonly key: ApiKey
  /** As a partner sends it. */
  readonly secret: string
}

export interface TestAccessToken {
  readonly token: AccessToken
  /** As it is sent. */
  readonly secret: string
}

/** The real ledger on a database of its own, with what a test fills it with. */
export interface TestLedger {
  readonly ledger: Ledger & { reports: Reports }
  readonly database: TestDatabase
  agency(change?: Partial<Agency>): Promise<Agency>
  /** A key with every scope, unless the change says otherwise. */
  key(agency: Agency, change?: Partial<ApiKey>): Promise<TestKey>
  accessToken(agency: Agency, role: Role, change?: Partial<AccessToken>): Promise<TestAccessToken>
  /** Slug and name come from the id unless the change says otherwise. */
  unit(agency: Agency, change?: Partial<Unit>): Promise<Unit>
  feeType(agency: Agency, change?: Partial<FeeType>): Promise<FeeType>
  /** A stay in the unit's calendar. */
  book(agency: Agency, unit: Unit, arrival: string, departure: string): Promise<Booking>
  close(): Promise<void>
}

/** @param options.on opens it again on the database of another, which keeps it */
export async function openTestLedger(
  options: Pick<NonNullable<Parameters<typeof openTestDatabaseLedger>[1]>, 'limits' | 'clock' | 'listErasure'> & {
    on?: TestDatabase
  } = {},
): Promise<TestLedger> {
  const { on } = options
  const database = on ?? (await testDatabase())
  const ledger = await openTestDatabaseLedger(database.url, options)
  return {
    ledger,
    database,
    agency: (change = {}) => {
      const id = systemIds('agc')
      return addAgency(ledger, { ...AGENCY, id, slug: id.replace('_', '-'), plan: AMPLE_PLAN, ...change })
    },
    key: (agency, change) => makeKey(ledger, agency, change),
    accessToken: (agency, role, change) => makeAccessToken(ledger, agency, role, change),
    unit: (agency, change = {}) => {
      const id = systemIds('unt')
      return addUnit(ledger, agency, sampleUnit({ id, slug: id.replace('_', '-'), name: `Unit ${id}`, ...change }))
    },
    feeType: (agency, change) => makeFeeType(ledger, agency, change),
    book: async (agency, unit, arrival, departure) => {
      const outcome = await ledger.commands.book(agency, requestFor(unit, arrival, departure), CALLER)
      if (outcome.kind !== 'done') throw new Error('Cannot book nights in a test: they are taken')
      return outcome.booking
    },
    close: async () => {
      await ledger.close()
      if (on === undefined) await database.drop()
    },
  }
}
