import { dirname, join } from 'node:path'
import { Glob } from 'bun'

/** One source file. `path` is relative to src/; `code` is its text without comment lines. */
export type Source = { path: string; code: string; imports: readonly Import[] }

/**
 * `target`: relative to src/ for our own files (or `../…` outside of it), the specifier itself for packages. `isType`: the whole statement
 * is erased when the program is bundled.
 */
type Import = { kind: 'own' | 'package'; target: string; isType: boolean }

/** Every source file of src/, sorted by path. */
export async function readSources(root = 'src'): Promise<Source[]> {
  const paths = [...new Glob('**/*.{ts,tsx}').scanSync(root)].filter((path) => !path.endsWith('.d.ts')).sort()
  return await Promise.all(paths.map(async (path) => sourceOf(path, await Bun.file(join(root, path)).text())))
}

export function sourceOf(path: string, text: string): Source {
  const code = withoutComments(text)
  return { path, code, imports: importsIn(code, path) }
}

/**
 * What a file imports, types too: `Bun.Transpiler.scanImports` leaves those out. Relies on the formatter, which puts import
 * and export statements at the beginning of a line.
 */
function importsIn(code: string, path: string): Import[] {
  const statements = code.matchAll(/^(?:import|export)\b(\s+type\b)?(?:[\w$\s{},*]*?\bfrom)?\s*['"]([^'"]+)['"]/gm)
  const calls = code.matchAll(/\b(?:import|require)\(\s*['"`]([^'"`]+)['"`]/g)
  return [
    ...[...statements].map(([, type, specifier = '']) => resolve(path, specifier, type !== undefined)),
    ...[...calls].map(([, specifier = '']) => resolve(path, specifier, false)),
  ]
}

function resolve(path: string, specifier: string, isType: boolean): Import {
  if (!specifier.startsWith('.')) return { kind: 'package', target: specifier, isType }
  return { kind: 'own', target: join(dirname(path), specifier), isType }
}

/** Blanks whole-line and block comments that begin a line; those behind code stay, as telling them from text is a parser's work. */
function withoutComments(text: string): string {
  return text.replace(/^\s*\/\*[\s\S]*?\*\//gm, '').replace(/^\s*\/\/.*$/gm, '')
}

/** The files of every import cycle found, each as a path that ends where it began. */
export function cyclesIn(sources: readonly Source[]): string[][] {
  const importsOf = new Map(
    sources.map(({ path, imports }) => [
      path,
      imports.filter(({ kind }) => kind === 'own').map(({ target }) => target),
    ]),
  )
  const cycles: string[][] = []
  const finished = new Set<string>()
  const visit = (path: string, trail: readonly string[]): void => {
    const at = trail.indexOf(path)
    if (at !== -1) cycles.push([...trail.slice(at), path])
    if (at !== -1 || finished.has(path)) return
    for (const next of importsOf.get(path) ?? []) visit(next, [...trail, path])
    finished.add(path)
  }
  for (const { path } of sources) visit(path, [])
  return cycles
}
