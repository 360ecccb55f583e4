import { join } from 'node:path'
import { eventually } from '../eventually.ts'
import { Engine } from './engine.ts'

const DOCKERFILE = join(import.meta.dir, 'bases/systemd.Dockerfile')
/** What systemd needs of a container. `--privileged` wants capabilities that containers on some machines do not have. */
const OPTIONS = [
  ...['SYS_ADMIN', 'NET_ADMIN', 'SYS_PTRACE', 'SETFCAP'].map((capability) => `--cap-add ${capability}`),
  ...['seccomp=unconfined', 'systempaths=unconfined'].map((option) => `--security-opt ${option}`),
  ...['/run', '/run/lock', '/tmp'].map((path) => `--tmpfs ${path}`),
  '--cgroupns=host --network=host --volume=/sys/fs/cgroup:/sys/fs/cgroup:rw',
].join(' ')

/** A container with a real systemd, and with the network of this machine, so that what it runs reaches the test's PostgreSQL. */
export class SystemdMachine {
  readonly #engine: Engine
  readonly #container: string

  private constructor(engine: Engine, container: string) {
    this.#engine = engine
    this.#container = container
  }

  static async start(): Promise<SystemdMachine> {
    const engine = await Engine.start()
    await engine.run(`docker build --network host --tag nightledger-systemd - <${DOCKERFILE}`)
    const machine = new SystemdMachine(engine, await engine.run(`docker run --detach ${OPTIONS} nightledger-systemd`))
    await eventually('systemd is up', async () =>
      /^(running|degraded)$/.test(await machine.run('systemctl is-system-running || true')),
    )
    return machine
  }

  /** A script of bash. @throws Error with its output when it fails */
  run(script: string, folder = '/'): Promise<string> {
    const command = `docker exec --workdir ${folder} ${this.#container} bash -euo pipefail -c "$SCRIPT"`
    return this.#engine.run(command, { env: { SCRIPT: script } })
  }

  /** @param target a path there; its folder exists */
  async copy(source: string, target: string): Promise<void> {
    await this.#engine.run(`docker cp ${source} ${this.#container}:${target}`)
  }

  stop(): Promise<void> {
    return this.#engine.stop()
  }
}
