/** What the feed expects of the log, whichever store reads it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { decodeEntry } from '../../../src/core/journal/entry-codec.ts'
import type { Journal } from '../../../src/core/journal/journal.ts'
import { shardOf } from '../../../src/core/journal/shard.ts'
import type { ChangeRows, ReadFrom, Shown } from '../../../src/events/changes/change-page.ts'
import { fingerprintOf, type LogPosition } from '../../../src/events/changes/cursor.ts'
import { agenciesOfShards, booked, unitSet } from '../../support/journal-records.ts'
import { CALLER, night, sampleId } from '../../support/samples.ts'

const [A = '', B = ''] = agenciesOfShards(2)
/** Of the shard of A. */
const NEIGHBOUR = neighbourOf(A)
export const LOG_AGENCIES = [A, B, NEIGHBOUR] as const

function neighbourOf(agencyId: string): string {
  for (let label = 1; ; label++) {
    const id = sampleId('agc', `near ${label}`)
    if (shardOf(id) === shardOf(agencyId)) return id
  }
}

export async function seqsAfter(rows: ChangeRows, from: ReadFrom, agencyId = A): Promise<number[] | null> {
  const read = await rows.read(agencyId, { from, entriesMax: 100, shown: [] })
  return read === null ? null : read.entries.map(({ seq }) => seq)
}

export async function endOf(rows: ChangeRows, agencyId = A): Promise<LogPosition> {
  const read = await rows.read(agencyId, { from: 'start', entriesMax: 0, shown: [] })
  if (read === null) throw new Error('Expected the end of the log')
  return read.end
}

interface OpenLog {
  readonly journal: Journal
  readonly rows: ChangeRows
  close(): Promise<void>
}

/** @param open with the LOG_AGENCIES, and an empty log */
export function describeChangeRows(store: string, open: () => Promise<OpenLog>): void {
  describe(`the log of an agency in ${store}`, () => {
    let log: OpenLog
    let rows: ChangeRows
    beforeAll(async () => {
      log = await open()
      rows = log.rows
    })
    afterAll(() => log.close())

    test('before its first entry has an end, from which its first entry is read', async () => {
      const end = await endOf(rows)
      expect(end).toEqual({ seq: 0, fingerprint: '0000000000000000' })
      expect(await seqsAfter(rows, end)).toEqual([])
    })

    test('holds the announced entries of this agency alone, in the order of the log; its end is that of the shard', async () => {
      const records = [
        ...[booked('1', { agencyId: A, sourceRef: 'Ref 1' }), unitSet(sampleId('unt', 'u'), { agencyId: A })],
        ...[booked('2', { agencyId: NEIGHBOUR }), booked('3', { agencyId: A }), booked('4', { agencyId: B })],
        booked('5', { agencyId: NEIGHBOUR }),
      ]
      const appended = await Promise.all(records.map((record) => log.journal.append(record)))
      expect(appended.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 1, 5])
      const read = await rows.read(A, { from: 'start', entriesMax: 100, shown: [] })
      expect(read?.entries.map(({ seq, sourceRef }) => [seq, sourceRef])).toEqual([
        [1, 'Ref 1'],
        [4, null],
      ])
      for (const entry of read?.entries ?? []) expect(decodeEntry(entry).kind).toBe('booking_created')
      const all = await rows.read(A, { from: 'start', entriesMax: 100, shown: 'all' })
      expect(all?.entries.map((entry) => [entry.seq, decodeEntry(entry).kind, entry.route])).toEqual([
        [1, 'booking_created', CALLER.route],
        [2, 'unit_set', CALLER.route],
        [4, 'booking_created', CALLER.route],
      ])
      expect(all?.end).toEqual(read?.end)
      const { lastSeq, lastLink } = log.journal.endOf(A)
      expect(read?.end).toEqual({ seq: lastSeq, fingerprint: fingerprintOf(lastLink) })
      expect(await seqsAfter(rows, 'start', NEIGHBOUR)).toEqual([3, 5])
    })

    test('is read from any place in it, and from no other', async () => {
      const read = await rows.read(NEIGHBOUR, { from: 'start', entriesMax: 1, shown: [] })
      const [first] = read?.entries ?? []
      if (first === undefined) throw new Error('Expected an entry')
      const place = { seq: first.seq, fingerprint: first.fingerprint }
      expect(await seqsAfter(rows, place, NEIGHBOUR)).toEqual([5])
      // It is a place of the shard.
      expect(await seqsAfter(rows, place, A)).toEqual([4])
      expect(await seqsAfter(rows, { ...place, seq: 4 }, A)).toBeNull()
      expect(await seqsAfter(rows, { ...place, fingerprint: '0000000000000000' }, A)).toBeNull()
      const end = await endOf(rows)
      expect(await seqsAfter(rows, end)).toEqual([])
      expect(await seqsAfter(rows, { ...end, seq: end.seq + 1 })).toBeNull()
    })

    test('holds the announced entries of units whose events are included, beside those of bookings', async () => {
      const unitId = sampleId('unt', 'announced')
      const changed = { from: null, to: night('2027-07-01') }
      const of = { agencyId: NEIGHBOUR }
      const { seq: before } = await log.journal.append(booked('6', of))
      const records = [
        unitSet(unitId, of, { changed }),
        unitSet(unitId, of, { kind: 'rates_set', changed }),
        unitSet(unitId, of, { kind: 'rates_set' }),
        booked('7', of),
      ]
      for (const record of records) await log.journal.append(record)
      const read = async (shown: Shown) => {
        const all = (await rows.read(NEIGHBOUR, { from: 'start', entriesMax: 100, shown }))?.entries ?? []
        return all.filter(({ seq }) => seq > (before ?? 0)).map((entry) => decodeEntry(entry))
      }
      const kinds = async (shown: Shown) => (await read(shown)).map(({ kind }) => kind)
      expect(await kinds([])).toEqual(['booking_created'])
      expect(await kinds(['unit.updated'])).toEqual(['unit_set', 'booking_created'])
      expect(await kinds(['rates.updated', 'unit.updated'])).toEqual(['unit_set', 'rates_set', 'booking_created'])
      expect(await kinds('all')).toEqual(['unit_set', 'rates_set', 'rates_set', 'booking_created'])
      expect((await read(['rates.updated']))[0]).toMatchObject({ kind: 'rates_set', changed })
    })

    test('has one end and one order for what several read while it grows', async () => {
      const writing = Promise.all(
        Array.from({ length: 60 }, (_, n) => log.journal.append(booked(`w${n}`, { agencyId: A }))),
      )
      const seen: number[] = []
      let from: ReadFrom = 'start'
      let isWritten = false
      void writing.then(() => {
        isWritten = true
      })
      for (let isLast = false; !isLast; ) {
        isLast = isWritten
        const read: Awaited<ReturnType<ChangeRows['read']>> = await rows.read(A, {
          from,
          entriesMax: 7,
          shown: [],
        })
        if (read === null) throw new Error('Expected changes')
        seen.push(...read.entries.map(({ seq }) => seq))
        const last = read.entries.at(-1)
        if (last !== undefined) isLast = false
        from = last === undefined ? read.end : { seq: last.seq, fingerprint: last.fingerprint }
      }
      expect(seen).toEqual((await seqsAfter(rows, 'start')) ?? [])
      expect(seen).toHaveLength(62)
    })
  })
}
