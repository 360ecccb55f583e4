import { describe, expect, test } from 'bun:test'
import type { BookingCreated, UnitEvent } from '../../src/core/domain/booking.ts'
import type { EncodedEntry, EntryPart } from '../../src/core/journal/entry-codec.ts'
import { newChainKey } from '../../src/core/journal/shard.ts'
import { sampleId } from '../support/samples.ts'
import { CHAIN_KEY, foundIn, SHARD, sampleEvents, sampleLog } from './support/sample-log.ts'

const LOG = sampleLog(sampleEvents(8))
/** Its numbers have gaps. */
const SPARSE = sampleLog(sampleEvents(3), { step: 10 })
const at = (seq: number) => `${SHARD}/${seq}`

/** The log with another entry `seq`. */
function changed(seq: number, change: Partial<EncodedEntry>): EncodedEntry[] {
  return LOG.map((entry) => (entry.seq === seq ? { ...entry, ...change } : entry))
}

const without = (...seqs: number[]) => LOG.filter(({ seq }) => !seqs.includes(seq))

test('a log as it was written has no differences, whatever the size of a page', async () => {
  for (const limit of [1, 2, 9, 100]) expect(await foundIn(LOG, {}, { limit })).toEqual([])
})

test('so has one whose beginning was archived', async () => {
  const { seq, link } = LOG[4] as EncodedEntry
  const archived = { base: seq, baseLink: link, mark: seq, markLink: link }
  expect(await foundIn(LOG.slice(5), archived)).toEqual([])
  expect(await foundIn([], { ...archived, lastSeq: seq })).toEqual([])
})

test('so has one that an earlier version began with numbers for all shards', async () => {
  // The last number of all shards is not one of this shard.
  const { seq: last, link: markLink } = SPARSE.at(-1) as EncodedEntry
  const rows = [...SPARSE, ...sampleLog(sampleEvents(3), { after: 45, previousLink: markLink })]
  expect(await foundIn(rows, { mark: 45, markLink })).toEqual([])
  const { seq: base, link: baseLink } = SPARSE[1] as EncodedEntry
  expect(await foundIn(rows.slice(2), { base, baseLink, mark: 45, markLink })).toEqual([])
  expect(await foundIn([], { mark: 45, lastSeq: 45 })).toEqual([])
  // Its entries are in the chain as all others.
  expect(await foundIn(rows.toSpliced(1, 1), { mark: 45, markLink })).toEqual([`chain ${at(SPARSE[2]?.seq ?? 0)}`])
  expect(await foundIn(rows.toSpliced(3, 1), { mark: last, markLink })).toContain(`chain ${at(last)}`)
})

describe('a change of an entry is found where it is', () => {
  test.each<[string, Partial<EncodedEntry>]>([
    ['payload', { payload: LOG[3]?.payload ?? '' }],
    ['time', { at: 1 }],
    ['actor', { actor: { kind: 'portal', id: null } }],
    ['key of the actor', { actor: { kind: 'key', id: sampleId('key', 'other') } }],
    ['route', { route: 'POST /other' }],
    ['request', { requestId: null }],
    ['unit', { unitId: sampleId('unt', 'other') }],
    ['other unit', { otherUnitId: sampleId('unt', 'other') }],
    ['booking', { bookingId: sampleId('bkg', 'other') }],
    ['event id', { id: sampleId('evt', 'other') }],
    ['kind', { kind: 'booking_changed' }],
    ['announcement', { isAnnounced: false }],
    ['month', { month: '2027-02-01' }],
  ])('of its %s', async (_, change) => {
    expect(await foundIn(changed(5, change))).toContain(`chain ${at(5)}`)
  })

  test('and only there', async () => {
    expect(await foundIn(changed(5, { payload: '{}' }))).toEqual([`chain ${at(5)}`])
  })

  test('of its agency, which also has another shard', async () => {
    expect(await foundIn(changed(5, { agencyId: sampleId('agc', 'other') }))).toEqual([
      `journal ${at(5)}`,
      `chain ${at(5)}`,
    ])
  })

  test('of its link, which the next one was made from', async () => {
    expect(await foundIn(changed(5, { link: new Uint8Array(32) }))).toEqual([`chain ${at(5)}`, `chain ${at(6)}`])
  })
})

test('a missing entry is named, and the one after it does not continue the chain', async () => {
  expect(await foundIn(without(5))).toEqual([`journal ${at(5)}`, `chain ${at(6)}`])
  expect(await foundIn(without(1, 2, 3))).toEqual([`journal ${at(1)}`, `chain ${at(4)}`])
})

test('entries after a missing one cannot be renumbered to hide it', async () => {
  const closed = without(5).map((entry) => (entry.seq > 5 ? { ...entry, seq: entry.seq - 1 } : entry))
  expect(await foundIn(closed)).toEqual([5, 6, 7, 8].map((seq) => `chain ${at(seq)}`))
})

