/** The report in a real browser: as readable in dark and on a phone as at a desk. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BenchResult, Figures, warningsOf } from '../../../src/cli/bench/figures.ts'
import { reportOf } from '../../../src/cli/bench/report.ts'
import { Arrivals } from '../../../src/lib/open-loop.ts'
import { SeededRandom } from '../../../src/lib/seeded-random.ts'
import {
  describeInBrowser,
  expectAccessible,
  openBrowser,
  openContext,
  PHONE,
  snapshot,
} from '../../support/browser.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const folder = temporaryFolder('bench')

/** A run of twenty seconds in which the service stalled once, with everything that a report can have. */
function sampleResult(): BenchResult {
  const wires = {
    availability: 'GET /availability, 31 nights',
    quote: 'POST /quote',
    units: 'GET /units',
    search: 'GET /search',
  }
  const random = new SeededRandom(5)
  const arrivals = new Arrivals({ perSecond: 200, seed: 5 })
  const figures = new Figures(wires)
  for (let dueNs = arrivals.next(); dueNs < 20e9; dueNs = arrivals.next()) {
    const operation = random.pick(Object.keys(wires))
    figures.due(dueNs)
    const stallNs = dueNs > 8e9 && dueNs < 9e9 ? 9e9 - dueNs : 0
    const nowNs = dueNs + stallNs + (3 - 4 * Math.log(1 - random.next())) * 1e6
    const outcome = random.chance(0.03) ? '422 MIN_STAY' : '200'
    const isFailed = random.chance(0.002)
    figures.ended(
      operation,
      { dueNs, nowNs },
      isFailed ? { kind: 'failed', outcome: '500 INTERNAL' } : { kind: 'answered', outcome },
    )
  }
  const result = {
    ...figures.end(),
    ...{ seconds: 20, generator: { lateP99Ms: 12, lateMaxMs: 30, waited: 400 } },
    end: { reason: 'interrupted', message: 'The run was interrupted before its end.' } as const,
    ...{
      startedAt: '2030-01-02T03:04:05.678Z',
      url: `https://${'a-long-name.'.repeat(6)}example.com`,
      agency: 'harbour',
    },
    ...{ isSandbox: true, serviceVersion: '1.0.0', version: '1.0.0' },
    plan: { perSecond: 200, durationS: 30, connections: 32, mix: 'reads', requestsMax: 6_300 } as const,
    limits: { requestsPerMinute: 20_000, leftOfMinute: 20_000, leftOfMonth: 900_000 },
    ...{ leftOut: [], floor: { wire: 'GET /healthz', requests: 20, minMs: 1.1, p50Ms: 1.3, maxMs: 2.9 } },
    cleanup: { booked: 30, cancelled: 29, left: ['bkg_0123456789abcdef0123456789abcdef'] },
  }
  return { ...result, warnings: warningsOf(result) }
}

describeInBrowser('the report of a load test', () => {
  let browser: Awaited<ReturnType<typeof openBrowser>>
  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(() => browser.close())

  test('is accessible in light and dark, and fits a phone; it asks for nothing and reports no error', async () => {
    const file = join(folder, 'report.html')
    writeFileSync(file, reportOf(sampleResult()))
    const context = await openContext(browser, {})
    const faults: string[] = []
    context.on('console', (message) => void faults.push(message.text()))
    context.on('request', (request) => void faults.push(request.url()))
    const page = await context.newPage()
    await page.goto(`file://${file}`)
    expect(faults.filter((fault) => fault !== `file://${file}`)).toEqual([])
    await expectAccessible(page)
    await snapshot(page, 'load-test', { isWhole: true })
    await page.setViewportSize(PHONE)
    const width = await page.evaluate('document.documentElement.scrollWidth')
    const shown = await page.locator('svg.chart:visible').count()
    expect([width, shown]).toEqual([PHONE.width, 3])
    await context.close()
  })
})
