import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Set by test/run.ts: the folder that `bundleProgram` has filled. */
export const PROGRAM_VARIABLE = 'NIGHTLEDGER_TEST_PROGRAM'

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

/** @param entry one of ENTRIES @returns the file to run: bundled in a run of several files, else its source */
export function programFile(entry: (typeof ENTRIES)[number] = 'src/main.ts'): string {
  return join(process.env[PROGRAM_VARIABLE] ?? join(import.meta.dir, '../..'), entry)
}
