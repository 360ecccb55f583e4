import { describe, expect, test } from 'bun:test'
import { barsOf } from '../../../src/page/chart/draw-plan.ts'
import { aStay } from './fixture.ts'

const ALL = { from: 0, to: 1_000 }

describe('the bars of a row', () => {
  test('cleaning nights follow guests and owners, and nobody else', () => {
    const cleaned = (type: 'guest' | 'owner_stay' | 'maintenance' | 'block') =>
      barsOf([aStay({ type })], 2, ALL)[0]?.cleanedUntil
    expect([cleaned('guest'), cleaned('owner_stay'), cleaned('maintenance'), cleaned('block')]).toEqual([
      ...[105, 105, null, null],
    ])
  })

  test('cleaning nights end where the next stay begins', () => {
    const next = (arrival: number) => aStay({ id: 'next', arrival, departure: arrival + 2 })
    expect(barsOf([aStay(), next(104)], 3, ALL)[0]?.cleanedUntil).toBe(104)
    expect(barsOf([aStay(), next(103)], 3, ALL)[0]?.cleanedUntil).toBeNull()
  })

  test('an expected extension that reaches the next stay is said to be in the way', () => {
    const stays = (arrival: number) => [
      aStay({ status: 'checked_in', expectedUntil: 105 }),
      aStay({ id: 'next', arrival, departure: arrival + 2 }),
    ]
    expect(barsOf(stays(105), 0, ALL)[0]).toMatchObject({ expectedUntil: 105, isExtensionInTheWay: false })
    expect(barsOf(stays(104), 0, ALL)[0]).toMatchObject({ expectedUntil: 105, isExtensionInTheWay: true })
  })

  test('an expected extension is drawn as far as it goes, past later stays', () => {
    const stays = [
      aStay({ status: 'checked_in', expectedUntil: 140 }),
      aStay({ id: 'next', arrival: 110, departure: 112 }),
      aStay({ id: 'later', arrival: 120, departure: 122 }),
    ]
    const ids = (from: number) => barsOf(stays, 0, { from, to: from + 10 }).map(({ stay }) => stay.id)
    expect(ids(130)).toEqual(['bkg_1'])
    expect(ids(118)).toEqual(['bkg_1', 'later'])
    expect(ids(141)).toEqual([])
  })

  test('only what touches the window is drawn, half a departure day and a tail included', () => {
    const stays = Array.from({ length: 50 }, (_, i) => aStay({ id: `${i}`, arrival: i * 10, departure: i * 10 + 4 }))
    const ids = (from: number, to: number, turnoverNights = 0) =>
      barsOf(stays, turnoverNights, { from, to }).map(({ stay }) => stay.id)
    expect(ids(200, 221)).toEqual(['20', '21', '22'])
    expect(ids(204, 205)).toEqual(['20'])
    expect(ids(205, 210)).toEqual([])
    expect(ids(206, 210, 3)).toEqual(['20'])
  })
})
