/** One host of the test network: its files, the units that run on it, its share of the CPU. */
import { execFileSync } from 'node:child_process'
import { appendFileSync, chownSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { CpuGroup } from './cpu-group.ts'
import { killQuietly, type Network } from './network.ts'
import { readUnit } from './unit-file.ts'

/** A unit, and its drop-ins. */
export type UnitPaths = readonly string[]

interface Running {
  readonly child: Bun.Subprocess
  /** Set while it is wanted: systemd would start it again. */
  isWanted: boolean
}

/**
 * Programs see the machine's files, with the host's own over /etc, /run, /usr/local and /var/lib. What was started with `start` is started again
 * when it ends by itself, as its unit says.
 */
export class Host {
  readonly #running = new Map<string, Running>()
  readonly #groups = new Map<string, CpuGroup>()
  #isUp = true

  constructor(
    readonly name: string,
    readonly network: Network,
    readonly root: string,
    /** Units whose share of the CPUs can be limited (`cpusOf`). */
    limitable: readonly string[] = [],
  ) {
    for (const folder of ['etc', 'run', 'usr/local/bin', 'var/lib', 'log'])
      mkdirSync(join(root, folder), { recursive: true })
    this.write('/etc/hosts', `127.0.0.1 localhost\n${network.names}`)
    this.write('/etc/hostname', `${name}\n`)
    for (const [path, account] of [
      ['run/postgresql', 'postgres'],
      ['var/lib/postgresql', 'postgres'],
      ['var/lib/etcd', 'etcd'],
      ['var/lib/haproxy', 'haproxy'],
    ] as const) {
      mkdirSync(join(root, path), { recursive: true })
      const { uid, gid } = accountOf(account)
      chownSync(join(root, path), uid, gid)
    }
    for (const unit of limitable) this.#groups.set(unit, new CpuGroup(`${network.namespace(name)}-${unit}`))
  }

  get address(): string {
    return this.network.address(this.name)
  }

  /** @throws Error when the host was made without a limit for the unit */
  cpusOf(unit: string): CpuGroup {
    const group = this.#groups.get(unit)
    if (group === undefined) throw new Error(`No CPU limit for ${unit}`)
    return group
  }

  /** Puts a file of this repository where the host expects it. */
  install(source: string, path: string): void {
    const target = this.root + path
    mkdirSync(dirname(target), { recursive: true })
    cpSync(source, target)
  }

  write(path: string, text: string, mode = 0o644): void {
    const target = this.root + path
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, text, { mode })
  }

  start(unit: string, paths: UnitPaths): void {
    const file = readUnit(paths, { host: this.name, unit, root: this.root })
    const run = () => {
      const child = this.#spawn(unit, file.command, file.environment, file.user)
      const running: Running = { child, isWanted: true }
      this.#running.set(unit, running)
      void child.exited.then(async () => {
        await Bun.sleep(file.restartMs)
        if (running.isWanted && file.restarts && this.#isUp && this.#running.get(unit) === running) run()
      })
    }
    run()
  }

  /** Whether it runs, or systemd is about to start it again. */
  isWanted(unit: string): boolean {
    return this.#running.get(unit)?.isWanted ?? false
  }

  /** Sends a signal to the unit's process and its descendants; what ends is started again. */
  signal(unit: string, signal: NodeJS.Signals): void {
    const pid = this.#running.get(unit)?.child.pid
    if (pid === undefined) return
    for (const each of [pid, ...descendants(pid)]) killQuietly(each, signal)
  }

  /** As `systemctl stop`: SIGTERM to the main process, and waits for its end. @returns exit code */
  async stop(unit: string): Promise<number | null> {
    const running = this.#running.get(unit)
    if (running === undefined) return null
    running.isWanted = false
    running.child.kill('SIGTERM')
    return running.child.exited
  }

  /** Ends a unit with SIGKILL until it is started by hand. */
  async kill(unit: string): Promise<void> {
    const running = this.#running.get(unit)
    if (running === undefined) return
    running.isWanted = false
    this.signal(unit, 'SIGKILL')
    await running.child.exited
  }

  /** Power off: everything ends at once, and the cable is dead. */
  crash(): void {
    this.#isUp = false
    this.network.cut(this.name)
    for (const pid of this.network.pids(this.name)) killQuietly(pid)
    this.#running.clear()
  }

  /** After a crash; the caller starts the units. */
  boot(): void {
    this.#isUp = true
    this.network.heal(this.name)
  }

  /** What a unit has written to its log so far. */
  log(unit: string): string {
    const path = this.#logPath(unit)
    return existsSync(path) ? readFileSync(path, 'utf8') : ''
  }

  /** Runs a program on the host and returns its output. */
  run(
    command: readonly string[],
    { user = null, env = {} }: { user?: string | null; env?: Record<string, string> } = {},
  ): string {
    return execFileSync('sh', ['-c', this.#entering(command, user)], {
      env: this.#environment(env),
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  }

  close(): void {
    this.#isUp = false
    for (const running of this.#running.values()) running.isWanted = false
    for (const pid of this.network.pids(this.name)) killQuietly(pid)
    for (const group of this.#groups.values()) group.remove()
  }

  #spawn(
    unit: string,
    command: readonly string[],
    environment: Readonly<Record<string, string>>,
    user: string | null,
  ): Bun.Subprocess {
    appendFileSync(this.#logPath(unit), `--- started ${new Date().toISOString()}\n`)
    const log = `exec >>'${this.#logPath(unit)}' 2>&1`
    return Bun.spawn(['sh', '-c', `${log}; ${this.#entering(command, user, this.#groups.get(unit))}`], {
      env: this.#environment(environment),
      stdio: ['ignore', 'ignore', 'ignore'],
      cwd: '/',
    })
  }

  #environment(own: Readonly<Record<string, string>>): Record<string, string> {
    return { PATH: '/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C.UTF-8', ...own }
  }

  /** Every step replaces the one before, so that the process that is started is the program. */
  #entering(command: readonly string[], user: string | null, group?: CpuGroup): string {
    const mounts = [
      `mount -t overlay overlay -o lowerdir=${this.root}/etc:/etc /etc`,
      ...['run', 'usr/local', 'var/lib'].map((path) => `mount --bind ${this.root}/${path} /${path}`),
    ]
    const account = user === null ? '' : `setpriv --reuid=${user} --regid=${groupOf(user)} --init-groups `
    const inside = [...mounts, `exec ${account}${command.map(quoted).join(' ')}`].join(' && ')
    const joining = group === undefined ? '' : `${group.joining}; `
    return `${joining}exec ip netns exec ${this.network.namespace(this.name)} sh -c ${quoted(inside)}`
  }

  #logPath(unit: string): string {
    return join(this.root, 'log', `${unit}.log`)
  }
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`
}

function accountOf(user: string): { uid: number; gid: number } {
  const id = (flag: string) => Number(execFileSync('id', [flag, user], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

function groupOf(user: string): string {
  return execFileSync('id', ['-gn', user], { encoding: 'utf8' }).trim()
}

export function descendants(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
      .trim()
      .split(' ')
      .filter(Boolean)
      .map(Number)
    return children.flatMap((child) => [child, ...descendants(child)])
  } catch {
    return []
  }
}
