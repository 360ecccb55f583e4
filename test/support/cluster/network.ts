/** Hosts of a network of their own on this machine: a bridge, and for each host a network namespace and a cable that can be pulled. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Of every namespace of a test run; the process that made it follows. */
const PREFIX = 'nightledger-'
const PROGRAMS = ['ip', 'setpriv', 'etcd', 'patroni', 'haproxy', 'psql']

/** Why three hosts cannot be made on this machine; null when they can. */
export function whyNoHosts(): string | null {
  if (process.platform !== 'linux') return 'network namespaces need Linux'
  if (process.getuid?.() !== 0) return 'network namespaces need root'
  const missing = PROGRAMS.filter((program) => Bun.which(program) === null)
  // As deploy/cluster/patroni.yml names it.
  if (!existsSync('/usr/lib/postgresql/15/bin/postgres')) missing.push('postgresql-15')
  if (missing.length > 0) return `not installed: ${missing.join(', ')}`
  return whyNoNamespace()
}

/** Tries one: containers often forbid them, or mounts in them. */
function whyNoNamespace(): string | null {
  const name = `${PREFIX}${process.pid}-probe`
  const folder = mkdtempSync(join(tmpdir(), 'nightledger-probe-'))
  try {
    ip('netns', 'add', name)
    try {
      const mount = `mount -t overlay overlay -o 'lowerdir=${folder}:/etc' /etc`
      ip('netns', 'exec', name, 'sh', '-c', mount)
      ip('link', 'add', `nl${process.pid}`, 'type', 'bridge')
      ip('link', 'del', `nl${process.pid}`)
    } finally {
      ip('netns', 'del', name)
    }
    return null
  } catch (error) {
    return `no network namespace can be made: ${String((error as { stderr?: unknown }).stderr ?? error).trim()}`
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export class Network {
  /** The first three parts of every address: of 198.18.0.0/15, which is reserved for measurements. */
  readonly #subnet: string
  readonly #bridge = `nl${process.pid}`
  readonly #hosts: readonly string[]

  /** @throws Error when a step is refused; what was made is removed */
  constructor(hosts: readonly string[]) {
    removeLeftOvers()
    this.#hosts = hosts
    this.#subnet = freeSubnet()
    try {
      ip('link', 'add', this.#bridge, 'type', 'bridge')
      ip('addr', 'add', `${this.#subnet}.254/24`, 'dev', this.#bridge)
      ip('link', 'set', this.#bridge, 'up')
      for (const host of hosts) this.#connect(host)
    } catch (error) {
      this.close()
      throw error
    }
  }

  address(host: string): string {
    return `${this.#subnet}.${this.#hosts.indexOf(host) + 1}`
  }

  /** The address of this process in the network. */
  get own(): string {
    return `${this.#subnet}.254`
  }

  namespace(host: string): string {
    return `${PREFIX}${process.pid}-${host}`
  }

  /** Lines of /etc/hosts. */
  get names(): string {
    return this.#hosts.map((host) => `${this.address(host)} ${host}\n`).join('')
  }

  /** Pulls its cable: packets disappear, and connections stay open at both ends. */
  cut(host: string): void {
    ip('link', 'set', this.#cable(host), 'down')
  }

  heal(host: string): void {
    ip('link', 'set', this.#cable(host), 'up')
  }

  /** No packet passes between two hosts any more; both still reach everything else. */
  separate(one: string, other: string): void {
    for (const [from, to] of [
      [one, other],
      [other, one],
    ] as const)
      quietly('-n', this.namespace(from), 'route', 'add', 'blackhole', `${this.address(to)}/32`)
  }

  rejoin(one: string, other: string): void {
    for (const [from, to] of [
      [one, other],
      [other, one],
    ] as const)
      quietly('-n', this.namespace(from), 'route', 'del', 'blackhole', `${this.address(to)}/32`)
  }

  /** The host, and what runs on it, reaches this port nowhere any more, not even its own. */
  cutPort(host: string, port: number): void {
    const rule = (...args: string[]) => quietly('-n', this.namespace(host), 'rule', ...args)
    // The rule for addresses of its own comes first otherwise.
    rule('add', 'pref', '100', 'lookup', 'local')
    rule('del', 'pref', '0')
    rule('add', 'pref', '10', 'ipproto', 'tcp', 'dport', String(port), 'blackhole')
  }

  openPorts(host: string): void {
    quietly('-n', this.namespace(host), 'rule', 'del', 'pref', '10')
  }

  /** Processes that live in the host, in no order. */
  pids(host: string): number[] {
    return pidsIn(this.namespace(host))
  }

  /** Ends everything that lives in the hosts, and removes them. */
  close(): void {
    for (const host of this.#hosts) {
      // At once: with its namespace it would go some time later, and the next network of this process makes one of the same name.
      quietly('link', 'del', this.#cable(host))
      remove(this.namespace(host))
    }
    quietly('link', 'del', this.#bridge)
  }

  #connect(host: string): void {
    const [namespace, cable] = [this.namespace(host), this.#cable(host)]
    ip('netns', 'add', namespace)
    ip('link', 'add', cable, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace)
    ip('link', 'set', cable, 'master', this.#bridge, 'up')
    ip('-n', namespace, 'addr', 'add', `${this.address(host)}/24`, 'dev', 'eth0')
    ip('-n', namespace, 'link', 'set', 'eth0', 'up')
    ip('-n', namespace, 'link', 'set', 'lo', 'up')
  }

  #cable(host: string): string {
    return `nl${process.pid}h${this.#hosts.indexOf(host)}`
  }
}

function freeSubnet(): string {
  const taken = ip('-4', 'addr')
  for (;;) {
    const subnet = `198.18.${Math.floor(Math.random() * 256)}`
    if (!taken.includes(`${subnet}.`)) return subnet
  }
}

/** Of runs that were killed. */
function removeLeftOvers(): void {
  const folder = '/run/netns'
  for (const namespace of existsSync(folder) ? readdirSync(folder) : []) {
    const [, pid] = /^nightledger-(\d+)-/.exec(namespace) ?? []
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue
    remove(namespace)
    quietly('link', 'del', `nl${pid}`)
  }
}

function remove(namespace: string): void {
  for (let round = 0; round < 100; round++) {
    const pids = pidsIn(namespace)
    if (pids.length === 0) break
    for (const pid of pids) killQuietly(pid)
    Bun.sleepSync(20)
  }
  quietly('netns', 'del', namespace)
}

function pidsIn(namespace: string): number[] {
  return (quietly('netns', 'pids', namespace) ?? '').split('\n').filter(Boolean).map(Number)
}

export function killQuietly(pid: number, signal: NodeJS.Signals = 'SIGKILL'): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It ended meanwhile.
  }
}

function quietly(...args: string[]): string | null {
  try {
    return ip(...args)
  } catch {
    return null
  }
}

function ip(...args: string[]): string {
  return execFileSync('ip', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}
