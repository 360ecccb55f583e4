import { describe, expect, test } from 'bun:test'
import { visibleWindow } from '../../../src/page/chart/draw-plan.ts'

const EXTENT = { rowHeight: 38, rows: 500, dayWidth: 40, days: 1_462 }
const VIEW = { scrollTop: 0, scrollLeft: 0, width: 1_200, height: 800 }

describe('the window of rows and days in the document', () => {
  test('has everything that is seen, wherever the chart is scrolled to', () => {
    for (let at = 0; at < 17_000; at += 97) {
      const { rowFrom, rowTo, dayFrom, dayTo } = visibleWindow({ ...VIEW, scrollTop: at, scrollLeft: at * 3 }, EXTENT)
      expect(rowFrom * 38).toBeLessThanOrEqual(at)
      expect(rowTo * 38).toBeGreaterThanOrEqual(Math.min(at + 800, 500 * 38))
      expect(dayFrom * 40).toBeLessThanOrEqual(at * 3)
      expect(dayTo * 40).toBeGreaterThanOrEqual(Math.min(at * 3 + 1_200, 1_462 * 40))
    }
  })

  test('stays small: 500 units and four years are a few dozen rows and about two widths of days', () => {
    const { rowFrom, rowTo, dayFrom, dayTo } = visibleWindow({ ...VIEW, scrollTop: 9_000, scrollLeft: 30_000 }, EXTENT)
    expect(rowTo - rowFrom).toBeLessThanOrEqual(36)
    expect(dayTo - dayFrom).toBeLessThanOrEqual(75)
  })

  test('moves in blocks: a scroll of a few pixels mostly changes nothing', () => {
    const windows = new Set<string>()
    for (let at = 0; at < 1_000; at++) windows.add(JSON.stringify(visibleWindow({ ...VIEW, scrollTop: at }, EXTENT)))
    expect(windows.size).toBeLessThan(20)
  })

  test('never leaves the chart', () => {
    expect(visibleWindow({ ...VIEW, scrollTop: -50, scrollLeft: -50 }, EXTENT)).toMatchObject({
      rowFrom: 0,
      dayFrom: 0,
    })
    expect(visibleWindow(VIEW, { ...EXTENT, rows: 3 })).toMatchObject({ rowTo: 3 })
    expect(visibleWindow(VIEW, { ...EXTENT, rows: 0 })).toMatchObject({ rowFrom: 0, rowTo: 0 })
  })
})
