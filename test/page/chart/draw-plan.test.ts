import { describe, expect, test } from 'bun:test'
import { DrawPlan } from '../../../src/page/chart/draw-plan.ts'

const NOW = { from: 0, to: 90 }
const THEN = { from: 45, to: 135 }
const rowsFrom = (first: number) => Array.from({ length: 30 }, (_, i) => first + i)
const keyOf = (index: number) => `unit-${index}`

describe('the rows of a frame', () => {
  test('the first view comes whole', () => {
    const { rows, isComplete } = new DrawPlan().next(rowsFrom(0), keyOf, NOW)
    expect([rows.length, isComplete]).toEqual([30, true])
  })

  test('after it, a frame draws a few new rows, the most important first, and the next frames the others', () => {
    const plan = new DrawPlan()
    plan.next(rowsFrom(0), keyOf, NOW)
    const first = plan.next(rowsFrom(100).reverse(), keyOf, NOW)
    expect(first.rows.map(({ index }) => index)).toEqual([126, 127, 128, 129])
    let frames = 1
    while (!plan.next(rowsFrom(100).reverse(), keyOf, NOW).isComplete) frames += 1
    expect(frames).toBe(7)
  })

  test('rows that are there already stay, and show their earlier days until it is their turn', () => {
    const plan = new DrawPlan()
    plan.next(rowsFrom(0), keyOf, NOW)
    const { rows, isComplete } = plan.next(rowsFrom(0), keyOf, THEN)
    expect(rows.filter(({ days }) => days.from === THEN.from).map(({ index }) => index)).toEqual([0, 1, 2, 3])
    expect([rows.length, isComplete]).toEqual([30, false])
  })

  test('nothing is left to do when the rows and the days are the same', () => {
    const plan = new DrawPlan()
    plan.next(rowsFrom(0), keyOf, NOW)
    expect(plan.next(rowsFrom(0), keyOf, NOW).isComplete).toBe(true)
  })

  test('a row is recognised by its unit: a filter that moves it does not draw it again', () => {
    const plan = new DrawPlan()
    plan.next(rowsFrom(0), keyOf, NOW)
    expect(plan.next(rowsFrom(0), (index) => keyOf(29 - index), NOW).isComplete).toBe(true)
  })
})
