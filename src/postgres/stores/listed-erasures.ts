/** Erasures as they are listed outside the database: a line of JSON each, ids only. */
import { instantText } from '../../lib/clock.ts'
import { idOf, uuidIn } from '../../lib/ids.ts'
import type { Sql } from '../client/connect.ts'

/** `{at, agencyId, guestId}`. */
export interface ListedErasure {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly agencyId: string
  readonly guestId: string
}

export function erasureLine({ at, agencyId, guestId }: ListedErasure): string {
  return `${JSON.stringify({ at: instantText(at), agencyId, guestId })}\n`
}

/** @returns null when the line is not one of `erasureLine` */
export function erasureIn(line: string): ListedErasure | null {
  try {
    const { at, agencyId, guestId } = JSON.parse(line) as Record<string, unknown>
    const ms = Date.parse(String(at))
    const isListed = uuidIn('agc', String(agencyId)) !== null && uuidIn('gst', String(guestId)) !== null
    return Number.isNaN(ms) || !isListed ? null : { at: ms, agencyId: String(agencyId), guestId: String(guestId) }
  } catch {
    return null
  }
}

/** All erasures, oldest first, in pages. */
export async function* storedErasures(sql: Sql): AsyncGenerator<readonly ListedErasure[]> {
  const pages = sql<{ at: Date; agencyId: string; guestId: string }[]>`
    select at, agency_id as "agencyId", guest_id as "guestId" from guest_erasure order by at, agency_id, guest_id`.cursor(
    1_000,
  )
  for await (const page of pages)
    yield page.map(({ at, agencyId, guestId }) => ({
      at: at.getTime(),
      agencyId: idOf('agc', agencyId),
      guestId: idOf('gst', guestId),
    }))
}

/** What `repeatErasures` found. */
export interface RepeatedErasures {
  /** Guests who were in the restored database, and are erased now. */
  readonly erased: number
  /** Guests who were not in it, or were erased in it already. */
  readonly absent: number
}

/** Erases these guests again. The service must not be running: it completes the log when it starts. */
export async function repeatErasures(sql: Sql, listed: readonly ListedErasure[]): Promise<RepeatedErasures> {
  const erased = listed.map(({ at, agencyId, guestId }) => ({
    at: instantText(at),
    agency_id: uuidIn('agc', agencyId),
    guest_id: uuidIn('gst', guestId),
  }))
  const [row] = await sql<{ erased: number }[]>`
    select repeat_erasures(${JSON.stringify(erased)}::text::jsonb) as "erased"`
  const guests = new Set(listed.map(({ guestId }) => guestId)).size
  return { erased: row?.erased ?? 0, absent: guests - (row?.erased ?? 0) }
}

/**
 * The moment that the database was restored to: the time of its newest journal entry. Sandbox entries do not count, because their clocks
 * can stand still or be ahead. Null: there is no entry.
 */
export async function restoredMoment(sql: Sql): Promise<number | null> {
  const [row] = await sql<{ at: Date | null }[]>`
    select max(j.at) as "at" from agency a
    cross join lateral (
      select j.at from journal j where j.agency_id = a.agency_id order by j.at desc, j.entry_id desc limit 1) j
    where a.clock_now is null and a.status <> 'deleted'`
  return row?.at?.getTime() ?? null
}
