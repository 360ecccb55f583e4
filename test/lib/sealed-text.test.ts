import { expect, test } from 'bun:test'
import { openText, sealText } from '../../src/lib/sealed-text.ts'

const KEY = crypto.getRandomValues(new Uint8Array(32))
const SEALED = sealText(KEY, 'a secret, é', 'its owner')

test('a sealed text opens with its key and for its owner, and looks different every time', () => {
  expect(openText(KEY, SEALED, 'its owner')).toBe('a secret, é')
  expect(sealText(KEY, 'a secret, é', 'its owner')).not.toBe(SEALED)
})

test.each([
  ['another key', () => openText(crypto.getRandomValues(new Uint8Array(32)), SEALED, 'its owner')],
  ['another owner', () => openText(KEY, SEALED, 'another')],
  ['another format', () => openText(KEY, SEALED.replace('v1', 'v2'), 'its owner')],
  ['half of it', () => openText(KEY, SEALED.slice(0, 20), 'its owner')],
  ['nothing', () => openText(KEY, '', 'its owner')],
])('it does not open with %s', (_, open) => {
  expect(open()).toBeNull()
})

test('no byte of it can be changed', () => {
  const bytes = Buffer.from(SEALED.slice(3), 'base64url')
  for (const i of bytes.keys()) {
    const changed = Buffer.from(bytes)
    changed[i] = (changed[i] ?? 0) ^ 1
    expect(openText(KEY, `v1.${changed.toString('base64url')}`, 'its owner')).toBeNull()
  }
})

test('a key of another length is a bug', () => {
  expect(() => sealText(new Uint8Array(16), 'x', 'y')).toThrow('Cannot seal secrets: the key has 16 bytes')
})
