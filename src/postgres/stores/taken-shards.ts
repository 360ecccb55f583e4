import type { WriterTerm } from '../../core/journal/journal-store.ts'

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
