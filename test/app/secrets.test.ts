import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadSecrets, SecretsError } from '../../src/app/secrets.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nightledger-secrets-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const none = { portalTokens: null, secretKey: null }

describe('loadSecrets', () => {
  test('creates both secrets once, private to the user, in a folder that need not exist', () => {
    const dataDir = join(folder, 'a', 'b')
    const made = loadSecrets({ dataDir, ...none })
    expect(made.portalTokens[0]?.length).toBeGreaterThanOrEqual(32)
    expect(made.secretKey).toHaveLength(32)
    expect(loadSecrets({ dataDir, ...none })).toEqual(made)
    expect(readdirSync(dataDir).sort()).toEqual(['portal-token', 'secret-key'])
    for (const name of readdirSync(dataDir)) expect(statSync(join(dataDir, name)).mode & 0o777).toBe(0o600)
    expect(made.portalTokenFile).toBe(join(dataDir, 'portal-token'))
    expect(readFileSync(join(dataDir, 'portal-token'), 'utf8')).toBe(`${made.portalTokens[0]}\n`)
  })

  test('the environment takes precedence, and nothing is written', () => {
    const given = { portalTokens: ['t'.repeat(40)], secretKey: new Uint8Array(32) }
    const dataDir = join(folder, 'not-made')
    expect(loadSecrets({ dataDir, ...given })).toEqual({ ...given, portalTokenFile: null })
    expect(readdirSync(folder)).toEqual([])
  })

  test('a damaged file is reported, not replaced', () => {
    loadSecrets({ dataDir: folder, ...none })
    writeFileSync(join(folder, 'secret-key'), 'short\n')
    expect(() => loadSecrets({ dataDir: folder, ...none })).toThrow(SecretsError)
    expect(() => loadSecrets({ dataDir: folder, ...none })).toThrow(join(folder, 'secret-key'))
    expect(readFileSync(join(folder, 'secret-key'), 'utf8')).toBe('short\n')
  })

  test('a key that is missing beside the database is reported, not replaced', () => {
    mkdirSync(join(folder, 'postgres'))
    expect(() => loadSecrets({ dataDir: folder, ...none })).toThrow(SecretsError)
    expect(() => loadSecrets({ dataDir: folder, ...none })).toThrow(`${join(folder, 'secret-key')} is missing`)
    expect(readdirSync(folder)).toEqual(['postgres'])
    const secretKey = new Uint8Array(32)
    expect(loadSecrets({ dataDir: folder, portalTokens: null, secretKey }).secretKey).toBe(secretKey)
  })

  test('a data folder that cannot be made is named, with the variable', () => {
    const file = join(folder, 'file')
    writeFileSync(file, '')
    for (const dataDir of [file, join(file, 'below'), '/proc/none']) {
      expect(() => loadSecrets({ dataDir, ...none })).toThrow(SecretsError)
      expect(() => loadSecrets({ dataDir, ...none })).toThrow(
        new RegExp(`^Cannot use the data folder ${RegExp.escape(dataDir)}: .* Set DATA_DIR to a folder`),
      )
    }
  })
})
