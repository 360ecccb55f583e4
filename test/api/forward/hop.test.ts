import { expect, test } from 'bun:test'
import { type Hop, Hops } from '../../../src/api/forward/hop.ts'

const hops = new Hops('a'.repeat(32))
const HOP: Hop = { shard: 255, listener: 'admin', peer: '2001:db8::1' }

test('a node reads what another has written that knows the same secret', () => {
  expect(new Hops('a'.repeat(32)).read(hops.text(HOP))).toEqual(HOP)
  expect(hops.read(hops.text({ ...HOP, peer: null }))).toEqual({ ...HOP, peer: null })
})

test('the secret itself is not in the header', () => {
  expect(hops.text(HOP)).not.toContain('a'.repeat(32))
})

test.each([
  ['written with another secret', new Hops('b'.repeat(32)).text(HOP)],
  ['empty', ''],
  ['without the proof', '7 public 127.0.0.1'],
  ['with half of the proof', hops.text(HOP).slice(10)],
  ['of a shard that there is not', hops.text({ ...HOP, shard: 256 })],
  ['of no shard', hops.text({ ...HOP, shard: Number.NaN })],
  ['of a listener that there is not', hops.text(HOP).replace('admin', 'other')],
])('a header %s is no node’s', (_, text) => {
  expect(hops.read(text)).toBeNull()
})
