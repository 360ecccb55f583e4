import { cpSync, existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { environmentOf, lastStep, type Stage, type Step } from './dockerfile.ts'

/*
 * What stands in for a container engine: a mount namespace of one's own. Needs root and util-linux; its changes are invisible
 * to other processes and disappear with it.
 */

/** The user that the build stage's base image has; its number is what counts. */
const BUILD_ACCOUNT = { name: 'node', id: 1000 } as const
/** Of the base image. */
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const RUN_ACCOUNT = { name: 'nonroot', id: 65_532 } as const

/** Why containers cannot be simulated here; null when they can. */
export function whyNoContainers(): string | null {
  if (process.getuid?.() !== 0) return 'this needs root'
  const probe = Bun.spawnSync([
    'unshare',
    '--mount',
    'sh',
    '-c',
    'mount --bind /tmp /tmp && mount -o remount,bind,ro /tmp',
  ])
  return probe.exitCode === 0 ? null : `mounts are refused: ${probe.stderr.toString().trim()}`
}

/**
 * A shell script that carries out a build stage's steps word for word, as its user, with `home` in place of /home.
 * @param context where `COPY` copies from
 */
export function buildScript(stage: Stage, { home, context }: { home: string; context: string }): string {
  const passwd = join(dirname(home), 'passwd')
  writeFileSync(passwd, `root:x:0:0::/root:/bin/sh\n${accountLine(BUILD_ACCOUNT, `/home/${BUILD_ACCOUNT.name}`)}`)
  const lines = [
    'set -eu',
    `mount --bind ${home} /home`,
    `mount --bind ${passwd} /etc/passwd`,
    `mkdir /home/${BUILD_ACCOUNT.name}`,
    `chown ${BUILD_ACCOUNT.id}:${BUILD_ACCOUNT.id} /home/${BUILD_ACCOUNT.name}`,
    `export HOME=/home/${BUILD_ACCOUNT.name}`,
    ...stage.steps.map((step) => buildLine(step, context)),
  ]
  return lines.join('\n')
}

function buildLine(step: Step, context: string): string {
  const { keyword, text } = step
  if (keyword === 'RUN')
    return `setpriv --reuid=${BUILD_ACCOUNT.id} --regid=${BUILD_ACCOUNT.id} --clear-groups sh -c ${quoted(text)}`
  if (keyword === 'WORKDIR') return `cd ${text}`
  if (keyword === 'USER' && text === BUILD_ACCOUNT.name) return ':'
  if (keyword !== 'COPY') throw new Error(`Cannot act out ${keyword} in a build`)
  const [target = '', ...sources] = text.split(/\s+/).reverse()
  const copies = sources.reverse().map((source) => `cp -r ${join(context, source)} ${target}`)
  return [...copies, `chown -R ${BUILD_ACCOUNT.id}:${BUILD_ACCOUNT.id} .`].join('\n')
}

/**
 * Fills `root` with what the base image of the last stage has beside its files for people: the C library, certificates,
 * accounts, /tmp. Then the stage's own file.
 */
export function fillRoot(root: string, stage: Stage, builtFrom: (path: string) => string): void {
  const [, target = ''] = stage.steps.find(({ keyword }) => keyword === 'COPY')?.text.split(/\s+/) ?? []
  const [source = ''] = stage.steps.find(({ keyword }) => keyword === 'COPY')?.text.split(/\s+/) ?? []
  mkdirSync(dirname(join(root, target)), { recursive: true })
  cpSync(builtFrom(source), join(root, target))
  const libraries = Bun.spawnSync(['ldd', builtFrom(source)]).stdout.toString()
  for (const [library] of libraries.matchAll(/\/\S+\.so\.\S+/g)) {
    mkdirSync(dirname(join(root, library)), { recursive: true })
    cpSync(realpathSync(library), join(root, library))
  }
  for (const folder of ['proc', 'dev', 'tmp', 'etc/ssl/certs']) mkdirSync(join(root, folder), { recursive: true })
  const certificates = '/etc/ssl/certs/ca-certificates.crt'
  if (existsSync(certificates)) cpSync(realpathSync(certificates), join(root, certificates))
  writeFileSync(join(root, 'etc/passwd'), accountLine(RUN_ACCOUNT, '/home/nonroot'))
}

/** A command that runs `list` in `root`, read-only, as the stage's user, with the stage's environment and `env`. */
export function runCommand(root: string, stage: Stage, list: readonly string[], env: Record<string, string>): string[] {
  const user = lastStep(stage, 'USER')?.text
  if (user !== RUN_ACCOUNT.name) throw new Error(`Cannot act out the user ${user}`)
  const variables = Object.entries({ PATH, ...environmentOf(stage), ...env }).map(([name, value]) =>
    quoted(`${name}=${value}`),
  )
  const script = [
    'set -eu',
    `mount --bind ${root} ${root}`,
    `mount --rbind /proc ${root}/proc`,
    `mount --rbind /dev ${root}/dev`,
    `mount -o remount,bind,ro ${root}`,
    `exec env -i ${variables.join(' ')} chroot --userspec=${RUN_ACCOUNT.id}:${RUN_ACCOUNT.id} ${root} ${list.map(quoted).join(' ')}`,
  ]
  return ['unshare', '--mount', 'sh', '-c', script.join('\n')]
}

function accountLine({ name, id }: { name: string; id: number }, home: string): string {
  return `${name}:x:${id}:${id}::${home}:/bin/sh\n`
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
