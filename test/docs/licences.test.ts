import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ACCEPTED, licencesDocument, runtimePackages } from '../support/licences.ts'

test('every package of the running service has a licence that we accept', () => {
  expect(runtimePackages().filter(({ licence }) => !ACCEPTED.includes(licence))).toEqual([])
})

test('docs/licences.md is what the lock file says: `bun run licences` makes it', () => {
  expect(readFileSync(join(import.meta.dir, '../../docs/licences.md'), 'utf8')).toBe(licencesDocument())
})
