import { expect, test } from 'bun:test'
import { newChainKey, openChainKey, sealChainKey } from '../../../src/core/journal/shard.ts'

const SECRET_KEY = new Uint8Array(32).fill(1)

test('a chain key comes back as it was sealed, with the entry after which it begins', () => {
  const key = newChainKey(4_711)
  const opened = openChainKey(SECRET_KEY, 17, sealChainKey(SECRET_KEY, 17, key))
  expect(Buffer.from(opened?.key ?? []).equals(key.key)).toBe(true)
  expect([key.key.length, opened?.since, newChainKey().since]).toEqual([32, 4_711, 0])
})

test('each key is another one', () => {
  expect(Buffer.from(newChainKey().key).equals(newChainKey().key)).toBe(false)
})

test('it opens neither for another shard nor with another SECRET_KEY (K1)', () => {
  const sealed = sealChainKey(SECRET_KEY, 17, newChainKey())
  expect(openChainKey(SECRET_KEY, 18, sealed)).toBeNull()
  expect(openChainKey(SECRET_KEY, 1, sealed)).toBeNull()
  expect(openChainKey(new Uint8Array(32), 17, sealed)).toBeNull()
})
