import { describe, expect, test } from 'bun:test'
import { axisFrom0, html, lineChart, placeOfShare, shareAxis, timeAxis } from '../../../src/cli/bench/charts.ts'
import { figure } from '../../../src/cli/bench/report.ts'

describe('markup', () => {
  test('escapes every value but markup, and joins lists of both', () => {
    expect(html`<p title="${'"'}">${['<b>', html`<i>${'&'}</i>`, null, undefined, 0]}</p>`.text).toBe(
      '<p title="&quot;">&lt;b&gt;<i>&amp;</i>0</p>',
    )
  })
})

describe('an axis', () => {
  test.each([
    [0, 1, ['0.0', '0.2', '0.4', '0.6', '0.8', '1.0']],
    [0.037, 0.04, ['0.00', '0.01', '0.02', '0.03', '0.04']],
    [4.2, 5, ['0', '1', '2', '3', '4', '5']],
    [61, 80, ['0', '20', '40', '60', '80']],
    [1_000, 1_000, ['0', '200', '400', '600', '800', '1000']],
    [12_345, 15_000, ['0', '5000', '10000', '15000']],
  ])('of values up to %p ends at %p, with round numbers', (highest, max, texts) => {
    const axis = axisFrom0(highest, 'ms')
    expect(axis.max).toBeCloseTo(max, 9)
    expect(axis.ticks.map(([, text]) => text)).toEqual(texts)
  })

  test('of time has whole seconds, and ends where the run ended', () => {
    expect(timeAxis(30)).toMatchObject({
      max: 30,
      ticks: [
        [0, '0'],
        [10, '10'],
        [20, '20'],
        [30, '30'],
      ],
    })
    expect(timeAxis(1)).toMatchObject({
      max: 1,
      ticks: [
        [0, '0'],
        [1, '1'],
      ],
    })
  })

  test('of shares gives each nine as much room as the one before', () => {
    expect([0, 0.9, 0.99, 0.999].map((share) => Math.round(placeOfShare(share) * 1e6) / 1e6)).toEqual([0, 1, 2, 3])
    expect(shareAxis(0.995).ticks.map(([, text]) => text)).toEqual(['50 %', '90 %', '99 %'])
    expect(shareAxis(0).max).toBe(1)
  })
})

describe('a chart', () => {
  const chart = (points: (readonly [number, number])[]) =>
    lineChart({ description: 'd', x: timeAxis(10), yLabel: 'ms', series: [{ name: 'a & b', points }] }).text

  test('places its points between its axes', () => {
    // 58 to 744 of 770 across, 12 to 254 of 300 down.
    expect(
      chart([
        [0, 0],
        [10, 10],
        [5, 5],
      ]),
    ).toContain('points="58,254 744,12 401,133"')
  })

  test('shows a single point, and nothing where there is none', () => {
    expect(chart([[5, 10]])).toContain('<circle class="dot s0" cx="401" cy="12" r="3"/>')
    expect(chart([])).not.toMatch(/polyline|circle|NaN|Infinity/)
  })
})

test('figures have three digits that mean something', () => {
  expect([0.0512, 1.006, 9.994, 12.34, 123.4, 1_234.5, null].map(figure)).toEqual([
    '0.05',
    '1.01',
    '9.99',
    '12.3',
    '123',
    '1,235',
    '–',
  ])
})