test('two entries that changed places are both named', async () => {
  const [fifth, sixth] = [LOG[4], LOG[5]] as [EncodedEntry, EncodedEntry]
  const swapped = LOG.map((entry) => {
    if (entry === fifth) return { ...sixth, seq: 5 }
    return entry === sixth ? { ...fifth, seq: 6 } : entry
  })
  expect(await foundIn(swapped)).toEqual([5, 6, 7].map((seq) => `chain ${at(seq)}`))
})

test('an entry that was inserted, in another month, is named as a number used twice', async () => {
  const inserted = { ...(LOG[3] as EncodedEntry), seq: 5, month: '2027-02-01' }
  const found = await foundIn([...LOG, inserted], {}, { limit: 1 })
  expect(found).toContain(`journal ${at(5)}`)
  expect(found).toContain(`chain ${at(5)}`)
  // The month of the one after it is lower.
  expect(found).toContain(`journal ${at(6)}`)
})

test('one appended without the key does not continue the chain', async () => {
  const key = newChainKey()
  expect(await foundIn(LOG, {}, { key: { ...key, since: 8 } })).toEqual([`chain ${at(9)}`])
})

test('a mark that was moved is found, up or down', async () => {
  expect(await foundIn(LOG, { mark: 3 })).toEqual([`chain ${at(3)}`])
  expect(await foundIn(LOG, { mark: 30, lastSeq: 30 })).toEqual([`chain ${at(30)}`])
  const { seq, link } = LOG[5] as EncodedEntry
  const rest = LOG.slice(6)
  const archived = { base: seq, baseLink: link, mark: seq, markLink: link }
  expect(await foundIn(rest, { ...archived, mark: seq - 1 })).toEqual([`journal ${at(seq)}`])
  expect(await foundIn(rest, { ...archived, markLink: new Uint8Array(32) })).toEqual([`chain ${at(seq)}`])
})

test('so is the end of what was archived', async () => {
  const { seq, link } = LOG[5] as EncodedEntry
  const archived = { base: seq, baseLink: link, mark: seq, markLink: link }
  expect(await foundIn(LOG.slice(5), archived)).toEqual([`journal ${at(seq)}`])
  expect(await foundIn(LOG.slice(6), { ...archived, baseLink: new Uint8Array(32) })).toContain(`chain ${at(seq + 1)}`)
})

test('without its key a chain cannot be checked, and what has no entries needs none', async () => {
  expect(await foundIn(LOG, {}, { key: null })).toEqual([`chain ${SHARD}`])
  expect(await foundIn([], { mark: 8, lastSeq: 8 }, { key: null })).toEqual([])
})

test('after the key was lost, the chain is checked from the first entry of the new one', async () => {
  const old = changed(2, { payload: 'changed' })
  const next = sampleLog(sampleEvents(2), { after: 9, previousLink: (LOG[8] as EncodedEntry).link })
  const key = { ...CHAIN_KEY, since: 9 }
  expect(await foundIn([...old, ...next], {}, { key })).toEqual([])
  const forged = next.map((entry) => (entry.seq === 10 ? { ...entry, route: 'x' } : entry))
  expect(await foundIn([...old, ...forged], {}, { key })).toEqual([`chain ${at(10)}`])
})

describe('J9: the entries of a record', () => {
  const ofParts = (...parts: (EntryPart | undefined)[]) =>
    foundIn(sampleLog(sampleEvents(parts.length - 1), { parts }), {}, { limit: 2 })

  test('are consecutive and complete, however many records have several', async () => {
    expect(await ofParts([1, 2], [2, 2], undefined, [1, 3], [2, 3], [3, 3], [1, 2], [2, 2])).toEqual([])
  })

  test('are reported if others are between them, if some are missing, and if the log ends before the last', async () => {
    expect(await ofParts([1, 2], undefined, [2, 2])).toEqual([`journal ${at(1)}`, `journal ${at(3)}`])
    expect(await ofParts([1, 3], [3, 3], undefined)).toEqual([`journal ${at(1)}`])
    expect(await ofParts([1, 3], [2, 2], undefined)).toEqual([`journal ${at(1)}`])
    expect(await ofParts(undefined, [2, 3], [3, 3])).toEqual([`journal ${at(2)}`])
    expect(await ofParts(undefined, [1, 3], [2, 3])).toEqual([`journal ${at(3)}`])
  })

  test('make all bookings of a group, and are the only ones to do so', async () => {
    const [set, ...created] = sampleEvents(5) as [UnitEvent, ...BookingCreated[]]
    const ofGroups = (...groups: (string | null)[]) => [
      set,
      ...created.map((event, i): UnitEvent => {
        const groupId = groups[i] == null ? null : sampleId('grp', groups[i])
        return { ...event, after: { ...event.after, groupId } }
      }),
    ]
    const parts = [undefined, [1, 2], [2, 2], undefined, [1, 2], [2, 2]] as const
    const found = (...groups: (string | null)[]) => foundIn(sampleLog(ofGroups(...groups), { parts }))
    expect(await found('a', 'a', null, 'b', 'b')).toEqual([])
    expect(await found('a', 'b', null, 'b', null)).toEqual([`journal ${at(3)}`, `journal ${at(6)}`])
    expect(await found('a', 'a', 'a', 'b', 'b')).toEqual([`journal ${at(4)}`])
  })
})
