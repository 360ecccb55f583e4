import { join } from 'node:path'

/** Program and arguments that run this program once more with `argument`, from the source as from the compiled binary. */
export function sameProgram(argument: string): readonly string[] {
  const isCompiled = import.meta.dir.includes('$bunfs') || import.meta.dir.includes('~BUN')
  return isCompiled ? [process.execPath, argument] : [process.execPath, join(import.meta.dir, 'main.ts'), argument]
}
