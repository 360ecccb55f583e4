import { describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { authenticate } from '../../src/accounts/partner-access.ts'
import { makeSecret } from '../../src/accounts/secrets.ts'
import { type Agency, type ApiKey, KEY_PREFIX } from '../../src/core/catalogue/agency.ts'
import type { KeyHolder } from '../../src/core/catalogue/catalogue.ts'
import { sha256Hex } from '../../src/lib/ids.ts'
import { AGENCY, sampleId } from '../support/samples.ts'

const KEY_A = sampleId('key', 'a')

const NOW = Date.UTC(2027, 0, 1)
const { secret, prefix, sha256 } = makeSecret(KEY_PREFIX, (bytes) => new Uint8Array(bytes).fill(7))

const KEY: ApiKey = {
  id: KEY_A,
  agencyId: AGENCY.id,
  name: null,
  prefix,
  secretSha256: sha256,
  scopes: [],
  createdAt: 0,
  expiresAt: null,
  revokedAt: null,
  lastUsedAt: null,
}

function keysOf({ key = {}, agency = {} }: { key?: Partial<ApiKey>; agency?: Partial<Agency> } = {}) {
  const holder: KeyHolder = { key: { ...KEY, ...key }, agency: { ...AGENCY, ...agency } }
  return { holderByHash: (hash: string) => (hash === holder.key.secretSha256 ? holder : null) }
}

describe('a new key', () => {
  test('is hr_live_ and 32 random bytes, recognized by its first 14 characters, stored as its hash', () => {
    expect(secret).toBe(`hr_live_${Buffer.alloc(32, 7).toString('base64url')}`)
    expect(prefix).toBe(secret.slice(0, 14))
    expect(sha256).toBe(createHash('sha256').update(secret).digest('hex'))
  })
  test('is different each time', () => {
    expect(new Set(Array.from({ length: 100 }, () => makeSecret(KEY_PREFIX).secret)).size).toBe(100)
  })
  test('is accepted as a bearer token, for any bytes', () => {
    const wide = makeSecret(KEY_PREFIX, (bytes) => new Uint8Array(bytes).fill(255))
    const keys = keysOf({ key: { secretSha256: wide.sha256 } })
    expect(authenticate(`Bearer ${wide.secret}`, keys, NOW)?.key.id).toBe(KEY_A)
  })
})

describe('sha256Hex', () => {
  test.each(['', 'abc', 'ünïcode €'])('hashes the UTF-8 of %p as other implementations do', (text) => {
    expect(sha256Hex(text)).toBe(createHash('sha256').update(text, 'utf8').digest('hex'))
  })
})

describe('a valid key', () => {
  test.each(['Bearer', 'bearer', 'BEARER', 'bEaReR'])('is accepted under the scheme %s', (scheme) => {
    expect(authenticate(`${scheme} ${secret}`, keysOf(), NOW)?.key.id).toBe(KEY_A)
  })
  test('is accepted after several spaces', () => {
    expect(authenticate(`Bearer   ${secret}`, keysOf(), NOW)).not.toBeNull()
  })
  test('passes up to the moment it expires, and not after', () => {
    const keys = keysOf({ key: { expiresAt: NOW } })
    expect(authenticate(`Bearer ${secret}`, keys, NOW)).not.toBeNull()
    expect(authenticate(`Bearer ${secret}`, keys, NOW + 1)).toBeNull()
  })
})

describe('no holder is authenticated by', () => {
  test.each<[string, string | null]>([
    ['a missing header', null],
    ['an empty header', ''],
    ['a scheme alone', 'Bearer'],
    ['a scheme and a space', 'Bearer '],
    ['a key without its scheme', secret],
    ['another scheme', `Basic ${secret}`],
    ['a longer scheme that begins the same', `Bearers ${secret}`],
    ['a scheme and its key without a space', `Bearer${secret}`],
    ['a tab instead of the space', `Bearer\t${secret}`],
    ['two keys', `Bearer ${secret} ${secret}`],
    ['two headers in one', `Bearer ${secret}, Bearer ${secret}`],
    ['a character not allowed in tokens', `Bearer ${secret}\u00e9`],
    ['a quoted key', `Bearer "${secret}"`],
    ['an unknown key', `Bearer ${secret}x`],
    ['the hash instead of the key', `Bearer ${sha256}`],
    ['the prefix instead of the key', `Bearer ${prefix}`],
  ])('%s', (_, header) => {
    expect(authenticate(header, keysOf(), NOW)).toBeNull()
  })

  test('a token longer than 256 characters, which is not even hashed', () => {
    const longest = `hr_live_${'a'.repeat(248)}`
    const requests: string[] = []
    const holderByHash = (hash: string) => {
      requests.push(hash)
      return null
    }
    const keys = { holderByHash }
    authenticate(`Bearer ${longest}`, keys, NOW)
    authenticate(`Bearer ${longest}a`, keys, NOW)
    expect(requests).toEqual([sha256Hex(longest)])
  })

  test.each<[string, Parameters<typeof keysOf>[0]]>([
    ['a revoked key', { key: { revokedAt: NOW - 1 } }],
    ['a key revoked in this millisecond', { key: { revokedAt: NOW } }],
    ['a key revoked by a clock that went ahead', { key: { revokedAt: NOW + 5_000 } }],
    ['an expired key', { key: { expiresAt: NOW - 1 } }],
    ['a key of a suspended agency', { agency: { status: 'suspended' } }],
  ])('%s', (_, change) => {
    expect(authenticate(`Bearer ${secret}`, keysOf(change), NOW)).toBeNull()
  })
})
