import { expect, test } from 'bun:test'
import { nextTurn, Slices } from '../../src/lib/slices.ts'

test('a slice ends with the work that reaches its steps, and the next one begins at none', () => {
  let pauses = 0
  const slices = new Slices(10, () => Promise.resolve(void pauses++))
  const spent = [4, 5, 1, 9, 30, 1].map((steps) => slices.spend(steps) !== null)
  expect([spent, pauses]).toEqual([[false, false, true, false, true, false], 2])
})

test('between two slices, timers and other work have their turn', async () => {
  const order: string[] = []
  setTimeout(() => order.push('timer'), 0)
  const since = performance.now()
  while (performance.now() - since < 3);
  for (const slice of ['first', 'second']) {
    order.push(slice)
    await nextTurn()
  }
  expect(order.indexOf('timer')).toBeGreaterThan(0)
  expect(order.indexOf('timer')).toBeLessThan(3)
  expect(order[0]).toBe('first')
})

test('A1: of several long works one continues in each turn of the event loop, in order', async () => {
  const order: string[] = []
  const work = async (name: string) => {
    for (let slice = 0; slice < 3; slice++) {
      order.push(name)
      await nextTurn()
    }
  }
  let isOver = false
  const turn = () => {
    order.push('|')
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  await Promise.all(['a', 'b', 'c'].map(work))
  isOver = true
  // Whatever else the event loop does comes between any two slices after the first ones.
  expect(order.join('').slice(3).replace(/\|+/g, '|')).toMatch(/^\|?a\|b\|c\|a\|b\|c/)
})
