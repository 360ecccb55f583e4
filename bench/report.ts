/** The results of a run: a table, a JSON file, and the chart in the README. */
import { mkdirSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import type { Compared } from './compare.ts'

const FOLDER = 'bench/results'

export function machine(): Record<string, unknown> {
  const memoryGb = Math.round(totalmem() / 2 ** 30)
  return { cpu: cpus()[0]?.model ?? 'unknown', cores: cpus().length, memoryGb, bun: Bun.version, postgres: '18' }
}

export async function writeResult(name: string, result: object): Promise<void> {
  mkdirSync(FOLDER, { recursive: true })
  const content = { at: new Date().toISOString(), machine: machine(), ...result }
  await Bun.write(`${FOLDER}/${name}.json`, `${JSON.stringify(content, null, 2)}\n`)
}

/** What an earlier run has written; empty when there is nothing. */
export async function resultOf(name: string): Promise<Record<string, unknown>> {
  const file = Bun.file(`${FOLDER}/${name}.json`)
  return (await file.exists()) ? await file.json() : {}
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

const COLOURS: Record<string, string> = {
  floor: '#9aa5b1',
  'floor-body': '#c3cad1',
  peer: '#d98f4e',
  nightledger: '#2f6f9f',
}
const BAR_PX = 16
const LABEL_PX = 250
const WIDTH_PX = 860

/** Throughput as bars, every scenario on its own scale, with the compared sides next to each other. */
export async function writePicture(compared: readonly Compared[]): Promise<void> {
  let y = 34
  const parts: string[] = []
  const text = (x: number, at: number, said: string, more = '') =>
    parts.push(`<text x="${x}" y="${at}" ${more}>${said}</text>`)
  for (const { title, connections, arms } of compared) {
    const most = Math.max(...arms.map(({ perSecond }) => perSecond))
    text(LABEL_PX - 10, y + (arms.length * BAR_PX) / 2 + 4, `${title} · ${connections}`, 'text-anchor="end"')
    for (const { name, perSecond } of arms) {
      const width = Math.max(1, (perSecond / most) * (WIDTH_PX - LABEL_PX - 170))
      parts.push(
        `<rect x="${LABEL_PX}" y="${y}" width="${width.toFixed(1)}" height="${BAR_PX - 3}" fill="${COLOURS[name] ?? COLOURS['nightledger']}"/>`,
      )
      text(LABEL_PX + width + 6, y + 11, `${name} ${Math.round(perSecond).toLocaleString('en')}/s`, 'fill="#444"')
      y += BAR_PX
    }
    y += 10
  }
  const style = 'font-family="system-ui, sans-serif" font-size="12"'
  const title =
    '<text x="10" y="18" font-size="13" font-weight="600">Requests per second (scenario · connections), longer is better</text>'
  const background = `<rect width="${WIDTH_PX}" height="${y}" fill="#fff"/>`
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH_PX}" height="${y}" ${style}><title>Requests per second, by scenario</title>${background}${title}\n${parts.join('\n')}\n</svg>\n`
  mkdirSync(FOLDER, { recursive: true })
  await Bun.write(`${FOLDER}/throughput.svg`, svg)
}
