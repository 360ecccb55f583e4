/** The dashboard and the alerts ask for what the running service tells, and every alert says what to do. */
import { beforeAll, describe, expect, test } from 'bun:test'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runCli } from '../../src/cli/run-cli.ts'
import { CLUSTER_METRICS } from '../../src/cluster/cluster-metrics.ts'
import type { ClusterStats } from '../../src/cluster/cluster-status.ts'
import { ALL_METRICS } from '../../src/observability/all-metrics.ts'
import { type MetricReading, metricsText, readMetrics, type Series } from '../../src/observability/metric.ts'
import { SummedMetrics, WORKER_METRICS } from '../../src/observability/summed-metrics.ts'
import { programFile } from '../support/bundled-program.ts'
import { eventually } from '../support/eventually.ts'
import { startMeteredService, UNIT_SLUG } from '../support/metered-service.ts'
import { readQuery } from '../support/promql.ts'
import { Scrape } from '../support/scrape.ts'
import { TEST_PORTAL_TOKEN } from '../support/service-process.ts'
import { fencesOf, sectionOf, shellBlocksOf } from '../support/shell-blocks.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { startTestService } from '../support/test-service.ts'

const ROOT = join(import.meta.dir, '../..')
const FOLDER = join(ROOT, 'docs/operating')

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly for?: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly datasource?: { readonly type: string; readonly uid: string }
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string; readonly datasource: unknown }[]
}

function read(name: string): string {
  return readFileSync(join(ROOT, name), 'utf8')
}

interface Recorded {
  readonly record: string
  readonly expr: string
}

const GROUPS = (
  Bun.YAML.parse(read('deploy/prometheus/alerts.yaml')) as { groups: { name: string; rules: (Rule | Recorded)[] }[] }
).groups
const ALL_RULES = GROUPS.flatMap(({ rules }) => rules)
const RULES = ALL_RULES.filter((rule) => 'alert' in rule)
const RECORDED = ALL_RULES.filter((rule) => 'record' in rule)
const ALERTS_MD = read('docs/operating/alerts.md')
const DASHBOARD = JSON.parse(read('deploy/grafana/nightledger.json'))
const PANELS: readonly Panel[] = DASHBOARD.panels
const QUERIES = PANELS.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr, legendFormat }) => ({ title, expr: inNumbers(expr), legendFormat })),
)

/** Grafana puts these in before Prometheus sees the query. */
function inNumbers(expression: string): string {
  return expression.replaceAll('$__rate_interval', '1m').replaceAll('$instance', '.+')
}

/** Labels that Prometheus adds to every series it scrapes. */
const TARGET_LABELS = ['instance', 'job']

/** Metrics of which a service with several workers has a series for each. */
function eachIn(expression: string): string[] {
  const names = readQuery(expression).selectors.map(({ name }) => name.replace(/_(bucket|sum|count)$/, ''))
  return names.filter((name) => METRICS_OF_EACH.some((each) => each === name))
}

/** What a query asks for that the page does not tell; empty when there is nothing. */
function faultsIn(expression: string, page: Scrape): string[] {
  const { errors, selectors, groupingLabels } = readQuery(expression)
  // Which only several workers have.
  const known = new Set([...TARGET_LABELS, 'worker'])
  const faults = errors.map((error) => `does not parse ${error}`)
  for (const { name, matchers } of selectors.filter(({ name }) => !RECORDED.some(({ record }) => record === name))) {
    const samples = page.samplesOf(name)
    if (samples.length === 0) faults.push(`asks for ${name}, which is not there`)
    const labels = new Set([...TARGET_LABELS, ...samples.flatMap((sample) => Object.keys(sample.labels))])
    for (const label of labels) known.add(label)
    for (const { label, operator, value } of matchers) {
      if (!labels.has(label)) faults.push(`asks for the label ${label}, which ${name} does not have`)
      // Which statuses have occurred is a matter of what was asked for.
      else if (operator === '=' && label !== 'status' && !page.labelValues(name, label).has(value))
        faults.push(`asks for ${label}="${value}", which ${name} does not have`)
    }
  }
  return [...faults, ...groupingLabels.filter((label) => !known.has(label)).map((label) => `groups by ${label}`)]
}

