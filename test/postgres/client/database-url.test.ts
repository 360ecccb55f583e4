import { describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { hostsText, parseDatabaseUrl } from '../../../src/postgres/client/database-url.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const folder = temporaryFolder('test-url')
const CA = join(folder, 'ca.pem')
writeFileSync(CA, '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n')
const NO_CA = join(folder, 'no-ca.pem')
writeFileSync(NO_CA, 'hello')

describe('DATABASE_URL', () => {
  test.each([
    ['postgres://u:p@db/n', 'db:5432'],
    ['postgresql://db:1/n', 'db:1'],
    ['postgres://u:p@a:1,b,c:3/n?search_path=x', 'a:1, b:5432, c:3'],
    ['postgres://u:a@b,c@d:1,e:2/n', 'd:1, e:2'],
    ['postgres://u@[::1]:1,[fd00::2]/n', '[::1]:1, [fd00::2]:5432'],
  ])('%s leads to %s', (text, hosts) => {
    expect(hostsText(parseDatabaseUrl(text)?.hosts ?? [])).toBe(hosts)
  })

  test.each([
    'db',
    'postgres:',
    'postgres:///n',
    'http://db/n',
    'postgres://a,/n',
    'postgres://a:x/n',
    'postgres://a:70000/n',
  ])('%s is none', (text) => expect(parseDatabaseUrl(text)).toBeNull())

  test('keeps user, password, database and other parameters', () => {
    const { url, database } = parseDatabaseUrl('postgres://u:p%40w@a,b/na%20me?sslmode=require&search_path=x') ?? {}
    expect([url, database]).toEqual(['postgres://u:p%40w@localhost/na%20me?search_path=x', 'na me'])
  })

  test.each(['u:hunter2%@db/n', 'u:hunter2%zz@db/n', 'u%:hunter2@db/n', 'u:hunter2%ff@db/n', 'u@d%b/n', 'u@db/n%'])(
    '%s has a % that encodes nothing, and is refused without its password',
    (rest) => {
      expect(() => parseDatabaseUrl(`postgres://${rest}`)).toThrow('has a % that encodes nothing: write %25')
      expect(() => parseDatabaseUrl(`postgres://${rest}`)).not.toThrow('hunter2')
    },
  )

  test.each([
    ['', null],
    ['?sslmode=disable', null],
    ['?sslmode=require', ['require', false]],
    [`?sslmode=require&sslrootcert=${CA}`, ['verify-ca', true]],
    [`?sslmode=verify-ca&sslrootcert=${CA}`, ['verify-ca', true]],
    [`?sslmode=verify-full&sslrootcert=${CA}`, ['verify-full', true]],
    ['?sslmode=verify-full&sslrootcert=system', ['verify-full', false]],
    ['?sslmode=verify-full', ['verify-full', false]],
  ] as const)('with %p encrypts and verifies as it says', (parameters, expected) => {
    const tls = parseDatabaseUrl(`postgres://db/n${parameters}`)?.tls ?? null
    expect(tls === null ? null : [tls.mode, tls.ca !== null]).toEqual(expected as never)
  })

  test.each([
    ['sslmode=prefer', 'falls back to an unencrypted connection'],
    ['sslmode=full', 'use verify-full, verify-ca, require or disable'],
    [`sslrootcert=${CA}`, 'without sslmode'],
    ['sslmode=verify-full&sslrootcert=/no/such/file', '/no/such/file as sslrootcert, which cannot be read'],
    [`sslmode=verify-full&sslrootcert=${NO_CA}`, 'contains no certificate'],
    ['sslmode=verify-full&sslkey=x', 'sslkey, which is not supported'],
    ['target_session_attrs=standby', 'only the primary can be used'],
  ])('with %s is refused, without its password', (parameters, reason) => {
    expect(() => parseDatabaseUrl(`postgres://u:hunter2@db/n?${parameters}`)).toThrow(reason)
    expect(() => parseDatabaseUrl(`postgres://u:hunter2@db/n?${parameters}`)).not.toThrow('hunter2')
  })
})
