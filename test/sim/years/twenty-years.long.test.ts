import { expect, test } from 'bun:test'
import { RETENTION } from '../../../src/accounts/retention.ts'
import { systemPostgres } from '../../support/system-postgres.ts'
import { startDumpedServer } from './dumped-server.ts'
import { SimulatedYears, TWENTY_YEARS, type Year } from './simulated-years.ts'

const UNITS_PER_AGENCY = 40
/** The first months are archived in the eleventh year. */
const RESTORED_AFTER = 12

/**
 * The year from whose end a table has no reason to grow. What is removed for the first time in the year after it was kept leaves space that the
 * rows of the next year use.
 */
const flatFrom = (keptYears: number) => keptYears + 1
const LOG = flatFrom(RETENTION.logYears.default)
const FLAT_FROM = {
  journal: LOG,
  audit_line: LOG,
  // Of 90 days; but a month that was emptied has the first pages of its indexes until it is archived with its log.
  webhook_delivery: LOG,
  webhook_attempt: LOG,
  guest: flatFrom(RETENTION.guestMonths.default / 12),
  // after_restore writes every booking once more.
  booking: Math.max(flatFrom(RETENTION.bookingYears.default), RESTORED_AFTER + 1),
}

const programs = systemPostgres()
if (programs === null) console.log('The restore is a copy of the database here: PostgreSQL is not installed')

test('twenty years of 400 units, with the default times: what is not kept takes no more disk, and a restored dump continues', async () => {
  const server = programs === null ? undefined : await startDumpedServer(programs)
  const years = await SimulatedYears.open({ ...TWENTY_YEARS, unitsPerAgency: UNITS_PER_AGENCY }, server)
  try {
    const lived: Year[] = []
    for (let n = 1; n <= TWENTY_YEARS.years; n++) {
      const year = await years.live()
      lived.push(year)
      console.log(JSON.stringify(year))
      expect([year.year, await years.problems()]).toEqual([year.year, []])
      if (n !== RESTORED_AFTER) continue
      expect(await years.restore()).toMatch(/ [1-9]\d* guests were erased again/)
      expect([year.year, await years.problems()]).toEqual([year.year, []])
    }
    const kb = (table: string, n: number) => lived[n - 1]?.disk[table] ?? 0
    const grown = Object.entries(FLAT_FROM).filter(([table, from]) => kb(table, 20) > 1.25 * kb(table, from))
    expect(grown).toEqual([])
  } finally {
    await years.close()
    await server?.stop()
  }
}, 1_800_000)
