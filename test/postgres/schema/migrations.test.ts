import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { EXTENSIONS, MIGRATIONS } from '../../../src/postgres/schema/migrations.ts'

const files = readdirSync('sql')
  .filter((name) => /^\d/.test(name))
  .sort()

test('the embedded migrations are exactly the numbered files of sql/', () => {
  const embedded = MIGRATIONS.map(({ version, name, sql }) => [`${String(version).padStart(3, '0')}_${name}.sql`, sql])
  expect(embedded).toEqual(files.map((name) => [name, readFileSync(`sql/${name}`, 'utf8')]))
})

test('every extension that a migration creates is looked for before the first one is applied', () => {
  const created = MIGRATIONS.flatMap(({ sql }) => [...sql.matchAll(/create extension (?:if not exists )?(\w+)/g)])
  expect([...EXTENSIONS].sort()).toEqual([...new Set(created.map(([, name]) => name ?? ''))].sort())
})

test.each(files)('%s leaves the transaction to migrate()', (name) => {
  // Each runs as one implicit transaction, which these would end half-way.
  const statements = readFileSync(`sql/${name}`, 'utf8').replace(/\$(\w*)\$[\s\S]*?\$\1\$/g, '')
  expect(statements).not.toMatch(/^\s*(begin|commit|rollback|start transaction|create index concurrently)\b/im)
})

test('what runs with the rights of the owner is not for everybody, also without roles.sql', () => {
  const schema = readFileSync('sql/001_schema.sql', 'utf8')
  const functions = schema.split(/^create function /m).slice(1)
  const ofOwner = functions.filter((text) => text.split('$$')[0]?.includes('security definer'))
  const [, revoked = ''] = /^revoke execute on function ([\w, ]+) from public;/m.exec(schema) ?? []
  expect(ofOwner.map((text) => text.split('(')[0]).sort()).toEqual(revoked.split(', ').sort())
})
