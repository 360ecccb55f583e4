import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Set by test/run.ts: the folder that `bundleProgram` has filled. */
export const PROGRAM_VARIABLE = 'NIGHTLEDGER_TEST_PROGRAM'
/** Set by test/run.ts: what `compileProgram` has made. */
export const BINARY_VARIABLE = 'NIGHTLEDGER_TEST_BINARY'

const REPOSITORY = join(import.meta.dir, '../..')

/** What tests start as processes. */
const ENTRIES = ['src/main.ts', 'test/support/failpoints-main.ts']
/** Inside node_modules, so that the program finds the package of PostgreSQL. */
const PARENT = 'node_modules/.cache'

/**
 * Bundles the program once for a run, because each start from source loads hundreds of files and bundles the page: more than a second of
 * CPU time instead of a quarter.
 * @returns its folder
 */
export async function bundleProgram(): Promise<{ folder: string; remove(): void }> {
  mkdirSync(PARENT, { recursive: true })
  const folder = mkdtempSync(join(process.cwd(), PARENT, 'nightledger-program-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  // Some tests start the program as another user.
  chmodSync(folder, 0o755)
  try {
    await Bun.build({
      entrypoints: ENTRIES,
      root: '.',
      outdir: folder,
      target: 'bun',
      splitting: true,
      // The program starts itself as `../main.ts` of the folder that src/app/self-command.ts is in.
      naming: { entry: '[dir]/[name].[ext]', chunk: 'src/app/[name]-[hash].[ext]' },
      sourcemap: 'linked',
    })
    for (const entry of ENTRIES)
      writeFileSync(join(folder, entry), `import './${entry.replace(/.*\/(.*)\.ts$/, '$1')}.js'\n`)
    return { folder, remove }
  } catch (error) {
    remove()
    throw error
  }
}

/**
 * Compiles the program with `bun run build`: starts take half the CPU time of those of the bundle, and a run of the fault tests has
 * hundreds.
 * @param folder where it is to be @param source of a build that is broken on purpose; left out: this repository
 * @returns its path
 */
export async function compileProgram(folder: string, source = REPOSITORY): Promise<string> {
  const outfile = join(folder, 'nightledger')
  // Its `commit` is that of the bundle and the source.
  const env = { ...process.env, COMMIT: 'source' }
  const command = [process.execPath, 'run', 'build', '--outfile', outfile]
  const build = Bun.spawn(command, { cwd: source, env, stdout: 'ignore', stderr: 'pipe' })
  const said = await build.stderr.text()
  if ((await build.exited) !== 0) throw new Error(`The program cannot be compiled: ${said}`)
  return outfile
}

/**
 * The command that starts the program: the compiled one if the run has it. That has no PostgreSQL of its own, so that without the URL of a
 * database or a service it is the bundle, or the source.
 * @param env of the process
 */
export function programCommand(env: Readonly<Record<string, string | undefined>>): string[] {
  const binary = process.env[BINARY_VARIABLE]
  const hasServer = (env['DATABASE_URL'] ?? env['NIGHTLEDGER_URL']) !== undefined
  return binary !== undefined && hasServer ? [binary] : [process.execPath, 'run', programFile()]
}

/** @param entry one of ENTRIES @returns the file to run: bundled in a run of several files, else its source */
export function programFile(entry: (typeof ENTRIES)[number] = 'src/main.ts'): string {
  return join(process.env[PROGRAM_VARIABLE] ?? REPOSITORY, entry)
}
