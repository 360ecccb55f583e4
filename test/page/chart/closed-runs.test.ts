import { expect, test } from 'bun:test'
import { ChartRows } from '../../../src/page/chart/chart-rows.ts'
import { closedRunsOf } from '../../../src/page/chart/draw-plan.ts'
import { DayWords, freeCellLabel } from '../../../src/page/chart/labels.ts'
import { closedOn } from '../../../src/page/chart/stay.ts'
import { aStay, aUnit } from './fixture.ts'

const WINDOW = { from: 100, to: 110 }
const closed = (digits: string) => aUnit({ closed: [{ ...WINDOW, digits }] })

test('consecutive days that are closed alike have one mark, and a night that is not for sale has no other', () => {
  expect(closedRunsOf(closed('0113374'), [], WINDOW)).toEqual([
    { kind: 'stopped', from: 105, to: 107 },
    { kind: 'no-arrival', from: 101, to: 105 },
    { kind: 'no-departure', from: 103, to: 106 },
  ])
})

test('nothing is marked where there is a stay, but a departure after a free night is', () => {
  const stays = [aStay({ arrival: 103, departure: 105 })]
  expect(closedRunsOf(closed('3333333'), stays, WINDOW)).toEqual([
    { kind: 'no-arrival', from: 100, to: 103 },
    { kind: 'no-arrival', from: 105, to: 107 },
    { kind: 'no-departure', from: 100, to: 104 },
    { kind: 'no-departure', from: 106, to: 107 },
  ])
  expect(closedRunsOf(closed('0004444'), stays, WINDOW)).toEqual([{ kind: 'stopped', from: 105, to: 107 }])
})

test('a unit without restrictions has no marks', () => {
  expect(closedRunsOf(aUnit(), [aStay()], WINDOW)).toEqual([])
})

test('pages of the tape add their days, and what was read last for a unit wins over a page that comes later', () => {
  const rows = new ChartRows()
  rows.add([closed('1')], [])
  rows.add([aUnit({ closed: [{ from: 110, to: 120, digits: '04' }] })], [])
  const digits = () => rows.units.flatMap((unit) => [100, 101, 110, 111].map((day) => closedOn(unit, day)))
  expect(digits()).toEqual([1, 0, 0, 4])
  rows.putUnit(aUnit({ closed: [{ from: 90, to: 130, digits: '' }] }))
  rows.add([aUnit({ closed: [{ from: 110, to: 120, digits: '04' }] })], [])
  expect(digits()).toEqual([0, 0, 0, 0])
})

test('the label of a free day says how it is closed', () => {
  const words = new DayWords('en-GB')
  expect(freeCellLabel(closed('3'), 100, words, null)).toEndWith(', free, closed to arrival, closed to departure')
  expect(freeCellLabel(closed('4'), 100, words, null)).toEndWith(', free, not for sale')
})
