/** Called as a macro: the bill of materials is made at build time, from the lock file. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildCommit } from '../lib/build-commit.ts'

/** An entry of package-lock.json, by its folder. `name`: only if the folder has another. */
interface Locked {
  readonly name?: string
  readonly version: string
  readonly license: string
  readonly integrity: string
  readonly dev?: true
  readonly optional?: true
  readonly devOptional?: true
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

interface Part {
  readonly type: 'library' | 'platform'
  readonly name: string
  readonly version: string
  readonly license: string
  readonly integrity?: string
  /** References of other parts. */
  readonly dependsOn: readonly string[]
}

const ROOT = join(import.meta.dir, '../..')
const MODULES = 'node_modules/'
const BUN = `${MODULES}bun`

/** Code bundled in packages, which the lock file does not list. A test compares it with docs/dependencies-audit.md. */
const BUNDLED = [
  { inside: 'swagger-ui-dist', name: 'dompurify', version: '3.4.17', license: '(MPL-2.0 OR Apache-2.0)' },
  { inside: '@modelcontextprotocol/server', name: 'ajv', version: '8.18.0', license: 'MIT' },
  { inside: '@modelcontextprotocol/server', name: 'fast-uri', version: '3.1.8', license: 'BSD-3-Clause' },
] as const

/**
 * A CycloneDX 1.6 document of Bun and every package that the program is built from, including type-only ones. It has no date or serial
 * number, so that the same commit gives the same bytes.
 */
export function makeSbom(): string {
  const { name, version, license } = readJson('package.json')
  const locked: Readonly<Record<string, Locked>> = readJson('package-lock.json').packages
  // The optional ones are the built-in PostgreSQL of each platform, which is never in the binary.
  const folders = Object.keys(locked).filter((folder) => {
    const { dev, optional, devOptional } = lockedIn(locked, folder)
    return folder !== '' && !(dev ?? optional ?? devOptional)
  })
  const dependenciesOf = (folder: string) => {
    const { dependencies, peerDependencies } = lockedIn(locked, folder)
    return Object.keys({ ...dependencies, ...peerDependencies }).flatMap((wanted) => {
      const found = folderOf(wanted, folder, folders)
      return found === null ? [] : [refOf(partNamed(found, lockedIn(locked, found)))]
    })
  }
  const all: Part[] = [
    { type: 'platform', ...partNamed(BUN, lockedIn(locked, BUN)), dependsOn: [] },
    ...folders.map((folder): Part => {
      const bundled = BUNDLED.filter(({ inside }) => folder === MODULES + inside)
      const dependsOn = [...dependenciesOf(folder), ...bundled.map(refOf)]
      return { type: 'library', ...partNamed(folder, lockedIn(locked, folder)), dependsOn }
    }),
    ...BUNDLED.map(({ inside: _, ...bundled }): Part => ({ type: 'library', ...bundled, dependsOn: [] })),
  ]
  // A package in two folders is one component.
  const parts = [...new Map(all.map((part) => [refOf(part), part])).values()]
  return JSON.stringify({
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': name,
        name,
        version,
        licenses: [{ license: { id: license } }],
        properties: [{ name: 'nightledger:commit', value: buildCommit() }],
      },
    },
    components: parts.map((part) => ({
      type: part.type,
      'bom-ref': refOf(part),
      name: part.name,
      version: part.version,
      purl: refOf(part),
      licenses: [/ (OR|AND) /.test(part.license) ? { expression: part.license } : { license: { id: part.license } }],
      ...(part.integrity !== undefined && { hashes: [hashOf(part.integrity)] }),
    })),
    dependencies: [
      { ref: name, dependsOn: [refOf(partNamed(BUN, lockedIn(locked, BUN))), ...dependenciesOf('')] },
      ...parts.map((part) => ({ ref: refOf(part), dependsOn: part.dependsOn })),
    ],
  })
}

// biome-ignore lint/suspicious/noExplicitAny: two files of ours
function readJson(file: string): any {
  return JSON.parse(readFileSync(join(ROOT, file), 'utf8'))
}

function lockedIn(locked: Readonly<Record<string, Locked>>, folder: string): Locked {
  const found = locked[folder]
  if (found === undefined) throw new Error(`package-lock.json has no ${folder}`)
  return found
}

function partNamed(folder: string, { name, version, license, integrity }: Locked) {
  return { name: name ?? folder.slice(folder.lastIndexOf(MODULES) + MODULES.length), version, license, integrity }
}

/** The folder in which Node finds a package that is imported from `from`: its own, or the nearest above. */
function folderOf(wanted: string, from: string, folders: readonly string[]): string | null {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf(`/${MODULES}`)))) {
    const folder = at === '' ? MODULES + wanted : `${at}/${MODULES}${wanted}`
    if (folders.includes(folder)) return folder
    if (at === '') return null
  }
}

function refOf({ name, version }: Pick<Part, 'name' | 'version'>): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`
}

/** From `sha512-` and base64, to the algorithm's name and hex. */
function hashOf(integrity: string): { alg: string; content: string } {
  const [algorithm = '', base64 = ''] = integrity.split('-')
  return { alg: algorithm.replace('sha', 'SHA-'), content: Buffer.from(base64, 'base64').toString('hex') }
}
