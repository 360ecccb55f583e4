/** When a key was last used: in the agency's list of keys, to the minute. */
import { expect, test } from 'bun:test'
import { Catalogue } from '../../../src/core/catalogue/catalogue.ts'
import { MINUTE_MS } from '../../../src/lib/clock.ts'
import { PostgresCatalogueStore } from '../../../src/postgres/stores/postgres-catalogue-store.ts'
import { sharedTestService } from '../../support/test-service.ts'

const A = '/agencies/harbour'

const service = await sharedTestService()
await service.ask('/agencies', {
  slug: 'harbour',
  name: 'Harbour Stays',
  currency: 'EUR',
  timezone: 'Europe/Lisbon',
  plan: { apiAccess: true, requestsPerMinute: 60, requestsPerMonth: 3 },
})
const used = await newKey()
const idle = await newKey()

async function newKey() {
  const { key, secret } = (await service.ask(`${A}/keys`, {})).body
  expect(key.lastUsedAt).toBeNull()
  return { id: key.id, secret }
}

async function shown() {
  const { keys } = (await service.get(`${A}/keys`)).body
  return keys.map(({ lastUsedAt }: { lastUsedAt: string | null }) => lastUsedAt)
}

const stored = async () => {
  await service.ledger.usage.flush()
  const catalogue = new Catalogue(new PostgresCatalogueStore(service.ledger.sql))
  await catalogue.load()
  const agency = catalogue.agencyBySlug('harbour')
  return catalogue.keys.of(agency?.id ?? '').map(({ lastUsedAt }) => lastUsedAt)
}

test('is the minute of its last request, and another key has its own', async () => {
  const before = Date.now()
  expect((await service.asPartner(used.secret, '/units')).status).toBe(200)
  const [at, other] = await shown()
  expect(other).toBeNull()
  expect(Date.parse(at) % MINUTE_MS).toBe(0)
  expect(Date.parse(at)).toBeGreaterThan(before - MINUTE_MS)
  expect(Date.parse(at)).toBeLessThanOrEqual(Date.now())
})

test('is stored with the counts, and an earlier minute that is written late does not replace it', async () => {
  const [at] = await shown()
  expect(await stored()).toEqual([Date.parse(at), null])
  const { agency, key } = holder(used.secret)
  key.lastUsedAt = null
  service.ledger.usage.take(agency.id, 9, null, key)
  await service.database.sql`update api_key set last_used_at = '2100-01-01' where last_used_at is not null`
  expect(await stored()).toEqual([Date.UTC(2100, 0, 1), null])
})

test('stays as it is when the key is revoked or its request is refused', async () => {
  const [at] = await shown()
  const revoked = await service.delete(`${A}/keys/${used.id}`)
  expect(revoked.body.key).toMatchObject({ id: used.id, lastUsedAt: at })
  expect((await service.asPartner(used.secret, '/units')).status).toBe(401)
  await service.asPartner(idle.secret, '/units')
  expect((await service.asPartner(idle.secret, '/units')).status).toBe(429)
  expect((await shown())[0]).toBe(at)
})

function holder(secret: string) {
  const found = service.ledger.access.admit(`Bearer ${secret}`)?.holder
  if (found === undefined) throw new Error('Cannot test a key: it is not valid')
  return found
}
