import { describe, expect, test } from 'bun:test'
import { type Cursor, moveCursor, selectionOf } from '../../../src/page/chart/cursor.ts'
import { aStay } from './fixture.ts'

const LIMITS = { rows: 10, firstDay: 0, endDay: 200, rowsPerPage: 4, today: 50 }
const STAYS = [aStay()]

function press(from: Partial<Cursor>, ...keys: string[]): Cursor {
  let cursor: Cursor = { row: 5, day: 90, anchor: null, ...from }
  for (const key of keys) {
    const name = key.replace(/^(Shift|Ctrl)\+/, '')
    const modifiers = { shiftKey: key.startsWith('Shift+'), ctrlKey: key.startsWith('Ctrl+') }
    cursor = moveCursor(cursor, { key: name, ...modifiers }, STAYS, LIMITS) ?? cursor
  }
  return cursor
}

describe('the cursor of the chart', () => {
  test('goes from day to day and from unit to unit', () => {
    expect(press({}, 'ArrowRight', 'ArrowDown')).toMatchObject({ row: 6, day: 91 })
    expect(press({}, 'ArrowLeft', 'ArrowUp')).toMatchObject({ row: 4, day: 89 })
  })

  test('takes a bar as one step', () => {
    expect(press({ day: 99 }, 'ArrowRight').day).toBe(100)
    expect(press({ day: 99 }, 'ArrowRight', 'ArrowRight').day).toBe(103)
    expect(press({ day: 103 }, 'ArrowLeft', 'ArrowLeft').day).toBe(99)
  })

  test('stays on the chart', () => {
    expect(press({ row: 0, day: 0 }, 'ArrowLeft', 'ArrowUp', 'PageUp')).toMatchObject({ row: 0, day: 0 })
    expect(press({ row: 9, day: 199 }, 'ArrowRight', 'ArrowDown', 'PageDown')).toMatchObject({ row: 9, day: 199 })
  })

  test('Home goes to today, and with Ctrl to the first unit too', () => {
    expect(press({}, 'Home')).toMatchObject({ row: 5, day: 50 })
    expect(press({}, 'Ctrl+Home')).toMatchObject({ row: 0, day: 50 })
  })

  test('Shift selects nights; going on without it does not lose them', () => {
    const selected = press({ day: 92 }, 'Shift+ArrowRight', 'Shift+ArrowRight')
    expect(selectionOf(selected)).toEqual({ row: 5, arrival: 92, departure: 94 })
    expect(selectionOf(press(selected, 'ArrowRight'))).toEqual({ row: 5, arrival: 92, departure: 95 })
  })

  test('a selection ends with the unit', () => {
    expect(selectionOf(press({ day: 92 }, 'Shift+ArrowRight', 'ArrowDown'))).toBeNull()
  })

  test('no selection begins on a stay', () => {
    expect(selectionOf(press({ day: 101 }, 'Shift+ArrowRight'))).toBeNull()
  })

  test('a key that is not its own is left alone', () => {
    expect(
      moveCursor({ row: 0, day: 0, anchor: null }, { key: 'a', shiftKey: false, ctrlKey: false }, [], LIMITS),
    ).toBeNull()
  })
})
