import { expect, test } from 'bun:test'
import { type Hop, Hops } from '../../../src/cluster/forward/hop.ts'

const hops = new Hops(['a'.repeat(32)])
const HOP: Hop = { shard: 255, listener: 'admin', peer: '2001:db8::1' }
const REQUEST = { method: 'GET', url: 'http://a:3000/portal/v1/me?x=%2F' }

test('a node reads what another has written that knows the same secret', () => {
  expect(
    new Hops(['a'.repeat(32)]).read(hops.text(HOP, REQUEST), { ...REQUEST, url: 'http://b:3001/portal/v1/me?x=%2F' }),
  ).toEqual(HOP)
  expect(hops.read(hops.text({ ...HOP, peer: null }, REQUEST), REQUEST)).toEqual({ ...HOP, peer: null })
})

test.each(['/portal/v1/me?x=%2F', 'http://[/portal/v1/me?x=%2F', 'http://a:99999/portal/v1/me?x=%2F'])(
  'the host counts for nothing, not even whether it is one: %s',
  (url) => {
    expect(hops.read(hops.text(HOP, { ...REQUEST, url }), REQUEST)).toEqual(HOP)
    expect(hops.read(hops.text(HOP, REQUEST), { ...REQUEST, url })).toEqual(HOP)
    expect(hops.read('x', { ...REQUEST, url })).toBeNull()
  },
)

test.each(['*', '', 'http://a', '/\\..//b?c#d'])('no target is too odd to be compared: %p', (url) => {
  expect(hops.read(hops.text(HOP, { ...REQUEST, url }), REQUEST)).toBeNull()
})

test('while the secret is changed, a node with both understands nodes with either, and they it', () => {
  const next = new Hops(['b'.repeat(32)])
  for (const both of [new Hops(['a'.repeat(32), 'b'.repeat(32)]), new Hops(['b'.repeat(32), 'a'.repeat(32)])]) {
    for (const one of [hops, next, both]) {
      expect(one.read(both.text(HOP, REQUEST), REQUEST)).toEqual(HOP)
      expect(both.read(one.text(HOP, REQUEST), REQUEST)).toEqual(HOP)
    }
  }
  expect(next.read(hops.text(HOP, REQUEST), REQUEST)).toBeNull()
})

test('the secret itself is not in the header', () => {
  expect(hops.text(HOP, REQUEST)).not.toContain('a'.repeat(32))
})

test.each([
  ['written with another secret', new Hops(['b'.repeat(32)]).text(HOP, REQUEST)],
  ['empty', ''],
  ['without the proof', '7 public 127.0.0.1'],
  ['with an empty proof', `, ${hops.text(HOP, REQUEST).slice(65)}`],
  ['with half of the proof', hops.text(HOP, REQUEST).slice(10)],
  ['of a shard that there is not', hops.text({ ...HOP, shard: 256 }, REQUEST)],
  ['of no shard', hops.text({ ...HOP, shard: Number.NaN }, REQUEST)],
  ['of a listener that there is not', hops.text({ ...HOP, listener: 'other' as 'admin' }, REQUEST)],
  ['of another method', hops.text(HOP, { ...REQUEST, method: 'POST' })],
  ['of another path', hops.text(HOP, { ...REQUEST, url: 'http://a:3000/metrics?x=%2F' })],
  ['of another query', hops.text(HOP, { ...REQUEST, url: 'http://a:3000/portal/v1/me' })],
  ['with another listener', hops.text({ ...HOP, listener: 'public' }, REQUEST).replace('public', 'admin')],
  ['with another address', hops.text(HOP, REQUEST).replace('db8::1', 'db8::2')],
])('a header %s is no node’s', (_, text) => {
  expect(hops.read(text, REQUEST)).toBeNull()
})
