import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The paths of what an `import` of a built module loads: itself, and what it imports, except by `import()`. */
export function loadedModules(path: string, loaded = new Set<string>()): Set<string> {
  if (loaded.has(path)) return loaded
  loaded.add(path)
  for (const { kind, path: imported } of new Bun.Transpiler().scanImports(readFileSync(path, 'utf8')))
    if (kind === 'import-statement') loadedModules(join(dirname(path), imported), loaded)
  return loaded
}
