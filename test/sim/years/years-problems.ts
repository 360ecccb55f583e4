/** What can be wrong with a ledger after years of retention, archives and restores; empty when everything is as it should be. */
import type { Due } from '../../../src/accounts/retention.ts'
import type { MonthManifest } from '../../../src/app/month-archive.ts'
import { formatNight } from '../../../src/core/domain/night.ts'
import { uuidOf } from '../../../src/lib/ids.ts'
import { readIfPresent } from '../../../src/lib/private-file.ts'
import type { Sql } from '../../../src/postgres/client/connect.ts'
import { erasureIn } from '../../../src/postgres/stores/listed-erasures.ts'

/** Every archive continues the one before it, and the ledger continues the last one. */
export async function chainProblems(sql: Sql, manifests: readonly MonthManifest[]): Promise<string[]> {
  const links = new Map<number, string>()
  const problems: string[] = []
  for (const { month, shards } of manifests)
    for (const { shard, previousLink, lastLink } of shards) {
      if (previousLink !== (links.get(shard) ?? ''))
        problems.push(`the archive of ${month} does not continue shard ${shard}`)
      links.set(shard, lastLink)
    }
  const bases = await sql<{ shard: number; link: string }[]>`
    select shard, encode(base_link, 'hex') as "link" from shard where base > 0`
  for (const { shard, link } of bases)
    if (links.get(shard) !== link) problems.push(`shard ${shard} does not continue its last archive`)
  return problems
}

/** What a round of retention should have removed. */
export async function keptTooLong(
  sql: Sql,
  { guestsBefore, bookingsBefore, deliveriesBefore, logBefore }: Due,
): Promise<string[]> {
  const [row] = await sql<Record<string, number>[]>`
    select (select count(*)::int from guest g
            where g.created_at < ${formatNight(guestsBefore)}::text::date and not exists (
              select from booking b where b.guest_id = g.guest_id and b.status <> 'cancelled'
                and b.departure >= ${formatNight(guestsBefore)}::text::date)) as guests,
           (select count(*)::int from booking b join shard s on s.shard = shard_of(b.agency_id)
            where b.departure < ${formatNight(bookingsBefore)}::text::date and b.seq <= s.base) as bookings,
           (select count(*)::int from webhook_delivery where month < ${deliveriesBefore}::text::date) as deliveries,
           (select count(*)::int from journal where month < ${logBefore}::text::date) as entries`
  return Object.entries(row ?? {}).flatMap(([what, count]) => (count > 0 ? [`${count} ${what} are kept too long`] : []))
}

/** None who was ever erased is there, whatever was restored since. */
export async function erasedGuests(sql: Sql, erasuresFile: string): Promise<string[]> {
  const listed = (readIfPresent(erasuresFile) ?? '').split('\n').flatMap((line) => erasureIn(line) ?? [])
  const ids = `{${listed.map(({ guestId }) => uuidOf(guestId)).join()}}`
  const [row] = await sql<Record<string, number>[]>`
    with listed as materialized (select unnest(${ids}::text::uuid[]) as guest_id)
    select (select count(*)::int from guest join listed using (guest_id)) as guests,
           (select count(*)::int from booking join listed using (guest_id)) as "bookings of guests",
           (select count(*)::int from listed where guest_id not in (select e.guest_id from guest_erasure e where e.erased_at is not null)) as "erasures not complete"`
  return Object.entries(row ?? {}).flatMap(([what, count]) => (count > 0 ? [`${count} ${what} after an erasure`] : []))
}
