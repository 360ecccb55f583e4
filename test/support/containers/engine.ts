import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { eventually } from '../eventually.ts'

/** Debian's packages of what is run here. */
const PACKAGES = {
  dockerd: 'docker.io',
  containerd: 'containerd',
  runc: 'runc',
  iptables: 'iptables',
  'docker-compose': 'docker-compose',
  mmdebstrap: 'mmdebstrap',
} as const

/** Images and build layers are kept between runs: making the base images takes minutes. */
const FOLDER = join(tmpdir(), 'nightledger-containers')
/** Of this process, because another one may be waiting for its turn. */
const OWN = join(FOLDER, `dockerd-${process.pid}`)
const SOCKET = `unix://${OWN}.sock`
const BASE_IMAGES = join(import.meta.dir, 'bases/base-images')
/** Has `docker compose`. */
const PROGRAMS = join(import.meta.dir, 'bin')
const DOCKER = Bun.which('docker') ?? 'docker'

/** Why there is no container engine here; null when there is one. */
export function whyNoEngine(): string | null {
  if (process.getuid?.() !== 0) return 'this needs root'
  const missing = Object.entries(PACKAGES).filter(([program]) => Bun.which(program) === null)
  if (missing.length === 0) return null
  return `apt-get install --no-install-recommends ${missing.map(([, name]) => name).join(' ')}`
}

/** A new folder with the files of this repository, those that are not committed yet included, as an operator has them. */
export function copyOfRepository(): string {
  const folder = mkdtempSync(join(tmpdir(), 'nightledger-copy-'))
  const files = Bun.spawnSync(['git', 'ls-files', '--cached', '--others', '--exclude-standard']).stdout.toString()
  for (const file of files
    .trim()
    .split('\n')
    .filter((each) => existsSync(each))) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    cpSync(file, join(folder, file))
  }
  return folder
}

interface RunOptions {
  readonly cwd?: string
  readonly env?: Record<string, string>
}

/** A dockerd of our own, which leaves the machine's network and its other engines alone. One at a time. */
export class Engine {
  readonly #daemon: Bun.Subprocess

  private constructor(daemon: Bun.Subprocess) {
    this.#daemon = daemon
  }

  /** With stand-ins for the base images; the first time, that takes minutes. */
  static async start(): Promise<Engine> {
    mkdirSync(FOLDER, { recursive: true })
    const config = `${OWN}.json`
    const settings = {
      hosts: [SOCKET],
      'data-root': join(FOLDER, 'docker'),
      'exec-root': join(FOLDER, 'exec'),
      pidfile: `${OWN}.pid`,
      'storage-driver': 'overlay2',
      'exec-opts': ['native.cgroupdriver=cgroupfs'],
      // Ports are published by docker-proxy, and builds use the host's network.
      bridge: 'none',
      iptables: false,
      'ip-forward': false,
      'ip-masq': false,
      'default-address-pools': [{ base: '10.217.0.0/16', size: 24 }],
      // More needs a capability that containers on some machines do not have.
      'default-ulimits': { nofile: { Name: 'nofile', Soft: 16_384, Hard: 16_384 } },
    }
    const log = `${OWN}.log`
    const command = [
      'flock',
      '--no-fork',
      join(FOLDER, 'lock'),
      'setpriv',
      '--pdeathsig',
      'TERM',
      'dockerd',
      '--config-file',
      config,
    ]
    writeFileSync(config, JSON.stringify(settings))
    const daemon = Bun.spawn(command, { stdout: 'ignore', stderr: Bun.file(log) })
    const engine = new Engine(daemon)
    const answers = async () => {
      await Bun.sleep(200)
      return engine.run('docker info >/dev/null 2>&1').then(
        () => true,
        () => false,
      )
    }
    await eventually(`dockerd answers (${log})`, answers, 1_200_000)
    await engine.#removeContainers()
    await engine.run(`${BASE_IMAGES} ${FOLDER}/bases`)
    return engine
  }

  /** A script of bash, with `docker` and `docker compose` of this engine. @throws Error with its output when it fails */
  async run(script: string, { cwd = '.', env = {} }: RunOptions = {}): Promise<string> {
    const child = Bun.spawn(['bash', '-euo', 'pipefail', '-c', script], {
      cwd,
      env: {
        PATH: `${PROGRAMS}:${process.env['PATH']}`,
        HOME: FOLDER,
        REAL_DOCKER: DOCKER,
        DOCKER_HOST: SOCKET,
        DOCKER_BUILDKIT: '0',
        ...env,
      },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()])
    if ((await child.exited) !== 0) throw new Error(`${script}\nended with ${child.exitCode}:\n${stdout}\n${stderr}`)
    return stdout.trim()
  }

  /** What the kernel counts for a container: its largest use of memory, bytes, and how many of its processes were killed for lack of it. */
  async memory(container: string): Promise<{ peak: number; kills: number }> {
    const id = await this.run(`docker inspect --format '{{.Id}}' ${container}`)
    const isUnified = await Bun.file('/sys/fs/cgroup/cgroup.controllers').exists()
    const folder = isUnified ? `/sys/fs/cgroup/docker/${id}` : `/sys/fs/cgroup/memory/docker/${id}`
    const read = (name: string) => readFileSync(join(folder, name), 'utf8')
    const events = read(isUnified ? 'memory.events' : 'memory.oom_control')
    const kills = /^oom_kill (\d+)$/m.exec(events)?.[1]
    if (kills === undefined) throw new Error(`The kernel counts no killed processes: ${events}`)
    return { peak: Number(read(isUnified ? 'memory.peak' : 'memory.max_usage_in_bytes')), kills: Number(kills) }
  }

  async stop(): Promise<void> {
    await this.#removeContainers()
    this.#daemon.kill('SIGTERM')
    await this.#daemon.exited
    for (const end of ['json', 'log', 'pid', 'sock']) rmSync(`${OWN}.${end}`, { force: true })
    for (const [, mount] of readFileSync('/proc/mounts', 'utf8').matchAll(/^\S+ (\S+)/gm))
      if (mount?.startsWith(`${FOLDER}/`)) Bun.spawnSync(['umount', '--lazy', mount])
  }

  /** With their volumes and networks, and the images of earlier days. */
  async #removeContainers(): Promise<void> {
    await this.run(`docker ps --all --quiet | xargs --no-run-if-empty docker rm --force --volumes
      docker volume prune --all --force || docker volume prune --force
      docker network prune --force
      docker image prune --force --filter until=24h`)
  }
}
