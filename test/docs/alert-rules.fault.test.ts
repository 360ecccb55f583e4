/** Every alert fires when it should and is quiet when it should be, as Prometheus's own tool evaluates it. */
import { beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rounds } from '../support/long-run.ts'
import { type InputSeries, quietTraffic, SCRAPE_MIN } from '../support/quiet-month.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const RULES = join(import.meta.dir, '../../deploy/prometheus')
const TESTS = join(RULES, 'tests')
const FILES = readdirSync(TESTS).map((name) => name.replace('.test.yaml', ''))

interface Group {
  readonly name: string
  readonly rules: readonly { readonly alert?: string }[]
}

interface RuleTest {
  readonly alertname: string
  readonly exp_alerts: readonly {
    readonly exp_labels: Readonly<Record<string, string>>
    readonly exp_annotations: Readonly<Record<string, string>>
  }[]
}

const GROUPS = (Bun.YAML.parse(readFileSync(join(RULES, 'alerts.yaml'), 'utf8')) as { groups: Group[] }).groups

function textOf(file: string): string {
  return readFileSync(join(TESTS, `${file}.test.yaml`), 'utf8')
}

function casesOf(file: string): readonly RuleTest[] {
  const { tests } = Bun.YAML.parse(textOf(file)) as { tests: { alert_rule_test: RuleTest[] }[] }
  return tests.flatMap(({ alert_rule_test }) => alert_rule_test)
}

test('every group of alerts has a file of cases, and every alert one in which it fires, with all it says, and one in which it does not', () => {
  expect(FILES.map((file) => `nightledger-${file}`).toSorted()).toEqual(GROUPS.map(({ name }) => name).toSorted())
  for (const { name, rules } of GROUPS) {
    const cases = casesOf(name.replace('nightledger-', ''))
    for (const { alert } of rules.filter(({ alert }) => alert !== undefined)) {
      const own = cases.filter(({ alertname }) => alertname === alert)
      const fired = own.flatMap(({ exp_alerts }) => exp_alerts)
      expect([alert, fired.length > 0, own.some(({ exp_alerts }) => exp_alerts.length === 0)]).toEqual([
        alert,
        true,
        true,
      ])
      for (const { exp_labels, exp_annotations } of fired) {
        expect(exp_labels['severity']).toBeString()
        expect(Object.keys(exp_annotations)).toEqual(['summary', 'description', 'runbook'])
      }
    }
  }
})

describe.skipIf(Bun.which('promtool') === null)('promtool (Debian: prometheus; skipped without it)', () => {
  const folder = temporaryFolder('alerts')

  /** Each group by itself: the tool evaluates every rule that it reads. Those of one group use nothing of another. */
  beforeAll(() => {
    mkdirSync(join(folder, 'tests'), { recursive: true })
    for (const group of GROUPS) {
      const file = group.name.replace('nightledger-', '')
      writeFileSync(join(folder, `${file}.yaml`), Bun.YAML.stringify({ groups: [group] }, null, 1))
      writeFileSync(join(folder, 'tests', file), textOf(file).replace('../alerts.yaml', `../${file}.yaml`))
    }
  })

  async function promtool(file: string): Promise<string> {
    const child = Bun.spawn(['promtool', 'test', 'rules', file], { stdout: 'pipe', stderr: 'pipe' })
    const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()])
    return (await child.exited) === 0 ? 'SUCCESS' : out + err
  }

  test.each(FILES)(
    'finds every case as it should be: %s',
    async (file) => {
      expect(await promtool(join(folder, 'tests', file))).toBe('SUCCESS')
    },
    120_000,
  )

  /** @param expected the alerts that fire at any time */
  async function firing(hours: number, input: readonly InputSeries[], expected: readonly string[]): Promise<string> {
    const file = join(folder, `${hours}-hours`)
    const samples = expected.map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 }))
    const spec = {
      rule_files: [join(RULES, 'alerts.yaml')],
      evaluation_interval: `${SCRAPE_MIN}m`,
      tests: [
        {
          interval: `${SCRAPE_MIN}m`,
          input_series: input,
          promql_expr_test: [
            {
              expr: `group by (alertname) (count_over_time(ALERTS{alertstate="firing"}[${hours}h]))`,
              eval_time: `${hours * 60 - SCRAPE_MIN}m`,
              exp_samples: samples,
            },
          ],
        },
      ],
    }
    writeFileSync(file, JSON.stringify(spec))
    return promtool(file)
  }

  const DAYS = rounds({ push: 1, long: 30 })
  test(`no alert fires in ${DAYS} days of ordinary traffic, with a deployment every night and restarts of the database`, async () => {
    expect(await firing(24 * DAYS, quietTraffic(24 * DAYS), [])).toBe('SUCCESS')
  }, 600_000)

  test('the same traffic with a quarter of an hour without a database raises its alert', async () => {
    const input = quietTraffic(2).map(({ series, values }) => {
      if (!series.startsWith('nightledger_database_up{')) return { series, values }
      return { series, values: values.split(' ').fill('0', 10, 13).join(' ') }
    })
    expect(await firing(2, input, ['NightledgerDatabaseAway'])).toBe('SUCCESS')
  }, 120_000)
})
