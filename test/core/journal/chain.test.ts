import { describe, expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { type LinkedEntry, NO_LINK, nextLink } from '../../../src/core/journal/shard.ts'
import { sampleId } from '../../support/samples.ts'

const KEY = new Uint8Array(32).fill(7)
const PREVIOUS = new Uint8Array(32).fill(1)
const ENTRY: LinkedEntry = {
  shard: 3,
  seq: 5,
  month: '2027-01-01',
  at: 1_800_000_000_000,
  agencyId: sampleId('agc', 'a'),
  unitId: sampleId('unt', 'a'),
  otherUnitId: null,
  bookingId: sampleId('bkg', 'a'),
  id: sampleId('evt', 'a'),
  kind: 'booking_created',
  isAnnounced: true,
  actor: { kind: 'key', id: sampleId('key', 'a') },
  route: 'POST /test',
  requestId: null,
  payload: '{"after":"“x”"}',
}
const CHANGES: Required<{ [N in keyof LinkedEntry]: LinkedEntry[N] }> = {
  shard: 4,
  seq: 6,
  month: '2027-02-01',
  at: 1_800_000_000_001,
  agencyId: sampleId('agc', 'b'),
  unitId: sampleId('unt', 'b'),
  otherUnitId: '',
  bookingId: null,
  id: sampleId('evt', 'b'),
  kind: 'booking_changed',
  isAnnounced: false,
  actor: { kind: 'key', id: null },
  route: 'POST /test ',
  requestId: '',
  payload: '{"after":"“y”"}',
}

const hex = (link: Uint8Array) => Buffer.from(link).toString('hex')

describe('the link of an entry', () => {
  test('is the HMAC-SHA-256, by the key of the shard, of the link before it and a JSON array of its columns, the payload last and as it is', () => {
    const { actor, ...entry } = ENTRY
    const text = JSON.stringify([
      ...[entry.shard, entry.seq, entry.month, entry.at, entry.agencyId, entry.unitId, entry.otherUnitId],
      ...[entry.bookingId, entry.id, entry.kind, entry.isAnnounced, actor.kind, actor.id],
      ...[entry.route, entry.requestId, JSON.parse(entry.payload)],
    ])
    expect(hex(nextLink(KEY, PREVIOUS, ENTRY))).toBe(
      createHmac('sha256', KEY).update(PREVIOUS).update(text).digest('hex'),
    )
    expect(hex(nextLink(KEY, NO_LINK, ENTRY))).toBe(createHmac('sha256', KEY).update(text).digest('hex'))
  })

  for (const [name, value] of Object.entries(CHANGES)) {
    test(`is another one when its ${name} is`, () => {
      expect(hex(nextLink(KEY, PREVIOUS, { ...ENTRY, [name]: value }))).not.toBe(hex(nextLink(KEY, PREVIOUS, ENTRY)))
    })
  }

  test('is another one by another kind of actor, after another link, and by another key', () => {
    const system = { ...ENTRY, actor: { ...ENTRY.actor, kind: 'system' as const } }
    const links = [
      nextLink(KEY, PREVIOUS, ENTRY),
      nextLink(KEY, PREVIOUS, system),
      nextLink(KEY, nextLink(KEY, PREVIOUS, ENTRY), ENTRY),
      nextLink(KEY, NO_LINK, ENTRY),
      nextLink(new Uint8Array(32).fill(8), PREVIOUS, ENTRY),
    ]
    expect(new Set(links.map(hex)).size).toBe(links.length)
  })
})
