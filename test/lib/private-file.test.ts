import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createWhole, keepPrivateFile, makeSyncedFolder, readIfPresent } from '../../src/lib/private-file.ts'

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nightledger-file-'))
  path = join(folder, 'secret')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe('a private file', () => {
  test('is made once, readable by its owner only, and nothing else is left', () => {
    expect(keepPrivateFile(path, () => 'first')).toBe('first')
    expect(keepPrivateFile(path, () => 'second')).toBe('first')
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readdirSync(folder)).toEqual(['secret'])
  })

  test('is never replaced', () => {
    expect(createWhole(path, 'first\n')).toBe(true)
    expect(createWhole(path, 'second\n')).toBe(false)
    expect(readFileSync(path, 'utf8')).toBe('first\n')
    expect(readdirSync(folder)).toEqual(['secret'])
  })

  test('has the same content for all of eight processes that make it at once', async () => {
    const module = join(import.meta.dir, '../../src/lib/private-file.ts')
    const script = `import { keepPrivateFile } from ${JSON.stringify(module)}
      process.stdout.write(keepPrivateFile(${JSON.stringify(path)}, () => crypto.randomUUID()))`
    const runs = Array.from({ length: 8 }, () => Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe' }))
    const seen = await Promise.all(runs.map((run) => new Response(run.stdout).text()))
    expect(new Set(seen).size).toBe(1)
    expect(seen[0]).toHaveLength(36)
  })

  test('that is absent reads as null', () => {
    expect(readIfPresent(path)).toBeNull()
    expect(() => readIfPresent(folder)).toThrow()
  })
})

test('the name of each folder that is made, or is there already, is synced in the one above it', () => {
  const synced: string[] = []
  const made = join(folder, 'a', 'b', 'c')
  makeSyncedFolder(made, (at) => synced.push(at))
  expect(synced).toEqual([join(folder, 'a', 'b'), join(folder, 'a'), folder])
  expect(statSync(made).mode & 0o777).toBe(0o700)
  makeSyncedFolder(made, (at) => synced.push(at))
  expect(synced.slice(3)).toEqual([join(folder, 'a', 'b')])
})
