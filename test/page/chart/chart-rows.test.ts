import { describe, expect, test } from 'bun:test'
import { ChartRows, isFree, stayOn } from '../../../src/page/chart/chart-rows.ts'
import { aStay, aUnit } from './fixture.ts'

function rowsWith(...stays: ReturnType<typeof aStay>[]): ChartRows {
  const rows = new ChartRows()
  rows.add([aUnit(), aUnit({ slug: 'mill', name: 'Mill' })], stays)
  return rows
}

const ids = (rows: ChartRows, unit = 'sea-view') => rows.staysOf(unit).map(({ id }) => id)

describe('the rows of the chart', () => {
  test('a unit has its stays in the order of arrival, whatever the order in which they came', () => {
    const rows = rowsWith(aStay({ id: 'late', arrival: 110, departure: 112 }), aStay({ id: 'early' }))
    expect(ids(rows)).toEqual(['early', 'late'])
    expect(ids(rows, 'mill')).toEqual([])
  })

  test('units are in the order of their names, archived ones last', () => {
    const rows = new ChartRows()
    rows.add([aUnit({ slug: 'z', name: 'Alpha', isArchived: true }), aUnit({ slug: 'b', name: 'Flat 10' })], [])
    rows.putUnit(aUnit({ slug: 'a', name: 'Flat 9' }))
    expect(rows.units.map(({ name }) => name)).toEqual(['Flat 9', 'Flat 10', 'Alpha'])
  })

  test('an older version of a stay changes nothing: pages of the tape and the stream come in any order', () => {
    const rows = rowsWith(aStay({ version: 3, guest: 'new' }))
    rows.add([], [aStay({ version: 2, guest: 'old' })])
    expect(rows.stay('bkg_1')?.guest).toBe('new')
  })

  test('a stay that was cancelled does not come back with a page that was read before', () => {
    const rows = rowsWith(aStay())
    rows.put(aStay({ status: 'cancelled', version: 2 }))
    rows.add([], [aStay({ version: 1 })])
    expect(ids(rows)).toEqual([])
  })

  test('a stay that is cancelled before any page has it does not appear', () => {
    const rows = rowsWith()
    rows.put(aStay({ status: 'cancelled', version: 2 }))
    rows.add([], [aStay({ version: 1 })])
    expect(rows.stay('bkg_1')).toBeNull()
  })

  test('a stay that moves to another unit leaves its row', () => {
    const rows = rowsWith(aStay())
    rows.put(aStay({ unit: 'mill', version: 2 }))
    expect([ids(rows), ids(rows, 'mill')]).toEqual([[], ['bkg_1']])
  })

  test('a row that nothing happened in keeps its list, so that it is not drawn again', () => {
    const rows = rowsWith(aStay(), aStay({ id: 'other', unit: 'mill' }))
    const before = rows.staysOf('mill')
    rows.put(aStay({ version: 2, departure: 104 }))
    expect(rows.staysOf('mill')).toBe(before)
  })

  test('a write in flight is shown where it is expected to be, and nowhere else', () => {
    const rows = rowsWith(aStay())
    rows.expect(aStay({ unit: 'mill', arrival: 105, departure: 108 }))
    expect([ids(rows), ids(rows, 'mill')]).toEqual([[], ['bkg_1']])
    expect([rows.stay('bkg_1')?.unit, rows.stored('bkg_1')?.unit]).toEqual(['mill', 'sea-view'])
  })

  test('a write that fails puts the stay back where it was', () => {
    const rows = rowsWith(aStay())
    rows.expect(aStay({ unit: 'mill' }))
    rows.settle('bkg_1')
    expect([ids(rows), ids(rows, 'mill')]).toEqual([['bkg_1'], []])
  })

  test("a colleague's change during a write is what remains when the write fails", () => {
    const rows = rowsWith(aStay())
    rows.expect(aStay({ unit: 'mill' }))
    rows.put(aStay({ version: 2, arrival: 101 }))
    expect(ids(rows, 'mill')).toEqual(['bkg_1'])
    rows.settle('bkg_1')
    expect(rows.staysOf('sea-view').map(({ arrival }) => arrival)).toEqual([101])
  })

  test('reading everything again keeps what is in flight', () => {
    const rows = rowsWith(aStay())
    rows.expect(aStay({ unit: 'mill' }))
    rows.replace([aUnit(), aUnit({ slug: 'mill', name: 'Mill' })], [aStay()])
    expect([ids(rows), ids(rows, 'mill')]).toEqual([[], ['bkg_1']])
  })
})

describe('free nights', () => {
  const stays = [aStay(), aStay({ id: 'bkg_2', arrival: 105, departure: 107 })]

  test('a stay may begin on the day of a departure and end on the day of an arrival', () => {
    expect(isFree(stays, { arrival: 103, departure: 105 })).toBe(true)
  })

  test('a night that is taken is not free', () => {
    expect(isFree(stays, { arrival: 102, departure: 105 })).toBe(false)
    expect(isFree(stays, { arrival: 103, departure: 106 })).toBe(false)
  })

  test('a stay that is moved does not stand in its own way', () => {
    expect(isFree(stays, { arrival: 101, departure: 104 }, 'bkg_1')).toBe(true)
    expect(isFree(stays, { arrival: 101, departure: 106 }, 'bkg_1')).toBe(false)
  })

  test('the night of the departure belongs to nobody', () => {
    expect(stayOn(stays, 102)?.id).toBe('bkg_1')
    expect(stayOn(stays, 103)).toBeNull()
  })
})
