import { type Month, monthOf } from '../../src/core/journal/shard.ts'
import { type Clock, systemClock } from '../../src/lib/clock.ts'
import type { Sql } from '../../src/postgres/client/connect.ts'

/** The real clock, with the time of day that a test says. */
export function clockAt(at: () => number): Clock {
  return { ...systemClock, now: at }
}

/** The first day of the month `months` months before this one, UTC. */
export function monthsAgo(months: number): Month {
  const now = new Date()
  return monthOf(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months, 1))
}

/** Makes an empty ledger one that has partitions since `oldest`. */
export async function haveMonthsSince(sql: Sql, oldest: Month): Promise<void> {
  const partitions = await sql<{ name: string }[]>`
    select c.relname as "name" from pg_inherits i join pg_class c on c.oid = i.inhrelid where c.relkind = 'r'`
  for (const { name } of partitions) await sql.unsafe(`drop table ${name}`)
  await sql`
    update ledger set oldest_month = ${oldest}::text::date, newest_month = ${oldest}::text::date - interval '1 month'`
  await sql`select ensure_months((now() at time zone 'UTC' + interval '3 months')::date)`
}
