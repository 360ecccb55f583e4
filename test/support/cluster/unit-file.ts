/** What a systemd unit and its drop-ins say about starting a program: enough of systemd to run the documented files as they are. */
import { existsSync, readFileSync } from 'node:fs'

interface UnitFile {
  readonly command: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly user: string | null
  /** Whether systemd starts it again when it was killed. */
  readonly restarts: boolean
  readonly restartMs: number
}

interface Place {
  /** `%H`. */
  readonly host: string
  /** `%p`. */
  readonly unit: string
  /** Where the host's files are: an EnvironmentFile is read there first. */
  readonly root: string
}

/** @param paths the unit, then its drop-ins. Of `ExecStart` the last counts, of `Environment` all. */
export function readUnit(paths: readonly string[], { host, unit, root }: Place): UnitFile {
  const lines = paths
    .flatMap((path) => readFileSync(path, 'utf8').split('\n'))
    .filter((line) => /^\w+=/.test(line))
    .map((line) => line.replaceAll('%H', host).replaceAll('%p', unit))
  const all = (key: string) =>
    lines.filter((line) => line.startsWith(`${key}=`)).map((line) => line.slice(key.length + 1))
  const last = (key: string) => all(key).at(-1) ?? ''
  const environment: Record<string, string> = {}
  for (const each of all('Environment').flatMap(wordsOf)) Object.assign(environment, assignment(each))
  for (const each of all('EnvironmentFile')) Object.assign(environment, environmentFile(each, root))
  const command = wordsOf(last('ExecStart')).flatMap((word) =>
    // A word that is a variable is split, as systemd does.
    word.startsWith('$') ? (environment[word.slice(1)] ?? '').split(' ').filter(Boolean) : [word],
  )
  return {
    command,
    environment,
    user: last('DynamicUser') === 'yes' ? 'nobody' : last('User') || null,
    restarts: ['always', 'on-failure', 'on-abnormal'].includes(last('Restart')),
    restartMs: Number(last('RestartSec') || 0.1) * 1_000,
  }
}

/** A path that begins with `-` may be missing. */
function environmentFile(path: string, root: string): Record<string, string> {
  const [absolute, isOptional] = path.startsWith('-') ? [path.slice(1), true] : [path, false]
  const found = [root + absolute, absolute].find((candidate) => existsSync(candidate))
  if (found === undefined && isOptional) return {}
  if (found === undefined) throw new Error(`Cannot start a unit: ${absolute} is missing`)
  const lines = readFileSync(found, 'utf8').split('\n')
  return Object.assign({}, ...lines.filter((line) => /^\w+=/.test(line)).map(assignment))
}

function assignment(text: string): Record<string, string> {
  const at = text.indexOf('=')
  return { [text.slice(0, at)]: text.slice(at + 1) }
}

function wordsOf(text: string): string[] {
  return [...text.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
}
