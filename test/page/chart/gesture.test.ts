import { describe, expect, test } from 'bun:test'
import { type Gesture, ghostOf, hitAt, IDLE, move, press, release } from '../../../src/page/chart/gesture.ts'
import type { Stay } from '../../../src/page/chart/stay.ts'
import { aStay } from './fixture.ts'

/** A day is 40 pixels wide and begins with its midnight; the chart begins with day 90. */
const SCALE = { firstDay: 90, dayWidth: 40, rowHeight: 38 }
const STAYS: readonly (readonly Stay[])[] = [[aStay()], []]

const staysOfRow = (row: number) => STAYS[row] ?? []
const noon = (day: number) => (day - SCALE.firstDay) * 40 + 20
const hit = (x: number, row = 0) => hitAt(x, row * 38 + 10, SCALE, staysOfRow)

/** Presses at the first place, and moves to each of the others. */
function drag(...places: readonly (readonly [x: number, row: number])[]): Gesture {
  return dragged(places, true)
}

function dragged(places: readonly (readonly [x: number, row: number])[], isDragAllowed: boolean): Gesture {
  let gesture = IDLE
  places.forEach(([x, row], i) => {
    const at = { x, y: row * 38 + 10 }
    gesture = i === 0 ? press(at, hit(x, row), isDragAllowed) : move(gesture, at, hit(x, row))
  })
  return gesture
}

describe('what is under the pointer', () => {
  test('a bar reaches from the noon of the arrival to the noon of the departure', () => {
    const has = (x: number) => hit(x).bar !== null
    expect([has(noon(100) - 1), has(noon(100)), has(noon(103) - 1), has(noon(103))]).toEqual([false, true, true, false])
  })

  test('its ends can be grabbed', () => {
    const part = (x: number) => hit(x).bar?.part
    expect([part(noon(100) + 3), part(noon(101)), part(noon(103) - 3)]).toEqual(['arrival', 'body', 'departure'])
  })

  test('a bar of a single narrow night still has a middle to be moved by', () => {
    const stays = [aStay({ departure: 101 })]
    const narrow = { ...SCALE, dayWidth: 12 }
    const part = (x: number) => hitAt(x, 0, narrow, () => stays).bar?.part
    expect([part(126 + 2), part(126 + 6), part(126 + 10)]).toEqual(['arrival', 'body', 'departure'])
  })
})

describe('dragging over free days', () => {
  test('selects from the day of the press to the day of the pointer', () => {
    expect(release(drag([noon(94), 0], [noon(97), 0]))).toEqual({
      kind: 'create',
      ghost: { row: 0, arrival: 94, departure: 97 },
    })
  })

  test('backwards means the same', () => {
    expect(ghostOf(drag([noon(97), 0], [noon(94), 0]))).toEqual({ row: 0, arrival: 94, departure: 97 })
  })

  test('within a day selects its night', () => {
    expect(ghostOf(drag([noon(94) - 10, 0], [noon(94) + 5, 0]))).toEqual({ row: 0, arrival: 94, departure: 95 })
  })

  test('stays in the row where it began', () => {
    expect(ghostOf(drag([noon(94), 0], [noon(96), 1]))).toMatchObject({ row: 0 })
  })
})

describe('dragging a stay', () => {
  test('moves it by whole days, and keeps its nights', () => {
    expect(release(drag([noon(101), 0], [noon(105), 1]))).toMatchObject({
      kind: 'change',
      ghost: { row: 1, arrival: 104, departure: 107 },
    })
  })

  test('means nothing where it was', () => {
    expect(release(drag([noon(101), 0], [noon(105), 0], [noon(101), 0])).kind).toBe('none')
  })

  test('by an end changes that end, and leaves at least a night', () => {
    const departure = noon(103) - 3
    expect(ghostOf(drag([departure, 0], [noon(106), 0]))).toEqual({ row: 0, arrival: 100, departure: 106 })
    expect(ghostOf(drag([departure, 0], [noon(92), 0]))).toEqual({ row: 0, arrival: 100, departure: 101 })
    expect(ghostOf(drag([noon(100) + 3, 0], [noon(120), 0]))).toEqual({ row: 0, arrival: 102, departure: 103 })
  })

  test('by an end does not change the unit', () => {
    expect(ghostOf(drag([noon(103) - 3, 0], [noon(106), 1]))).toMatchObject({ row: 0 })
  })
})

describe('what is no drag', () => {
  test('a hand that trembles: the press is a click', () => {
    expect(release(drag([noon(101), 0], [noon(101) + 8, 0])).kind).toBe('pick')
    expect(release(drag([noon(94), 0], [noon(94) + 4, 0])).kind).toBe('pick')
  })

  test('a finger, and a role that may not write: however far it goes', () => {
    expect(
      release(
        dragged(
          [
            [noon(101), 0],
            [noon(110), 1],
          ],
          false,
        ),
      ).kind,
    ).toBe('pick')
    expect(
      ghostOf(
        dragged(
          [
            [noon(94), 0],
            [noon(97), 0],
          ],
          false,
        ),
      ),
    ).toBeNull()
  })
})