/** What only a node of a cluster tells. */
const CLUSTER: ClusterStats = {
  nodes: { up: 3, leaving: 0, no_database: 0, drained: 0 },
  shards: { served: 256, claimed: 0, without_owner: 0 },
  own: { owned: 85, acquiring: 0, releasing: 0 },
  moves: { acquired: 85, released: 0, dropped: 0, fenced: 0, failures: 0 },
  isEtcdUp: true,
  etcdFailures: 0,
  leaseMs: 3_000,
  isFailsafe: false,
  isConfirmed: true,
  entry: { forwarded: 1, sentAgain: 0, misdirected: 0, held: 0, unanswered: 0, refused: 0, holding: 0 },
}
const NODE_READINGS = readMetrics(CLUSTER_METRICS, CLUSTER)
const WORKERS = { running: 2, restarts: 0 }

const METRICS = [...ALL_METRICS, ...CLUSTER_METRICS, ...WORKER_METRICS]
const METRICS_OF_EACH = METRICS.filter(({ across }) => across === 'each').map(({ name }) => name)

/** What the service has read, from its page. */
function readingsIn(page: Scrape): MetricReading[] {
  return page.families.map(({ name, help, samples }) => {
    const { type = 'gauge', across = 'sum' } = ALL_METRICS.find((metric) => metric.name === name) ?? {}
    if (type !== 'histogram')
      return { name, help, type, across, series: samples.map(({ labels, value }) => ({ labels, values: [value] })) }
    const series = new Map<string, Series>()
    for (const sample of samples) {
      const { le, ...labels } = sample.labels
      const { bounds = [], values } = series.get(JSON.stringify(labels)) ?? { values: [] }
      const below = values.reduce((sum, count) => sum + count, 0)
      if (!sample.name.endsWith('_count'))
        series.set(JSON.stringify(labels), {
          labels,
          bounds: le === undefined || le === '+Inf' ? bounds : [...bounds, Number(le)],
          values: [...values, le === undefined ? sample.value : sample.value - below],
        })
    }
    return { name, help, type, across, series: [...series.values()] }
  })
}

/** Of the service, without what only a node or several workers tell. */
let servicePage: Scrape
let page: Scrape
/** Of a service with two workers. */
let workersPage: Scrape
beforeAll(async () => {
  const metered = await startMeteredService({ requestsPerMinute: 1_000, requestsPerMonth: 1_000 })
  await metered.partner('/units')
  await metered.partner('/bookings', { unit: UNIT_SLUG, arrival: '2027-05-01', departure: '2027-05-04', adults: 2 })
  await fetch(`${metered.service.baseUrl}/readyz`)
  await eventually('a webhook was delivered', async () => {
    servicePage = await metered.scrape()
    page = new Scrape(`${servicePage.text}${metricsText([...NODE_READINGS, ...readMetrics(WORKER_METRICS, WORKERS)])}`)
    // What is measured once a second is missing from a page while that fails, as it may on a busy machine.
    const isMeasured =
      page.value('nightledger_database_up') === 1 && page.seriesNames().has('nightledger_webhook_deliveries_pending')
    return isMeasured && page.value('nightledger_webhook_attempts_total', { outcome: 'delivered' }) > 0
  })
  await metered.close()
  const metrics = new SummedMetrics()
  for (const worker of [0, 1]) metrics.report(worker, [...readingsIn(servicePage), ...NODE_READINGS])
  workersPage = new Scrape(metrics.text(WORKERS))
})

const familiesOf = ({ families }: Scrape) => families.map(({ name, samples }) => [name, samples.length > 0])

describe('the page', () => {
  test('has every metric that is declared, with a sample', () => {
    expect(familiesOf(servicePage)).toEqual(ALL_METRICS.map(({ name }) => [name, true]))
    expect(familiesOf(page)).toEqual(METRICS.map(({ name }) => [name, true]))
  })

  test('of two workers has the same, in twice the number or once for each', () => {
    expect(familiesOf(workersPage)).toEqual(familiesOf(page))
    const route = { surface: 'partner', method: 'POST', route: '/partner/v1/bookings' }
    for (const [name, labels] of [
      ['nightledger_http_requests_total', { ...route, status: '201' }],
      ['nightledger_http_request_duration_seconds_bucket', { ...route, le: '10' }],
      ['nightledger_http_request_duration_seconds_count', route],
    ] as const) {
      expect(page.value(name, labels)).toBeGreaterThan(0)
      expect([name, workersPage.value(name, labels)]).toEqual([name, 2 * page.value(name, labels)])
    }
    for (const name of METRICS_OF_EACH)
      expect([name, workersPage.families.find((family) => family.name === name)?.samples.length]).toEqual([
        name,
        2 * (page.families.find((family) => family.name === name)?.samples.length ?? 0),
      ])
  })
})

