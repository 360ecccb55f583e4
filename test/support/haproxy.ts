import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from './eventually.ts'
import { freePort } from './free-port.ts'

/** The file that docs/operating.md tells operators to use. */
const HAPROXY_CONFIG = join(import.meta.dir, '../../deploy/haproxy/haproxy.cfg')

/**
 * HAProxy with that file, in front of two ports of this machine. Its log is what it prints. Without TLS, which would cost a test under load
 * more than everything else: test/support/edge-proxies.ts has it.
 */
export async function startHaproxy(options: {
  listen: number
  nodes: readonly [number, number]
}): Promise<{ stop(): Promise<void> }> {
  const [a, b] = options.nodes.map((port) => `127.0.0.1:${port}`)
  const folder = mkdtempSync(join(tmpdir(), 'nightledger-haproxy-'))
  const file = join(folder, 'haproxy.cfg')
  writeFileSync(file, readFileSync(HAPROXY_CONFIG, 'utf8').replace(/ ssl crt .*/, ''))
  const child = Bun.spawn(['haproxy', '-db', '-f', file], {
    env: {
      PATH: process.env['PATH'] ?? '',
      LISTEN: `127.0.0.1:${options.listen}`,
      LISTEN_PLAIN: `127.0.0.1:${freePort()}`,
      NODE_A: a,
      NODE_B: b,
    },
    stdout: 'ignore',
    stderr: 'inherit',
  })
  await eventually('HAProxy listens', () => listens(options.listen))
  return {
    stop: async () => {
      child.kill('SIGKILL')
      await child.exited
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function listens(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/healthz`).then(
    () => true,
    () => false,
  )
}
