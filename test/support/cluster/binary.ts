/** The service as a host runs it: the compiled binary. */
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { compileProgram } from '../bundled-program.ts'

const REPOSITORY = resolve(import.meta.dir, '../../..')

/** A place in the source, and what a broken build has instead. */
export interface Break {
  readonly file: string
  /** Must occur exactly once. */
  readonly text: string
  readonly instead: string
}

/**
 * Compiles the service.
 * @param breaks a build that lacks something, to see that the tests notice
 * @returns the path of the binary, in `folder`
 */
export function buildBinary(folder: string, breaks: readonly Break[] = []): Promise<string> {
  const source = breaks.length === 0 ? REPOSITORY : copyBroken(join(folder, 'source'), breaks)
  return compileProgram(folder, source)
}

function copyBroken(folder: string, breaks: readonly Break[]): string {
  mkdirSync(folder, { recursive: true })
  for (const path of ['src', 'sql', 'package.json', 'package-lock.json', 'tsconfig.json', 'bunfig.toml'])
    cpSync(join(REPOSITORY, path), join(folder, path), { recursive: true })
  symlinkSync(join(REPOSITORY, 'node_modules'), join(folder, 'node_modules'))
  for (const { file, text, instead } of breaks) {
    const before = readFileSync(join(folder, file), 'utf8')
    const count = before.split(text).length - 1
    if (count !== 1) throw new Error(`Cannot break ${file}: "${text}" occurs ${count} times`)
    writeFileSync(
      join(folder, file),
      before.replace(text, () => instead),
    )
  }
  return folder
}