test.each(RECORDED.map(({ record, expr }) => [record, expr] as const))(
  'the recording rule %s asks for what there is',
  (name, expr) => {
    expect(faultsIn(expr, page)).toEqual([])
    expect(faultsIn(expr, workersPage)).toEqual([])
    expect(name).toMatch(/^nightledger:[a-z_]+:[a-z0-9]+$/)
  },
)

describe('the alert', () => {
  test.each(RULES.map((rule) => [rule.alert, rule] as const))(
    '%s asks for what there is, and says what it means',
    (name, rule) => {
      expect(faultsIn(rule.expr, page)).toEqual([])
      expect(faultsIn(rule.expr, workersPage)).toEqual([])
      expect(name).toMatch(/^Nightledger[A-Z][A-Za-z]+$/)
      expect(rule.for ?? '1m').toMatch(/^\d+[smh]$/)
      expect(['critical', 'warning', 'info']).toContain(rule.labels['severity'] ?? '')
      expect(Object.keys(rule.annotations)).toEqual(['summary', 'description', 'runbook'])
      expect(rule.annotations['runbook']).toBe(`docs/operating/alerts.md#${name.toLowerCase()}`)
      // What a description fills in must be left over by the query.
      const { groupingLabels, selectors } = readQuery(rule.expr)
      const labels = [...TARGET_LABELS, ...(eachIn(rule.expr).length > 0 ? ['worker'] : [])]
      const left = rule.expr.includes(' by (') ? groupingLabels : selectors.flatMap(() => labels)
      const filled = [...(rule.annotations['description'] ?? '').matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label)
      expect(filled.filter((label) => !left.includes(label ?? ''))).toEqual([])
    },
  )

  test('has a name of its own', () => {
    expect(new Set(RULES.map(({ alert }) => alert)).size).toBe(RULES.length)
    expect(new Set(GROUPS.map(({ name }) => name)).size).toBe(GROUPS.length)
  })
})

