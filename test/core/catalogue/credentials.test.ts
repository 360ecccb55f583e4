import { expect, test } from 'bun:test'
import type { ApiKey } from '../../../src/core/catalogue/agency.ts'
import { Credentials, ENDED_CREDENTIALS_KEPT_MAX } from '../../../src/core/catalogue/agency.ts'
import { AGENCY, sampleId, sampleKey } from '../../support/samples.ts'

const NOW = Date.UTC(2026, 5, 1)
const KEY = sampleKey().key
const key = (i: number, change: Partial<ApiKey> = {}): ApiKey => ({
  ...KEY,
  id: sampleId('key', i),
  secretSha256: String(i),
  ...change,
})
const credentials = () => new Credentials((credential: ApiKey, agency) => ({ credential, agency }))

test('as many as were ever made are put in one after the other: none looks at all the others', () => {
  const held = credentials()
  // If each looked at the others, this would take minutes.
  for (let i = 0; i < 60_000; i++) held.put({ ...KEY, id: String(i), secretSha256: String(i) }, AGENCY)
  expect(held.byId(AGENCY.id, '12345')?.secretSha256).toBe('12345')
  expect(held.of(AGENCY.id)).toHaveLength(60_000)
})

test('of those that have ended the newest are kept, and every one that is live', () => {
  const held = credentials()
  held.put(key(0), AGENCY)
  for (let i = 1; i <= ENDED_CREDENTIALS_KEPT_MAX + 2; i++)
    held.put(key(i, i % 2 === 0 ? { expiresAt: NOW - i } : { revokedAt: NOW - i }), AGENCY)
  held.forgetEnded(AGENCY.id, NOW)
  expect(held.of(AGENCY.id)).toHaveLength(1 + ENDED_CREDENTIALS_KEPT_MAX)
  const isKnown = (i: number) => [held.byId(AGENCY.id, sampleId('key', i)), held.holderByHash(String(i))].map(Boolean)
  expect([0, 1, ENDED_CREDENTIALS_KEPT_MAX].map(isKnown)).toEqual(Array(3).fill([true, true]))
  expect([1, 2].map((i) => isKnown(ENDED_CREDENTIALS_KEPT_MAX + i))).toEqual(Array(2).fill([false, false]))
})
