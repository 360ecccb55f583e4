/** HAProxy in front of the workers of one service, with the file that docs/operating.md tells operators to use for that. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from './eventually.ts'
import { freePort } from './free-port.ts'

const FILES = join(import.meta.dir, '../../deploy/cluster')
const GUIDE = join(import.meta.dir, '../../docs/operating.md')

export interface WorkersProxy {
  readonly baseUrl: string
  readonly pid: number
  stop(): Promise<void>
}

/**
 * @param port of the service: the workers' own ports follow it
 * @param workers how many there are
 * @param adminPort of the service; null: it has none
 */
export async function startWorkersProxy(
  port: number,
  workers: number,
  adminPort: number | null = null,
): Promise<WorkersProxy> {
  const folder = mkdtempSync(join(tmpdir(), 'nightledger-haproxy-'))
  const listen = freePort()
  const config = withServers(readFileSync(join(FILES, 'haproxy.cfg'), 'utf8'), port, workers)
    .replace(/^ {2}(?:user|group) .*$/gm, '')
    .replace(/bind :8080/, `bind 127.0.0.1:${listen}`)
    .replace('default-server check', adminPort === null ? '$&' : `$& port ${adminPort}`)
    .replaceAll('/etc/haproxy/owner.map', join(folder, 'owner.map'))
  writeFileSync(join(folder, 'haproxy.cfg'), config)
  writeFileSync(join(folder, 'owner.map'), readFileSync(join(FILES, 'owner.map')))
  const child = Bun.spawn(['haproxy', '-db', '-f', join(folder, 'haproxy.cfg')], {
    stdout: 'ignore',
    stderr: 'inherit',
  })
  const baseUrl = `http://127.0.0.1:${listen}`
  await eventually('HAProxy finds the workers', async () => {
    const answer = await fetch(`${baseUrl}/partner/v1/openapi.json`).catch(() => null)
    return answer?.ok === true
  })
  return {
    baseUrl,
    pid: child.pid,
    stop: async () => {
      child.kill('SIGKILL')
      await child.exited
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The lines of the guide, for as many workers, in place of those for hosts. */
function withServers(config: string, port: number, workers: number): string {
  const [worker = '', spare = ''] = readFileSync(GUIDE, 'utf8').match(/^ {2}server worker-1.*\n/gm) ?? []
  const lines = Array.from({ length: workers }, (_, i) =>
    (worker + spare).replaceAll('worker-1', `worker-${i + 1}`).replaceAll(':3001', `:${port + i + 1}`),
  )
  const [before = '', ...after] = config.split(/^ {2}server .*\n/m)
  return before + lines.join('') + after.join('')
}
