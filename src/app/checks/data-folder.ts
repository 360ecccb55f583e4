import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { loadSecrets, SecretsError } from '../secrets.ts'
import { type Check, type Finding, failure, orOk, skipped, type World, warning } from './check.ts'

const SECRET_FILES = ['portal-token', 'secret-key', 'postgres-password']
const FREE_BYTES_MIN = 512 * 1024 * 1024
const FREE_SHARE_MIN = 0.1

/** The paths that the service writes: permissions, secrets readable by others, and free disk space. */
export const dataFolder: Check = {
  name: 'files',
  run: async (world) => {
    const { config } = world
    const needsFolder = config.databaseUrl === null || config.workers > 1
    const paths = [
      ...(needsFolder ? [config.dataDir] : []),
      ...(config.erasuresFile === null ? [] : [config.erasuresFile]),
    ]
    if (paths.length === 0) return [skipped('The service writes no files: it uses neither DATA_DIR nor ERASURES_FILE.')]
    const findings = [
      ...paths.flatMap((path) => [
        ...unwritable(path, path === config.dataDir ? 'DATA_DIR' : 'ERASURES_FILE'),
        ...full(world, path),
      ]),
      ...(needsFolder ? [...readableByOthers(config.dataDir), ...damagedSecrets(world)] : []),
    ]
    return orOk(findings, `The service can write to ${paths.join(' and ')}.`)
  },
}

/** The path itself, or its nearest ancestor that exists. */
function existing(path: string): string {
  for (let at = resolve(path); ; at = dirname(at)) if (existsSync(at) || dirname(at) === at) return at
}

function unwritable(path: string, variable: 'DATA_DIR' | 'ERASURES_FILE'): readonly Finding[] {
  const at = existing(path)
  const isFolder = statSync(at).isDirectory()
  if (!isFolder && (variable === 'DATA_DIR' || at !== resolve(path)))
    return [failure(`${variable} needs a folder at ${at}, which is a file.`, `Set ${variable} to another path.`)]
  try {
    accessSync(at, isFolder ? constants.W_OK | constants.X_OK : constants.W_OK)
    return []
  } catch {
    return [
      failure(
        `This user cannot write to ${at}, which ${variable} needs.`,
        `Run this command as the user of the service; if that user cannot write there either, change the owner (chown), or set ${variable} to another path.`,
      ),
    ]
  }
}

function full({ machine }: World, path: string): readonly Finding[] {
  const disk = machine.disk(existing(path))
  if (disk === null) return []
  const { freeBytes, bytes } = disk
  const text = `The disk of ${path} has ${Math.floor(freeBytes / 1_048_576)} MB free (${Math.floor((100 * freeBytes) / bytes)} %).`
  const fix = 'Free space on this disk, or move the folder to a larger one.'
  if (freeBytes < FREE_BYTES_MIN) return [failure(text, fix)]
  return freeBytes < FREE_SHARE_MIN * bytes ? [warning(text, fix)] : []
}

function readableByOthers(folder: string): readonly Finding[] {
  return SECRET_FILES.map((name) => join(folder, name)).flatMap((path) => {
    if (!existsSync(path) || (statSync(path).mode & 0o077) === 0) return []
    return [failure(`Other users of this machine can read ${path}, which is a secret.`, `\`chmod 600 ${path}\``)]
  })
}

/** Secret files that a start would use instead of variables. A start creates missing ones, so they are not faults. */
function damagedSecrets({ config }: World): readonly Finding[] {
  const files = [
    ...(config.portalTokens === null ? ['portal-token'] : []),
    ...(config.secretKey === null ? ['secret-key'] : []),
  ]
  if (!files.every((name) => existsSync(join(config.dataDir, name)))) return []
  try {
    loadSecrets(config)
    return []
  } catch (error) {
    if (!(error instanceof SecretsError)) throw error
    return [failure(error.message, 'Restore the file from your backup of DATA_DIR.')]
  }
}
