/*
 * `bun bench/profile.ts <kind> [connections] [folder]`: where the service spends its time under one kind of load. Writes a
 * `.cpuprofile` for Chrome's developer tools into the folder and prints the functions with the most self time.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Harness } from './harness.ts'
import type { Kind } from './load/requests.ts'
import { QUICK_WORLD } from './world/world.ts'

const [kind = 'availability-31', connections = '32', folder = 'bench/results/profile'] = process.argv.slice(2)
const RUN = { warmMs: 500, runMs: 5_000 }
const SHOWN = 45

const flags = ['--cpu-prof', `--cpu-prof-dir=${folder}`]
const harness = await Harness.open(QUICK_WORLD, console.log, { hasPeer: false, serviceFlags: flags })
try {
  console.log(await harness.run({ name: kind, server: 'nightledger', kind: kind as Kind }, Number(connections), RUN))
} finally {
  await harness.stop()
}

interface Profile {
  readonly nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[]
  readonly samples: number[]
}

for (const file of readdirSync(folder).filter((name) => name.endsWith('.cpuprofile'))) {
  const profile = (await Bun.file(join(folder, file)).json()) as Profile
  const names = new Map(
    profile.nodes.map(({ id, callFrame: f }) => [
      id,
      `${f.functionName || '(anonymous)'} ${f.url.split('/').slice(-2).join('/')}:${f.lineNumber + 1}`,
    ]),
  )
  const own = new Map<string, number>()
  for (const id of profile.samples) own.set(names.get(id) ?? '?', (own.get(names.get(id) ?? '?') ?? 0) + 1)
  console.log(`${file}: ${profile.samples.length} samples`)
  for (const [name, count] of [...own].sort((a, b) => b[1] - a[1]).slice(0, SHOWN))
    console.log(`${((100 * count) / profile.samples.length).toFixed(1).padStart(6)} %  ${name}`)
}
