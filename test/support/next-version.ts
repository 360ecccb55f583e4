import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { MIGRATIONS } from '../../src/postgres/schema/migrations.ts'

/** What a release adds to the one before, in files of the project. */
export interface Step {
  readonly version: string
  /** A migration beside which the present program runs. */
  readonly sql: string
  /** The lines of sql/roles.sql for its tables. */
  readonly rights: string
}

/** Builds the program as it is, or with one more migration, in a folder of its own. @returns the binary */
export function buildProgram(folder: string, step?: Step): string {
  mkdirSync(folder, { recursive: true })
  for (const path of ['package.json', 'package-lock.json', 'tsconfig.json', 'sql', 'src'])
    cpSync(path, join(folder, path), { recursive: true })
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
  if (step !== undefined) addStep(folder, step)
  const build = Bun.spawnSync(['npm', 'run', 'build'], {
    cwd: folder,
    env: { ...process.env, COMMIT: 'test' },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  if (build.exitCode !== 0) throw new Error(`The build ended with ${build.exitCode}: ${build.stderr}`)
  return join(folder, 'dist/nightledger')
}

function addStep(folder: string, { version, sql, rights }: Step): void {
  const number = MIGRATIONS.length + 1
  const file = `${String(number).padStart(3, '0')}_next.sql`
  writeFileSync(join(folder, 'sql', file), sql)
  edit(
    join(folder, 'src/postgres/schema/migrations.ts'),
    ['import ', `import next from '../../../sql/${file}' with { type: 'text' }\nimport `],
    ['runsFrom: 1 }]', `runsFrom: 1 }, { version: ${number}, name: 'next', sql: next, runsFrom: ${number - 1} }]`],
  )
  edit(join(folder, 'sql/roles.sql'), ['(values\n', `(values\n${rights}`])
  edit(join(folder, 'src/lib/version.ts'), [/VERSION = '.*'/, `VERSION = '${version}'`])
}

/** @throws Error when the file has nothing of the kind */
function edit(path: string, ...changes: readonly (readonly [what: string | RegExp, by: string])[]): void {
  let text = readFileSync(path, 'utf8')
  for (const [what, by] of changes) {
    const changed = text.replace(what, by)
    if (changed === text) throw new Error(`Cannot make the next version: ${path} has no ${what}`)
    text = changed
  }
  writeFileSync(path, text)
}
