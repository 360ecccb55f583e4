/*
 * `bun bench/clients.ts`: what the client libraries cost over the bare request. Size of the package, time until an import is done, and
 * time per call against `fetch` and `urllib` on loopback, in turns, with a server that answers a constant.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { loadedModules } from '../test/clients/support/loaded-modules.ts'

const ROOT = join(import.meta.dir, '..')
const CALLS = 2_000
const ROUNDS = 5
const STARTS = 7
const ANSWER = JSON.stringify({ tenant: { slug: 'agency', currency: 'EUR' }, quota: { remaining: 50_000 } })

const folder = mkdtempSync(join(tmpdir(), 'nightledger-bench-'))
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: () => new Response(ANSWER, { headers: { 'content-type': 'application/json' } }),
})
const url = `http://127.0.0.1:${server.port}`
try {
  const built = Bun.spawnSync([process.execPath, 'run', 'build.ts', folder], { cwd: join(ROOT, 'clients/typescript') })
  if (built.exitCode !== 0) throw new Error(built.stderr.toString())
  const module = join(folder, 'index.js')
  const all = readdirSync(folder).flatMap((name) => (name.endsWith('.js') ? join(folder, name) : []))
  for (const [name, paths] of Object.entries({
    'an import of the client': [...loadedModules(module)],
    everything: all,
  })) {
    const files = paths.map((path) => readFileSync(path))
    const [bytes, compressed] = [files, files.map((file) => gzipSync(file))].map((each) => Buffer.concat(each).length)
    console.log(`TypeScript, ${name}: ${bytes} bytes, ${compressed} compressed`)
  }

  const env = { ...process.env, PYTHONPATH: join(ROOT, 'clients/python') }
  const starts = [
    ['Node, import', ['node', '--input-type=module', '-e', `await import('${module}')`], ['node', '-e', '']],
    ['Bun, import', [process.execPath, '-e', `await import('${module}')`], [process.execPath, '-e', '0']],
    ['Python, import', ['python3', '-c', 'import nightledger'], ['python3', '-c', 'import urllib.request, json']],
  ] as const
  for (const [name, command, bare] of starts) {
    const [own, without] = [command, bare].map((each) =>
      median(Array.from({ length: STARTS }, () => millisecondsOf(() => Bun.spawnSync([...each], { env })))),
    )
    console.log(`${name}: ${own?.toFixed(1)} ms, without it ${without?.toFixed(1)} ms`)
  }

  const program = join(folder, 'calls.mjs')
  writeFileSync(
    program,
    `
      import { Nightledger } from '${module}'
      const client = new Nightledger({ key: 'hr_test_bench', url: '${url}' })
      const headers = { authorization: 'Bearer hr_test_bench' }
      const ways = { client: () => client.me(), bare: async () => (await fetch('${url}/partner/v1/me', { headers })).json() }
      for (let round = 0; round <= ${ROUNDS}; round++)
        for (const [name, call] of Object.entries(ways)) {
          const from = performance.now()
          for (let n = 0; n < ${CALLS}; n++) await call()
          if (round > 0) console.log(name, ((performance.now() - from) * 1000) / ${CALLS})
        }
    `,
  )
  const python = join(folder, 'calls.py')
  writeFileSync(
    python,
    `
import json, time, urllib.request
from nightledger import Nightledger
client = Nightledger('hr_test_bench', '${url}')
def bare():
    request = urllib.request.Request('${url}/partner/v1/me', headers={'Authorization': 'Bearer hr_test_bench'})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)
for round in range(${ROUNDS} + 1):
    for name, call in (('client', client.me), ('bare', bare)):
        begin = time.perf_counter()
        for _ in range(${CALLS}):
            call()
        if round > 0:
            print(name, (time.perf_counter() - begin) * 1e6 / ${CALLS})
`,
  )
  for (const [name, command] of [
    ['Node, fetch', ['node', program]],
    ['Bun, fetch', [process.execPath, program]],
    ['Python, urllib', ['python3', python]],
  ] as const) {
    // Asynchronously: the server is in this process.
    const child = Bun.spawn([...command], { env, stdout: 'pipe', stderr: 'inherit' })
    const lines = (await new Response(child.stdout).text()).trim().split('\n')
    const of = (way: string) =>
      median(lines.filter((line) => line.startsWith(way)).map((line) => Number(line.split(' ')[1])))
    const [own, bare] = [of('client'), of('bare')]
    console.log(
      `${name}: ${own.toFixed(0)} µs a call, bare ${bare.toFixed(0)} µs: ${(own - bare).toFixed(0)} µs more, ${(own / bare).toFixed(2)} times`,
    )
  }
} finally {
  await server.stop(true)
  rmSync(folder, { recursive: true })
}

function millisecondsOf(run: () => void): number {
  const from = performance.now()
  run()
  return performance.now() - from
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
