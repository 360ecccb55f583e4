import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readServiceFile, removeServiceFile, writeServiceFile } from '../../src/app/service-file.ts'
import { connectionOf, serviceUrl } from '../../src/cli/connection.ts'
import { UsageError } from '../../src/cli/exit-codes.ts'

const LOCAL = { url: 'http://127.0.0.1:4567', adminUrl: 'http://127.0.0.1:4567' }

let dataDir: string

beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'nightledger-cli-'))
  writeFileSync(join(dataDir, 'portal-token'), 'local-token\n')
  writeServiceFile(dataDir, { ...LOCAL, pid: 42 })
})
afterAll(() => rmSync(dataDir, { recursive: true, force: true }))

describe('the service is found', () => {
  test('by itself when it runs here with a database of its own', () => {
    expect(connectionOf({}, { DATA_DIR: dataDir })).toEqual({ url: 'http://127.0.0.1:4567', token: 'local-token' })
  })

  test('by the options before the environment, and by the environment before the folder', () => {
    const env = { DATA_DIR: dataDir, NIGHTLEDGER_URL: 'https://b.example/', PORTAL_TOKEN: 'b' }
    expect(connectionOf({ url: 'https://a.example', token: 'a' }, env)).toEqual({
      url: 'https://a.example',
      token: 'a',
    })
    expect(connectionOf({}, env)).toEqual({ url: 'https://b.example', token: 'b' })
  })

  test('at the usual port without a hint', () => {
    expect(connectionOf({ token: 'a' }, { DATA_DIR: '/nowhere' }).url).toBe('http://127.0.0.1:3000')
    expect(connectionOf({ token: 'a' }, { DATA_DIR: '/nowhere', PORT: '8080' }).url).toBe('http://127.0.0.1:8080')
  })
})

describe('with ADMIN_PORT', () => {
  const ACCESS_TOKEN = `hp_live_${'a'.repeat(43)}`
  const env = { DATA_DIR: '/nowhere', PORT: '8080', ADMIN_PORT: '9090' }

  test("the operator's token is sent there, and an access token to PORT", () => {
    expect(connectionOf({ token: 'a' }, env).url).toBe('http://127.0.0.1:9090')
    expect(connectionOf({ token: ACCESS_TOKEN }, env)).toEqual({ url: 'http://127.0.0.1:8080', token: ACCESS_TOKEN })
    expect(connectionOf({}, { ...env, PORTAL_TOKEN: ACCESS_TOKEN }).url).toBe('http://127.0.0.1:8080')
  })

  test.each(['hr_live_', 'hr_test_'])('an API key that begins with %s is sent to PORT', (prefix) => {
    expect(connectionOf({ token: `${prefix}${'a'.repeat(43)}` }, env).url).toBe('http://127.0.0.1:8080')
  })

  test('so it is to a service that has left its addresses in its folder', () => {
    const folder = mkdtempSync(join(tmpdir(), 'nightledger-cli-'))
    writeFileSync(join(folder, 'portal-token'), 'local-token\n')
    writeServiceFile(folder, { url: 'http://127.0.0.1:1', adminUrl: 'http://127.0.0.1:2', pid: 42 })
    expect(connectionOf({}, { DATA_DIR: folder })).toEqual({ url: 'http://127.0.0.1:2', token: 'local-token' })
    expect(connectionOf({ token: ACCESS_TOKEN }, { DATA_DIR: folder }).url).toBe('http://127.0.0.1:1')
    rmSync(folder, { recursive: true })
  })

  test('an address that is given is used for both', () => {
    for (const token of ['a', ACCESS_TOKEN])
      expect(connectionOf({ token }, { ...env, NIGHTLEDGER_URL: 'https://a.example' }).url).toBe('https://a.example')
  })

  test.each([
    ['0.0.0.0', 'http://127.0.0.1:9090'],
    ['::', 'http://127.0.0.1:9090'],
    ['10.0.0.5', 'http://10.0.0.5:9090'],
    ['::1', 'http://[::1]:9090'],
  ])('and ADMIN_HOST %s, it is at %s', (host, url) => {
    expect(serviceUrl({}, { ...env, ADMIN_HOST: host }, { isPublic: false })).toBe(url)
  })
})

test('of two tokens in PORTAL_TOKEN, the first is sent', () => {
  const [old, next] = ['x'.repeat(32), 'y'.repeat(32)]
  expect(connectionOf({}, { PORTAL_TOKEN: `${old},${next}` }).token).toBe(old)
})

test('the token of the local service is never sent to another machine', () => {
  for (const url of ['https://example.com', 'http://127.0.0.1.example.com', 'http://localhost.example.com'])
    expect(() => connectionOf({ url }, { DATA_DIR: dataDir })).toThrow(UsageError)
  for (const url of ['http://localhost:1', 'http://127.0.0.1:1', 'http://[::1]:1'])
    expect(connectionOf({ url }, { DATA_DIR: dataDir }).token).toBe('local-token')
})

test('an invalid address and a missing token are reported', () => {
  expect(() => connectionOf({ url: 'ftp://x', token: 'a' }, {})).toThrow(/not an http or https URL/)
  expect(() => connectionOf({}, { DATA_DIR: '/nowhere' })).toThrow(/no portal token/)
})

test("a service's file is private, replaces an older one, and is removed by its own process only", () => {
  expect(statSync(join(dataDir, 'service.json')).mode & 0o777).toBe(0o600)
  const successor = { url: 'http://127.0.0.1:4568', adminUrl: 'http://127.0.0.1:9090', pid: 43 }
  writeServiceFile(dataDir, successor)
  removeServiceFile(dataDir, 42)
  expect(readServiceFile(dataDir)).toEqual(successor)
  removeServiceFile(dataDir, 43)
  expect(readServiceFile(dataDir)).toBeNull()
  writeFileSync(join(dataDir, 'service.json'), '{"url":')
  expect(readServiceFile(dataDir)).toBeNull()
  writeServiceFile(dataDir, { ...LOCAL, pid: 42 })
})
