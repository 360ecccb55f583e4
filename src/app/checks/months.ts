import { monthsAhead } from '../months-ahead.ts'
import { type Check, type DatabaseWorld, failure, ok, warning } from './check.ts'

/** As NightledgerMonthsMissing. */
const WARNED_BELOW = 2

/** Whether the log has partitions for the coming months. */
export const months: Check<DatabaseWorld> = {
  name: 'months',
  run: async ({ sql }) => {
    const [row] = await sql<{ newest: string; now: number }[]>`
      select newest_month::text as "newest", extract(epoch from clock_timestamp())::float8 * 1000 as "now" from ledger`
    const ahead = row === undefined ? null : monthsAhead(row.newest, row.now)
    const fix =
      'Run `nightledger migrate`, which creates the next months. The service does so once a day, and logs an error if it cannot.'
    if (ahead === null || ahead < 0)
      return [failure('The log has no partition for this month: rows go into the last partition.', fix)]
    const text = `The log has partitions for ${ahead} ${ahead === 1 ? 'month' : 'months'} after this one.`
    return [ahead < WARNED_BELOW ? warning(text, fix) : ok(text)]
  },
}
