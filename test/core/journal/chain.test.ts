import { describe, expect, test } from 'bun:test'
import { createHash, createHmac } from 'node:crypto'
import { coveredText, type Link, type LinkedEntry, NO_LINK, nextLink } from '../../../src/core/journal/shard.ts'
import { leafHash } from '../../../src/lib/merkle-hash.ts'
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
  traceparent: null,
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
  traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  payload: '{"after":"“y”"}',
}

const linkOf = (key: Uint8Array, previous: Link, entry: LinkedEntry) => nextLink(key, previous, coveredText(entry))

const hex = (link: Uint8Array) => Buffer.from(link).toString('hex')

describe('the link of an entry', () => {
  test('is the HMAC-SHA-256, by the key of the shard, of the link before it and a JSON array of its columns, the payload last and as it is', () => {
    const { actor, ...entry } = ENTRY
    const text = JSON.stringify([
      ...[entry.shard, entry.seq, entry.month, entry.at, entry.agencyId, entry.unitId, entry.otherUnitId],
      ...[entry.bookingId, entry.id, entry.kind, entry.isAnnounced, actor.kind, actor.id],
      ...[entry.route, entry.requestId, JSON.parse(entry.payload)],
    ])
    expect(hex(linkOf(KEY, PREVIOUS, ENTRY))).toBe(
      createHmac('sha256', KEY).update(PREVIOUS).update(text).digest('hex'),
    )
    expect(hex(linkOf(KEY, NO_LINK, ENTRY))).toBe(createHmac('sha256', KEY).update(text).digest('hex'))
  })

  for (const [name, value] of Object.entries(CHANGES)) {
    test(`is another one when its ${name} is`, () => {
      expect(hex(linkOf(KEY, PREVIOUS, { ...ENTRY, [name]: value }))).not.toBe(hex(linkOf(KEY, PREVIOUS, ENTRY)))
    })
  }

  test('is another one by another kind of actor, after another link, and by another key', () => {
    const system = { ...ENTRY, actor: { ...ENTRY.actor, kind: 'system' as const } }
    const links = [
      linkOf(KEY, PREVIOUS, ENTRY),
      linkOf(KEY, PREVIOUS, system),
      linkOf(KEY, linkOf(KEY, PREVIOUS, ENTRY), ENTRY),
      linkOf(KEY, NO_LINK, ENTRY),
      linkOf(new Uint8Array(32).fill(8), PREVIOUS, ENTRY),
    ]
    expect(new Set(links.map(hex)).size).toBe(links.length)
  })
})

test('the leaf of an entry is the SHA-256 of a zero byte and the text that its link covers, whatever characters it has', () => {
  for (const payload of [ENTRY.payload, '{"a":"\\ud800é😀\u2028"}', `{"a":"${'x'.repeat(100_000)}"}`]) {
    const text = coveredText({ ...ENTRY, payload })
    const expected = createHash('sha256')
      .update(Buffer.from([0]))
      .update(text)
      .digest('hex')
    expect(hex(leafHash(text))).toBe(expected)
  }
})
