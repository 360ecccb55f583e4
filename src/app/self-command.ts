import { join } from 'node:path'

/** The command that runs this program again with `argument`, both from source and from the compiled binary. */
export function selfCommand(argument: string): readonly string[] {
  const isCompiled = import.meta.dir.includes('$bunfs') || import.meta.dir.includes('~BUN')
  return isCompiled ? [process.execPath, argument] : [process.execPath, join(import.meta.dir, '../main.ts'), argument]
}
