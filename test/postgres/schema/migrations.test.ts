import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { EXTENSIONS, MIGRATIONS } from '../../../src/postgres/schema/migrations.ts'

/**
 * The files of each release, which are never edited: databases that have them would refuse to start. To a release with new files,
 * add a line. SHA-256 with the line ends of Unix (`shasum -a 256 sql/001_schema.sql`).
 */
const RELEASED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '1.0.0': { '001_schema.sql': '3956d1b75a58368cf9edafe1b1e50e2cdeee4ed7a79949dca6bbf31631db763e' },
}

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

test('no migration of a release was edited or removed', () => {
  for (const [release, released] of Object.entries(RELEASED))
    for (const [file, sha256] of Object.entries(released)) {
      const text = files.includes(file) ? readFileSync(`sql/${file}`, 'utf8').replaceAll('\r\n', '\n') : ''
      if (new Bun.CryptoHasher('sha256').update(text).digest('hex') !== sha256)
        throw new Error(
          `sql/${file} was released with ${release} and is not as it was: databases that have it would refuse to start. Restore it, and put the change into sql/002_….sql or whatever number is next (CONTRIBUTING.md#how-to-add-a-migration).`,
        )
    }
})

test('the programs that a migration lets run know a version that exists', () => {
  for (const { version, runsFrom } of MIGRATIONS) expect(runsFrom).toBeWithin(1, version + 1)
})
