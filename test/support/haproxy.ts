import { join } from 'node:path'
import { eventually } from './eventually.ts'

/** The file that docs/operating.md tells operators to use. */
const HAPROXY_CONFIG = join(import.meta.dir, '../../docs/operating/haproxy.cfg')

/** HAProxy with that file, in front of two ports of this machine. Its log is what it prints. */
export async function startHaproxy(options: {
  listen: number
  nodes: readonly [number, number]
}): Promise<{ stop(): Promise<void> }> {
  const [a, b] = options.nodes.map((port) => `127.0.0.1:${port}`)
  const child = Bun.spawn(['haproxy', '-db', '-f', HAPROXY_CONFIG], {
    env: { PATH: process.env['PATH'] ?? '', LISTEN: `127.0.0.1:${options.listen}`, NODE_A: a, NODE_B: b },
    stdout: 'ignore',
    stderr: 'inherit',
  })
  await eventually('HAProxy listens', () => listens(options.listen))
  return {
    stop: async () => {
      child.kill('SIGKILL')
      await child.exited
    },
  }
}

async function listens(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/healthz`).then(
    () => true,
    () => false,
  )
}
