import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../../src/app/config.ts'
import { openDatabase } from '../../../src/app/open-database.ts'
import { connect } from '../../../src/postgres/client/connect.ts'
import { serverAccount } from '../../../src/postgres/embedded/server-account.ts'
import { serverUrl } from '../../support/postgres.ts'
import { credentialsFor } from '../../support/service-process.ts'
import { startSystemPostgres, systemPostgres } from '../../support/system-postgres.ts'
import { TestAuthority } from '../../support/test-authority.ts'

/** A server whose certificate is for localhost, and not for 127.0.0.1. */
let server: Awaited<ReturnType<typeof startSystemPostgres>>
let folder: string
let port: string
const programs = systemPostgres()

beforeAll(async () => {
  if (programs === null) return
  folder = mkdtempSync(join(tmpdir(), 'nightledger-test-tls-'))
  const [authority, other] = [await TestAuthority.create(), await TestAuthority.create()]
  const { cert, key } = await authority.issue({ names: ['localhost'] })
  const files = { 'ca.pem': authority.pem, 'other-ca.pem': other.pem, 'server.pem': cert, 'server.key': key }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode: 0o600 })
  const account = serverAccount({ cluster: null, onStep: () => {} })
  if (account !== null)
    for (const name of ['', ...Object.keys(files)]) chownSync(join(folder, name), account.uid, account.gid)
  server = await startSystemPostgres(programs, [
    'ssl=on',
    `ssl_cert_file=${join(folder, 'server.pem')}`,
    `ssl_key_file=${join(folder, 'server.key')}`,
  ])
  port = new URL(server.url).port
})
afterAll(async () => {
  if (programs === null) return
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

function urlFor(host: string, mode: string, ca: string | null): string {
  const authority = ca === null ? '' : `&sslrootcert=${join(folder, ca)}`
  return `postgres://nightledger@${host}/postgres?sslmode=${mode}${authority}`
}

/** Whether the connection is encrypted, or why there is none. */
async function encryption(url: string): Promise<boolean | string> {
  const sql = connect(url, { purpose: 'admin' })
  try {
    const [row] = await sql<{ ssl: boolean }[]>`select ssl from pg_stat_ssl where pid = pg_backend_pid()`
    return row?.ssl ?? 'no row'
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  } finally {
    await sql.end({ timeout: 0 })
  }
}

describe.skipIf(programs === null)('sslmode', () => {
  test.each([
    ['disable', '127.0.0.1', null, false],
    ['require', '127.0.0.1', null, true],
    ['verify-ca', '127.0.0.1', 'ca.pem', true],
    ['verify-full', 'localhost', 'ca.pem', true],
  ] as const)('%s to %s with the authority %p connects', async (mode, host, ca, isEncrypted) => {
    expect(await encryption(urlFor(`${host}:${port}`, mode, ca))).toBe(isEncrypted)
  })

  test.each([
    ['verify-full', 'localhost', 'other-ca.pem'],
    ['verify-full', '127.0.0.1', 'ca.pem'],
    ['verify-full', 'localhost', null],
    ['verify-ca', 'localhost', 'other-ca.pem'],
    ['require', 'localhost', 'other-ca.pem'],
  ])(
    '%s to %s with the authority %p is refused: the certificate is not for it, or by another authority',
    async (mode, host, ca) => {
      expect(await encryption(urlFor(`${host}:${port}`, mode, ca))).toContain(
        'the certificate of the server is not accepted',
      )
    },
  )

  test('verify-full with several hosts verifies each by its own name', async () => {
    expect(await encryption(urlFor(`localhost:${port},localhost:1`, 'verify-full', 'ca.pem'))).toBe(true)
    expect(await encryption(urlFor(`127.0.0.1:${port},127.0.0.1:1`, 'verify-full', 'ca.pem'))).toContain(
      'the certificate of the server is not accepted',
    )
  })

  test('a server that does not encrypt is refused, at start as well, and nothing is sent in plain text', async () => {
    const plain = new URL(serverUrl()).port
    const url = urlFor(`localhost:${plain}`, 'verify-full', 'ca.pem')
    expect(await encryption(url)).toContain('the server does not encrypt connections')
    const config = readConfig(credentialsFor(url))
    const start = await openDatabase(config, { secretKey: new Uint8Array(32), onStep: () => {} }).catch(
      (error) => error,
    )
    expect(start.message).toMatch(/^Cannot reach the database postgres on localhost:\d+: the server does not encrypt/)
  })

  test('a wrong certificate refuses the start in a sentence', async () => {
    const config = readConfig(credentialsFor(urlFor(`localhost:${port}`, 'verify-full', 'other-ca.pem')))
    const start = await openDatabase(config, { secretKey: new Uint8Array(32), onStep: () => {} }).catch(
      (error) => error,
    )
    expect([start.name, start.message]).toEqual([
      'UnreachableError',
      expect.stringContaining('the certificate of the server is not accepted'),
    ])
  })
})
