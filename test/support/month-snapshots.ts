import type { Ledger } from '../../src/app/ledger.ts'
import { MonthSnapshots } from '../../src/core/units/month-snapshots.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { PostgresJournalStore } from '../../src/postgres/stores/postgres-journal-store.ts'
import { PostgresUnitsWithoutSnapshot } from '../../src/postgres/stores/postgres-units-without-snapshot.ts'
import type { TestDatabase } from './postgres.ts'

/** One round of the snapshots that the service writes every day. @returns the defects of snapshots that it met */
export async function writeMonthSnapshots(
  { url, sql }: TestDatabase,
  ledger: Pick<Ledger, 'epochOf'>,
): Promise<string[]> {
  const defects: string[] = []
  const failures: unknown[] = []
  const store = new PostgresJournalStore({ url, queries: sql, epochOf: (agencyId) => ledger.epochOf(agencyId) })
  await new MonthSnapshots({
    units: new PostgresUnitsWithoutSnapshot(sql),
    store,
    clock: systemClock,
    onDefect: (defect) => void defects.push(defect),
    onFailure: (error) => void failures.push(error),
  }).run()
  await store.close()
  if (failures.length > 0) throw failures[0]
  return defects
}
