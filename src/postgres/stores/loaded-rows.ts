/** The rows that `load_unit` and `load_units` answer with. */

import type { StoredEntry } from '../../core/journal/entry-codec.ts'
import type { StoredUnit, WriterTerm } from '../../core/journal/journal-store.ts'
import type { StoredSnapshot } from '../../core/journal/snapshot-codec.ts'
import { idOrNull } from '../../lib/ids.ts'

/** A row of `take_over` and `take_shards`. */
export interface TakenRow {
  shard: number
  epoch: number
  lastSeq: number
  lastMonth: string
  lastLink: Uint8Array
  newestMonth: string
}

/** @throws Error when there is none */
export function termOf(rows: readonly TakenRow[]): WriterTerm {
  const [row] = rows
  if (row === undefined) throw new Error('Cannot take shards over: the database did not answer with them')
  const shards = rows.map(({ newestMonth: _, ...shard }) => shard)
  return { shards, newestMonth: row.newestMonth }
}

export interface LoadedRow {
  seq: number
  format: number | null
  checksum: string
  payload: string
  /** Null for a snapshot. */
  kind: string | null
  unitId: string
  otherUnitId: string | null
  bookingId: string | null
}

/** @param rows of one unit, in the order of their numbers */
export function storedUnitOf(agencyId: string, unitId: string, rows: readonly LoadedRow[]): StoredUnit {
  const snapshots: StoredSnapshot[] = []
  const tail: StoredEntry[] = []
  for (const row of rows) {
    const { kind } = row
    if (kind === null) snapshots.unshift(snapshotOf(agencyId, unitId, row))
    else tail.push(entryOf({ ...row, kind }))
  }
  return { snapshots, tail }
}

function snapshotOf(agencyId: string, unitId: string, row: LoadedRow): StoredSnapshot {
  return { agencyId, unitId, seq: row.seq, format: row.format ?? 0, hash: row.checksum, state: row.payload }
}

/** @param row with UUIDs */
export function entryOf({ seq, unitId, otherUnitId, bookingId, kind, payload, checksum }: StoredEntry): StoredEntry {
  return {
    seq,
    kind,
    payload,
    checksum,
    unitId: idOrNull('unt', unitId),
    otherUnitId: idOrNull('unt', otherUnitId),
    bookingId: idOrNull('bkg', bookingId),
  }
}
