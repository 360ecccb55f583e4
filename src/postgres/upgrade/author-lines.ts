import { type Actor, actorOf, type Caller } from '../../core/journal/record.ts'
import { idOf, uuidOf } from '../../lib/ids.ts'
import type { Sql } from '../client/connect.ts'

/** What identifies the line of an entry. */
export interface AuthoredEntry {
  readonly agencyId: string
  readonly bookingId: string | null
  readonly requestId: string | null
  readonly at: Date
}

/** A line `OK` of the old audit trail. */
export interface AuthorLine {
  /** `aud_…` */
  readonly id: string
  readonly caller: Caller
}

interface Line extends AuthorLine {
  readonly atMs: number
}

/** A line is written within moments of its entry. The clock may have jumped in between. */
const NEAR_MS = 2_000
const FAR_MS = 86_400_000

interface StoredLine {
  readonly agencyId: string
  readonly lineId: string
  readonly atMs: number
  readonly actorKind: Actor['kind']
  readonly actorId: string | null
  readonly route: string
  readonly bookingId: string | null
  readonly requestId: string | null
}

/**
 * Assigns lines of the audit trail to entries, which take their author from them: the first line of the same booking and request at
 * the time of the entry, or after it. Each line belongs to one entry.
 */
export class AuthorLines {
  /** As `copy_entries` takes them. */
  readonly taken: { readonly agency_id: string; readonly line_id: string }[] = []
  /** In the order of time. */
  readonly #lines = new Map<string, Line[]>()

  /** Reads the lines that may belong to these entries. */
  static async load(sql: Sql, entries: readonly AuthoredEntry[]): Promise<AuthorLines> {
    const found = new AuthorLines()
    found.#add(await linesNear(sql, entries, NEAR_MS))
    const left = found.#without(entries)
    if (left.length > 0) {
      found.#lines.clear()
      found.#add(await linesNear(sql, left, FAR_MS))
      found.#add(await linesNear(sql, entries, NEAR_MS))
    }
    return found
  }

  /** The entry's line, which is then no other's; null when it has none. Entries must be given in order. */
  take(entry: AuthoredEntry): AuthorLine | null {
    const lines = this.#lines.get(keyOf(entry)) ?? []
    const at = entry.at.getTime()
    const next = lines.findIndex(({ atMs }) => atMs >= at)
    const [line] = lines.splice(next === -1 ? lines.length - 1 : next, lines.length === 0 ? 0 : 1)
    if (line === undefined) return null
    this.taken.push({ agency_id: uuidOf(entry.agencyId), line_id: uuidOf(line.id) })
    return line
  }

  #add(rows: readonly StoredLine[]): void {
    for (const row of rows) {
      const { lineId, atMs, actorKind, actorId, route, requestId } = row
      const actor = actorOf(actorKind, actorId)
      const key = keyOf({ ...row, agencyId: idOf('agc', row.agencyId) })
      const lines = this.#lines.get(key) ?? []
      if (lines.some(({ id }) => id === idOf('aud', lineId))) continue
      lines.push({ id: idOf('aud', lineId), atMs, caller: { actor, route, requestId } })
      lines.sort((a, b) => a.atMs - b.atMs || (a.id < b.id ? -1 : 1))
      this.#lines.set(key, lines)
    }
  }

  /** The entries that have fewer lines than there are entries of their booking and request. */
  #without(entries: readonly AuthoredEntry[]): readonly AuthoredEntry[] {
    const wanted = new Map<string, number>()
    return entries.filter((entry) => {
      const key = keyOf(entry)
      const count = (wanted.get(key) ?? 0) + 1
      wanted.set(key, count)
      return count > (this.#lines.get(key)?.length ?? 0)
    })
  }
}

function keyOf({
  agencyId,
  bookingId,
  requestId,
}: Pick<AuthoredEntry, 'agencyId' | 'bookingId' | 'requestId'>): string {
  return `${agencyId}|${bookingId ?? ''}|${requestId ?? ''}`
}

/** The lines of the entries' agencies, from `ms` before the first of the agency's entries to `ms` after the last. */
async function linesNear(sql: Sql, entries: readonly AuthoredEntry[], ms: number): Promise<readonly StoredLine[]> {
  const ranges = new Map<string, { from: number; to: number }>()
  for (const { agencyId, at } of entries) {
    const range = ranges.get(agencyId) ?? { from: at.getTime(), to: at.getTime() }
    ranges.set(agencyId, { from: Math.min(range.from, at.getTime()), to: Math.max(range.to, at.getTime()) })
  }
  const wanted = [...ranges].map(([agencyId, { from, to }]) => ({
    agency_id: uuidOf(agencyId),
    from: new Date(from - ms).toISOString(),
    until: new Date(to + ms).toISOString(),
  }))
  return await sql<StoredLine[]>`
    select a.agency_id as "agencyId", a.line_id as "lineId", round(extract(epoch from a.at) * 1000)::float8 as "atMs",
           a.actor_kind as "actorKind", a.actor_id as "actorId", a.route, a.booking_id as "bookingId", a.request_id as "requestId"
    from jsonb_to_recordset(${JSON.stringify(wanted)}::text::jsonb) as w (agency_id uuid, "from" timestamptz, until timestamptz)
    cross join lateral (
      select * from ledger_upgrade.audit_ok a
      where a.agency_id = w.agency_id and a.at between w."from" and w.until) a
    order by a.at, a.line_id`
}
