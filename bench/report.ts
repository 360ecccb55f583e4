/** The results of a run: a table, and a JSON file that git ignores. What counts is kept in bench/README.md#figures. */
import { mkdirSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import type { Compared } from './compare.ts'

const FOLDER = 'bench/results'

function machine(): Record<string, unknown> {
  const memoryGb = Math.round(totalmem() / 2 ** 30)
  return { cpu: cpus()[0]?.model ?? 'unknown', cores: cpus().length, memoryGb, bun: Bun.version }
}

export async function writeResult(name: string, result: object): Promise<void> {
  mkdirSync(FOLDER, { recursive: true })
  const content = { at: new Date().toISOString(), machine: machine(), postgres: '18, embedded', ...result }
  await Bun.write(`${FOLDER}/${name}.json`, `${JSON.stringify(content, null, 2)}\n`)
}

/** One line per side of a comparison. */
export function tableOf(compared: readonly Compared[]): string {
  const head = [
    'scenario',
    'conns',
    'side',
    'per s',
    'p50 ms',
    'p99 ms',
    'p99.9 ms',
    'cpu us',
    'pg us',
    'MB',
    'x floor',
    'x f-body',
    'x peer',
  ]
  const rows = compared.flatMap(({ scenario, connections, arms, ratioTo }) =>
    arms.map((arm, i) => {
      const isOwn = i === arms.length - 1
      const ratio = (to: string) => (isOwn && ratioTo[to] !== undefined ? ratioTo[to].throughput.toFixed(2) : '')
      return [
        ...[scenario, String(connections), arm.name, arm.perSecond.toFixed(0)],
        ...[arm.p50Ms.toFixed(3), arm.p99Ms.toFixed(2), arm.p999Ms.toFixed(2)],
        ...[(arm.serverCpuMsPerRequest * 1_000).toFixed(0), (arm.postgresCpuMsPerRequest * 1_000).toFixed(0)],
        ...[arm.residentMb.toFixed(0), ratio('floor'), ratio('floor-body'), ratio('peer')],
      ]
    }),
  )
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]?.length ?? 0)))
  const line = (row: readonly string[]) =>
    row.map((cell, i) => (i < 3 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join('  ')
  return [head, ...rows].map(line).join('\n')
}
