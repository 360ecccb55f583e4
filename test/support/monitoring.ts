/** A Prometheus and an Alertmanager of a test, with the rules that operators get. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventually } from './eventually.ts'
import { freePort } from './free-port.ts'

const RULES = join(import.meta.dir, '../../deploy/prometheus/alerts.yaml')
const PROGRAMS = ['prometheus', 'prometheus-alertmanager']

/** Which of the programs are not installed; they are in Debian's packages of the same names. */
export const MISSING_MONITORING = PROGRAMS.filter((program) => Bun.which(program) === null)

/**
 * So that an alert comes within seconds, and ends within half a minute of its cause: every rule waits a second, and every window is of
 * twenty. The thresholds stay.
 */
const SHORTENED = String.raw`s/for: [0-9]+[smh]/for: 1s/; s/\[[0-9]+[smhd]\]/[20s]/g; s/offset [0-9]+h/offset 20s/; s/interval: 1m/interval: 1s/`

const PREFIX = 'Nightledger'
const LOOK_MS = 200
/** An alert comes within seconds. A busy machine may take its time. */
const WAIT_MS_MAX = 180_000

interface ActiveAlert {
  readonly name: string
  readonly severity: string
  readonly instance: string | null
}

export class Monitoring {
  readonly #prometheus: number
  readonly #alertmanager: number
  readonly #children: readonly Bun.Subprocess[]

  private constructor(ports: { prometheus: number; alertmanager: number }, children: readonly Bun.Subprocess[]) {
    this.#prometheus = ports.prometheus
    this.#alertmanager = ports.alertmanager
    this.#children = children
  }

  /** @param targets ports of this machine, by job */
  static async start(folder: string, targets: Readonly<Record<string, readonly number[]>>): Promise<Monitoring> {
    const ports = { prometheus: freePort(), alertmanager: freePort() }
    mkdirSync(folder, { recursive: true })
    const shorten = Bun.spawn(['sed', '-E', SHORTENED, RULES], { stdout: 'pipe' })
    writeFileSync(join(folder, 'alerts.yaml'), await shorten.stdout.text())
    const config = {
      // A page takes a second while the database does not answer.
      global: { scrape_interval: '2s', scrape_timeout: '2s', evaluation_interval: '1s' },
      rule_files: [join(folder, 'alerts.yaml')],
      alerting: { alertmanagers: [{ static_configs: [{ targets: [`127.0.0.1:${ports.alertmanager}`] }] }] },
      scrape_configs: Object.entries(targets).map(([job, each]) => ({
        job_name: job,
        static_configs: [{ targets: each.map((port) => `127.0.0.1:${port}`) }],
      })),
    }
    writeFileSync(join(folder, 'prometheus.yaml'), JSON.stringify(config))
    const route = { receiver: 'nobody', group_wait: '1s', group_interval: '1s' }
    writeFileSync(join(folder, 'alertmanager.yaml'), JSON.stringify({ route, receivers: [{ name: 'nobody' }] }))
    const children = [
      [
        'prometheus',
        `--config.file=${join(folder, 'prometheus.yaml')}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${ports.prometheus}`,
        '--rules.alert.resend-delay=1s',
      ],
      [
        'prometheus-alertmanager',
        `--config.file=${join(folder, 'alertmanager.yaml')}`,
        `--storage.path=${join(folder, 'alertmanager')}`,
        `--web.listen-address=127.0.0.1:${ports.alertmanager}`,
        '--cluster.listen-address=',
      ],
    ].map((command) => Bun.spawn(command, { stdout: 'ignore', stderr: Bun.file(join(folder, `${command[0]}.log`)) }))
    const monitoring = new Monitoring(ports, children)
    await eventually('Prometheus and Alertmanager are ready', async () =>
      (await Promise.all([isReady(ports.prometheus), isReady(ports.alertmanager)])).every(Boolean),
    ).catch((error) => {
      const logs = PROGRAMS.map((program) => readFileSync(join(folder, `${program}.log`), 'utf8').slice(-1_000))
      throw new Error(`${error}\n${logs.join('\n')}`)
    })
    return monitoring
  }

  /** The series of an instant query. */
  async query(expression: string): Promise<readonly { metric: Record<string, string>; value: number }[]> {
    const url = `http://127.0.0.1:${this.#prometheus}/api/v1/query?query=${encodeURIComponent(expression)}`
    const { data, error } = (await (await fetch(url)).json()) as {
      data?: { result: { metric: Record<string, string>; value: [number, string] }[] }
      error?: string
    }
    if (data === undefined) throw new Error(`Cannot query ${expression}: ${error}`)
    return data.result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }))
  }

  /** What has arrived at the Alertmanager and is not resolved. */
  async active(): Promise<readonly ActiveAlert[]> {
    const response = await fetch(`http://127.0.0.1:${this.#alertmanager}/api/v2/alerts?active=true`)
    const alerts = (await response.json()) as { labels: Record<string, string> }[]
    return alerts.map(({ labels }) => ({
      name: labels['alertname'] ?? '',
      severity: labels['severity'] ?? '',
      instance: labels['instance'] ?? null,
    }))
  }

  /**
   * Repeats what provokes until all of the alerts have arrived at the Alertmanager.
   * @param names without `Nightledger`
   * @throws Error naming those that have not
   */
  async untilActive(
    names: readonly string[],
    provoke: () => Promise<unknown> = () => Bun.sleep(LOOK_MS),
  ): Promise<void> {
    const arrived = new Set<string>()
    const until = performance.now() + WAIT_MS_MAX
    const isOver = () => performance.now() > until || names.every((name) => arrived.has(name))
    const looking = (async () => {
      while (!isOver()) {
        for (const { name } of await this.active()) arrived.add(name.replace(PREFIX, ''))
        await Bun.sleep(LOOK_MS)
      }
    })()
    while (!isOver()) await provoke()
    await looking
    const missing = names.filter((name) => !arrived.has(name))
    if (missing.length > 0) throw new Error(`These alerts did not arrive: ${missing.join(', ')}`)
  }

  /** @throws Error naming those that are still active */
  async untilResolved(names: readonly string[]): Promise<void> {
    const until = performance.now() + WAIT_MS_MAX
    for (;;) {
      const active = await this.active()
      const left = names.filter((name) => active.some((alert) => alert.name === PREFIX + name))
      if (left.length === 0) return
      if (performance.now() > until) throw new Error(`These alerts are not resolved: ${left.join(', ')}`)
      await Bun.sleep(LOOK_MS)
    }
  }

  async stop(): Promise<void> {
    for (const child of this.#children) child.kill('SIGKILL')
    await Promise.all(this.#children.map(({ exited }) => exited))
  }
}

async function isReady(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/-/ready`).then(
    ({ ok }) => ok,
    () => false,
  )
}
