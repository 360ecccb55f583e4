import { describe, expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import {
  newSecret,
  openSecrets,
  SecretBox,
  SecretBoxError,
  secretBytes,
  signedHeaders,
} from '../../../src/events/webhooks/secret-box.ts'
import { makeVectors, VECTORS_FILE } from './support/make-vectors.ts'

const { vectors } = makeVectors()

describe('the test vectors', () => {
  test('in docs/ match the signatures of this program', async () => {
    expect(await Bun.file(VECTORS_FILE).json()).toEqual(makeVectors())
  })

  // Computed with Python's hmac from the contract's text, so that a simultaneous change of code and file is noticed.
  test('begin with an independently computed signature', () => {
    expect(vectors[0]?.headers['x-service-signature']).toBe(
      't=1795236025, v1=8cdd20beb81d918b211b55afb71396d2a9798e7a1da115231a8a00ef608bc506',
    )
    expect(vectors[0]?.headers['webhook-signature']).toBe('v1,VaYooFoaTdaAi/4Kx9GwdEKaWBLwzTxOq9DyLybIG5c=')
  })

  test.each(vectors)(
    '$name: X-Service-Signature is hex of HMAC-SHA-256 over <t>.<body>, keyed with the secret as shown',
    (vector) => {
      const expected = vector.secrets.map((secret) => {
        const raw = Buffer.concat([Buffer.from(`${vector.t}.`), Buffer.from(vector.body, 'utf8')])
        return `v1=${createHmac('sha256', Buffer.from(secret, 'utf8')).update(raw).digest('hex')}`
      })
      expect(vector.headers['x-service-signature']).toBe(`t=${vector.t}, ${expected.join(', ')}`)
    },
  )

  test.each(vectors)('$name: the standardwebhooks package agrees', (vector) => {
    for (const secret of vector.secrets) {
      const standard = new Webhook(secret)
      const signed = standard.sign(vector.eventId, new Date(vector.t * 1_000), vector.body)
      expect(vector.headers['webhook-signature']?.split(' ')).toContain(signed)
    }
  })
})

describe('the standardwebhooks package', () => {
  const body = vectors[0]?.body ?? ''
  const secret = newSecret()
  const headers = (at = Date.now()) => signedHeaders({ eventId: 'evt_1', body, at, secrets: [secret] })

  test('accepts a current message, with either secret of a rotation', () => {
    const other = newSecret()
    const both = signedHeaders({ eventId: 'evt_1', body, at: Date.now(), secrets: [other, secret] })
    expect(new Webhook(secret).verify(body, both)).toEqual(JSON.parse(body))
    expect(new Webhook(other).verify(body, both)).toEqual(JSON.parse(body))
  })

  test('refuses another endpoint’s secret, changed bytes, another id and an old time', () => {
    expect(() => new Webhook(newSecret()).verify(body, headers())).toThrow()
    expect(() => new Webhook(secret).verify(`${body} `, headers())).toThrow()
    expect(() => new Webhook(secret).verify(body, { ...headers(), 'webhook-id': 'evt_2' })).toThrow()
    expect(() => new Webhook(secret).verify(body, headers(Date.now() - 301_000))).toThrow()
  })
})

describe('a secret', () => {
  test('is whsec_ and 32 random bytes, different each time', () => {
    const secrets = Array.from({ length: 100 }, newSecret)
    expect(new Set(secrets).size).toBe(100)
    for (const secret of secrets) {
      expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
      expect(secretBytes(secret)).toHaveLength(32)
    }
  })

  const key = crypto.getRandomValues(new Uint8Array(32))
  const owner = { agencyId: 'agc_a', endpointId: 'whe_a' }

  test('opens only for its owner with its key, and not after any bit has changed', () => {
    const box = new SecretBox(key)
    const sealed = box.seal('whsec_x', owner)
    expect(box.open(sealed, owner)).toBe('whsec_x')
    expect(sealed).not.toContain('whsec')
    expect(box.seal('whsec_x', owner)).not.toBe(sealed)
    expect(() => box.open(sealed, { ...owner, endpointId: 'whe_b' })).toThrow(SecretBoxError)
    expect(() => box.open(sealed, { ...owner, agencyId: 'agc_b' })).toThrow(SecretBoxError)
    expect(() => new SecretBox(crypto.getRandomValues(new Uint8Array(32))).open(sealed, owner)).toThrow(SecretBoxError)
    const bytes = Buffer.from(sealed.slice(3), 'base64url')
    for (let i = 0; i < bytes.length; i++) {
      const changed = Buffer.from(bytes)
      changed[i] = (changed[i] ?? 0) ^ 1
      expect(() => box.open(`v1.${changed.toString('base64url')}`, owner)).toThrow(SecretBoxError)
    }
    for (const text of ['', 'v1.', 'v2.abc', sealed.slice(0, 20)])
      expect(() => box.open(text, owner)).toThrow(SecretBoxError)
  })

  test('from before a rotation signs until the overlap ends, and no longer', () => {
    const box = new SecretBox(key)
    const endpoint = {
      secretSealed: box.seal('new', owner),
      previousSecretSealed: box.seal('old', owner),
      previousSecretUntil: 1_000,
    }
    expect(openSecrets(endpoint, { owner, at: 999, box })).toEqual(['new', 'old'])
    expect(openSecrets(endpoint, { owner, at: 1_000, box })).toEqual(['new'])
    expect(openSecrets({ ...endpoint, previousSecretUntil: null }, { owner, at: 0, box })).toEqual(['new'])
  })
})