describe('alerts.md', () => {
  test('has a section for every alert, in their order, and none for another', () => {
    const sections = [...ALERTS_MD.matchAll(/^## (Nightledger\w+)$/gm)].map(([, name]) => name)
    expect(sections).toEqual(RULES.map(({ alert }) => alert))
  })

  test('names only alerts that exist', () => {
    const named = new Set([...ALERTS_MD.matchAll(/\bNightledger\w+/g)].map(([name]) => name))
    expect([...named].filter((name) => !RULES.some(({ alert }) => alert === name))).toEqual([])
  })

  test('has a configuration for Prometheus and one for Alertmanager, for the rules beside them', () => {
    const [prometheus, alertmanager] = fencesOf(ALERTS_MD)
      .filter(({ info }) => info === 'yaml')
      .map(({ text }) => Bun.YAML.parse(text))
    expect(prometheus).toMatchObject({
      rule_files: ['alerts.yaml'],
      alerting: { alertmanagers: [{ static_configs: [{ targets: ['127.0.0.1:9093'] }] }] },
      scrape_configs: [{ job_name: 'nightledger', static_configs: [{ targets: ['10.0.0.1:9090', '10.0.0.2:9090'] }] }],
    })
    expect(alertmanager).toMatchObject({
      route: { receiver: 'operators', group_by: ['alertname'] },
      receivers: [{ name: 'operators' }],
    })
  })

  test('leads to files that are there', () => {
    const links = [...ALERTS_MD.matchAll(/\]\(([^)#]+)\)/g)].map(([, path]) => path ?? '')
    expect(links.filter((path) => !existsSync(join(FOLDER, path)))).toEqual([])
  })

  test('names only commands that exist', async () => {
    const commands = new Set(
      [...ALERTS_MD.matchAll(/`nightledger ([a-z-]+(?: [a-z][a-z-]*)?)/g)].map(([, words]) => words ?? ''),
    )
    expect(commands.size).toBeGreaterThan(5)
    for (const words of commands) {
      let usage = ''
      const terminal = { env: {}, isTty: false, err: () => {}, readInput: async () => '' }
      const code = await runCli([...words.split(' '), '--help'], { ...terminal, out: (text) => (usage += text) })
      expect([words, code, usage.split('\n')[0]]).toEqual([words, 0, expect.stringContaining(` ${words} `)])
    }
  })
})

test('the commands of alerts.md show the usage and the refusals of every agency, and whose an id in the log is', async () => {
  const service = await startTestService()
  const agencies = [await service.agency(), await service.agency()]
  for (const agency of agencies) {
    const { secret, key } = await service.key(agency)
    await service.ask(`/agencies/${agency.slug}/keys/${key.id}`, undefined, { method: 'DELETE' })
    await service.asPartner(secret, '/bookings', {})
  }
  // They are written once a second.
  await service.ledger.refusals.flush()
  const folder = temporaryFolder('alerts')
  writeFileSync(join(folder, 'nightledger'), `#!/bin/sh\nexec "${process.execPath}" run "${programFile()}" "$@"\n`)
  chmodSync(join(folder, 'nightledger'), 0o755)
  const env = {
    PATH: `${folder}:${process.env['PATH']}`,
    NIGHTLEDGER_URL: service.url,
    PORTAL_TOKEN: TEST_PORTAL_TOKEN,
  }
  const [block] = shellBlocksOf(sectionOf(ALERTS_MD, 'How to run the commands'))
  const run = (script: string) => Bun.spawn(['bash', '-euc', script], { env, stdout: 'pipe', stderr: 'pipe' })
  const shell = run(block?.script ?? '')
  const [out, err] = await Promise.all([shell.stdout.text(), shell.stderr.text()])
  expect([await shell.exited, err]).toEqual([0, ''])
  for (const { slug } of agencies) {
    const shown = out.split('== ').find((part) => part.startsWith(`${slug}\n`)) ?? ''
    expect(shown.match(/REMAINING|UNAUTHORIZED/g)).toEqual(['REMAINING', 'UNAUTHORIZED'])
  }
  const listed = await run('nightledger agencies list').stdout.text()
  for (const { slug, id } of agencies) expect(listed).toMatch(new RegExp(`^${slug} .*${id}$`, 'm'))
  await service.close()
})

describe('the dashboard', () => {
  test.each(QUERIES.map(({ title, ...query }, i) => [`${title} ${i}`, query] as const))(
    'asks for what there is: %s',
    (_, query) => {
      expect(faultsIn(query.expr, page)).toEqual([])
      expect(faultsIn(query.expr, workersPage)).toEqual([])
      // Or several lines would have one name.
      if (!/\b(sum|min|max)\b/.test(query.expr)) expect(eachIn(query.expr)).toEqual([])
      const { groupingLabels } = readQuery(query.expr)
      const filled = [...query.legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label ?? '')
      expect(filled.filter((label) => !groupingLabels.includes(label))).toEqual([])
    },
  )

  test('shows every metric', () => {
    const requested = new Set(QUERIES.flatMap(({ expr }) => readQuery(expr).selectors.map(({ name }) => name)))
    const shown = (name: string) => [name, `${name}_bucket`, `${name}_sum`].some((series) => requested.has(series))
    expect(METRICS.map(({ name }) => name).filter((name) => !shown(name))).toEqual([])
  })

  test('asks the data source that is chosen when it is imported', () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: this is how Grafana writes a variable
    const chosen = { type: 'prometheus', uid: '${datasource}' }
    const variables = DASHBOARD.templating.list.map(({ name, type }: { name: string; type: string }) => [name, type])
    expect(variables).toEqual([
      ['datasource', 'datasource'],
      ['instance', 'query'],
    ])
    for (const { type, datasource, targets = [] } of PANELS) {
      if (type !== 'row') expect(datasource).toEqual(chosen)
      for (const target of targets) expect(target.datasource).toEqual(chosen)
    }
  })

  test('has panels with ids of their own, that lie side by side', () => {
    expect(new Set(PANELS.map(({ id }) => id)).size).toBe(PANELS.length)
    const overlaps = (a: Panel['gridPos'], b: Panel['gridPos']) =>
      a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h
    for (const [i, { gridPos }] of PANELS.entries()) {
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24)
      expect(PANELS.slice(i + 1).filter((other) => overlaps(gridPos, other.gridPos))).toEqual([])
    }
  })
})

describe('the rules see', () => {
  test.each([
    ['a metric that is not there', 'rate(nightledger_requests_total[5m])', 'nightledger_requests_total'],
    ['a label that is not there', 'nightledger_database_up{agency="a"}', 'the label agency'],
    ['a value that is not there', 'nightledger_journal_state{state="asleep"}', 'state="asleep"'],
    ['a grouping that is not there', 'sum by (agency) (nightledger_database_up)', 'groups by agency'],
    ['a bracket that is not closed', 'sum(nightledger_database_up', 'does not parse'],
  ])('%s', (_, expression, fault) => {
    expect(faultsIn(expression, page).join()).toContain(fault)
  })
})
