import { expect, test } from 'bun:test'
import { WakeCollector, WOKEN_MAX } from '../../../src/events/webhooks/woken-agencies.ts'

test('each agency is given back once, and then none', () => {
  const woken = new WakeCollector()
  expect(woken.take()).toBeNull()
  woken.add(['a', 'b'])
  woken.add([])
  woken.add(['a'])
  expect(woken.take()).toEqual(['a', 'b'])
  expect(woken.take()).toBeNull()
})

test('more than the limit become all of them, and so does one wake for all', () => {
  const woken = new WakeCollector()
  woken.add(Array.from({ length: WOKEN_MAX }, (_, n) => String(n)))
  woken.add(['0'])
  expect(woken.take()).toHaveLength(WOKEN_MAX)
  woken.add(Array.from({ length: WOKEN_MAX }, (_, n) => String(n)))
  woken.add(['one more'])
  woken.add(['another'])
  expect(woken.take()).toBe('all')
  woken.add(['a'])
  woken.add('all')
  expect(woken.take()).toBe('all')
  woken.add(['a'])
  expect(woken.take()).toEqual(['a'])
})
