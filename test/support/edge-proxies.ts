/** The proxies of deploy/ that terminate TLS, with their files, in front of addresses of this machine. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventually } from './eventually.ts'
import { freePort } from './free-port.ts'
import type { ServerCertificate } from './test-authority.ts'

interface Placement {
  /** Port of 127.0.0.1 that the proxy listens on, with TLS. */
  readonly listen: number
  /** Of the service. */
  readonly port: number
  readonly adminPort: number
  /** For `localhost` and 127.0.0.1. */
  readonly certificate: ServerCertificate
  /** Empty, for what the proxy reads and writes. */
  readonly folder: string
}

interface Edge {
  readonly name: 'nginx' | 'Caddy' | 'HAProxy'
  /** Of Debian. */
  readonly package: string
  readonly program: string
  /** What may fail while the writer is replaced. */
  readonly failsMeanwhile: readonly ('read' | 'write')[]
  /** Writes the file of deploy/ with the names and addresses of a test. @returns the command and its variables */
  prepare(placement: Placement): { readonly command: readonly string[]; readonly env?: Record<string, string> }
}

/** A process and its standby listen on the same port of these. */
export const NODE_ADDRESSES = ['127.0.0.1', '127.0.0.2'] as const

export const EDGES: readonly Edge[] = [
  {
    name: 'nginx',
    package: 'nginx-light',
    program: 'nginx',
    failsMeanwhile: ['read', 'write'],
    prepare: ({ listen, port, folder, certificate: { cert, key } }) => {
      write(folder, 'nightledger.crt', cert)
      write(folder, 'nightledger.key', key)
      const text = edited('nginx/nightledger.conf', [
        ['server 127.0.0.1:3000;', `server 127.0.0.1:${port};`],
        ['listen 80;', `listen 127.0.0.1:${freePort()};`],
        ['listen 443 ssl', `listen 127.0.0.1:${listen} ssl`],
        ['/etc/nginx/nightledger.crt', join(folder, 'nightledger.crt')],
        ['/etc/nginx/nightledger.key', join(folder, 'nightledger.key')],
      ])
      write(folder, 'nightledger.conf', text)
      const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((use) => `${use}_temp_path ${folder};`)
      const main = [
        'daemon off; master_process off;',
        `pid ${folder}/nginx.pid; error_log ${folder}/error.log;`,
        `events {} http { access_log off; ${temporary.join(' ')} include ${folder}/nightledger.conf; }`,
      ]
      write(folder, 'nginx.conf', main.join('\n'))
      return { command: ['nginx', '-p', folder, '-c', join(folder, 'nginx.conf')] }
    },
  },
  {
    name: 'Caddy',
    package: 'caddy',
    program: 'caddy',
    failsMeanwhile: ['write'],
    prepare: ({ listen, port, adminPort, folder, certificate: { cert, key } }) => {
      write(folder, 'edge.crt', cert)
      write(folder, 'edge.key', key)
      const text = edited('caddy/Caddyfile', [
        ['\n{\n', `\n{\n\tadmin off\n\tauto_https disable_redirects\n\tdefault_bind 127.0.0.1\n`],
        [
          '\nbookings.example.com {\n',
          `\nhttps://localhost:${listen} {\n\ttls ${folder}/edge.crt ${folder}/edge.key\n`,
        ],
        ['127.0.0.1:3000 127.0.0.2:3000', NODE_ADDRESSES.map((address) => `${address}:${port}`).join(' ')],
        ['health_port 9090', `health_port ${adminPort}`],
      ])
      write(folder, 'Caddyfile', text)
      return {
        command: ['caddy', 'run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile'],
        env: { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
      }
    },
  },
  {
    name: 'HAProxy',
    package: 'haproxy',
    program: 'haproxy',
    failsMeanwhile: [],
    prepare: ({ listen, port, adminPort, folder, certificate: { cert, key } }) => {
      write(folder, 'nightledger.pem', `${cert}\n${key}`)
      // What the file says to add with ADMIN_PORT.
      write(
        folder,
        'haproxy.cfg',
        edited('haproxy/haproxy.cfg', [
          ['default-server inter', `default-server port ${adminPort} inter`],
          // Otherwise a check may last as long as the time between two.
          ['timeout connect 1s', 'timeout connect 1s\n    timeout check 20s'],
        ]),
      )
      const [a, b] = NODE_ADDRESSES.map((address) => `${address}:${port}`)
      return {
        command: ['haproxy', '-db', '-f', join(folder, 'haproxy.cfg')],
        env: {
          LISTEN: `127.0.0.1:${listen}`,
          LISTEN_PLAIN: `127.0.0.1:${freePort()}`,
          CERTIFICATE: join(folder, 'nightledger.pem'),
          NODE_A: a ?? '',
          NODE_B: b ?? '',
        },
      }
    },
  },
]

export interface RunningEdge {
  readonly listen: number
  /** Its origin, as a browser has it. */
  readonly url: string
  /** Everything it has printed so far. */
  log(): string
  stop(): Promise<void>
}

export async function startEdge(edge: Edge, placement: Omit<Placement, 'listen'>): Promise<RunningEdge> {
  mkdirSync(placement.folder, { recursive: true })
  const listen = freePort()
  const { command, env = {} } = edge.prepare({ ...placement, listen })
  let log = ''
  const child = Bun.spawn([...command], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdout: 'ignore',
    stderr: 'pipe',
  })
  const reading = (async () => {
    for await (const chunk of child.stderr.pipeThrough(new TextDecoderStream())) log += chunk
  })()
  const url = `https://localhost:${listen}`
  await eventually(`${edge.name} listens`, () => {
    if (child.exitCode !== null) throw new Error(`${edge.name} ended with ${child.exitCode}:\n${log}`)
    return fetch(`${url}/no-route`, { tls: { rejectUnauthorized: false } }).then(
      ({ status }) => status === 404,
      () => false,
    )
  })
  return {
    listen,
    url,
    log: () => log,
    stop: async () => {
      child.kill('SIGKILL')
      await child.exited
      await reading
    },
  }
}

/** @throws Error if the file does not have one of the texts: a test would then run something else than it thinks */
function edited(file: string, changes: readonly (readonly [string, string])[]): string {
  let text = readFileSync(join(import.meta.dir, '../../deploy', file), 'utf8')
  for (const [from, to] of changes) {
    if (!text.includes(from)) throw new Error(`deploy/${file} does not have ${JSON.stringify(from)}`)
    text = text.replaceAll(from, to)
  }
  return text
}

function write(folder: string, name: string, text: string): void {
  writeFileSync(join(folder, name), text, { mode: 0o600 })
}
