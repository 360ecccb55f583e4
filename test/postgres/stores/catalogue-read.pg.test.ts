import { afterEach, beforeEach, expect, test } from 'bun:test'
import type { Ledger } from '../../../src/app/ledger.ts'
import { Catalogue } from '../../../src/core/catalogue/catalogue.ts'
import type { Unit } from '../../../src/core/domain/unit.ts'
import { shardOf } from '../../../src/core/journal/shard.ts'
import { uuidOf } from '../../../src/lib/ids.ts'
import { PostgresCatalogueStore } from '../../../src/postgres/stores/postgres-catalogue-store.ts'
import { eventually } from '../../support/eventually.ts'
import { makeAccessToken, makeKey } from '../../support/fixtures.ts'
import { holding } from '../../support/held-lock.ts'
import { agenciesOfShards } from '../../support/journal-records.ts'
import { addAgency, addUnit, openTestDatabaseLedger } from '../../support/open-ledger.ts'
import { type TestDatabase, testDatabase } from '../../support/postgres.ts'
import { night, sampleId, sampleRules, sampleUnit } from '../../support/samples.ts'

let database: TestDatabase
let ledger: Ledger
let store: PostgresCatalogueStore

beforeEach(async () => {
  database = await testDatabase()
  ledger = await openTestDatabaseLedger(database.url)
  store = new PostgresCatalogueStore(ledger.sql)
})

afterEach(async () => {
  await ledger.close()
  await database.drop()
})

test('what has changed since the first read is read again, and nothing else', async () => {
  const agency = await addAgency(ledger)
  await makeKey(ledger, agency)
  const earlier = await store.read()
  let later = await store.read()
  // Transactions that are open anywhere on the server, such as another test's, hold the moment back.
  await eventually('the first key is older than the moment', async () => {
    later = await store.read()
    return (await store.loadKeys(later.moment)).length === 0
  })
  const { key } = await makeKey(ledger, agency)
  await ledger.sql`update agency set name = 'Renamed'`
  expect(await store.loadAgencies(earlier.moment)).toMatchObject([{ id: agency.id, name: 'Renamed' }])
  expect((await store.loadKeys(later.moment)).map(({ id }) => id)).toEqual([key.id])

  const catalogue = new Catalogue(store)
  await catalogue.load(earlier)
  expect(catalogue.agencyById(agency.id)?.name).toBe('Renamed')
  expect(catalogue.keys.of(agency.id)).toHaveLength(2)
})

test('what a start reads of agencies, keys and access tokens is what this process has in memory, whatever their texts are', async () => {
  const plain = await addAgency(ledger)
  const quoted = { id: sampleId('agc', 'b'), slug: 'quoted', name: 'à “x”, "y" \\ \u{1f3d6}' }
  const agency = await addAgency(ledger, { ...quoted, clock: { now: 5, target: 5 }, sandboxOf: null })
  await makeKey(ledger, agency, { name: quoted.name, expiresAt: Date.UTC(2090, 0, 1) })
  await makeKey(ledger, plain, { name: null })
  await makeAccessToken(ledger, plain, 'desk')
  const { agencies, keys, accessTokens, people } = await store.read()
  const { catalogue } = ledger
  const inMemory = catalogue.agencies().map((each) => ({ sandboxOf: null, ...each }))
  expect(agencies.toSorted((a, b) => (a.slug < b.slug ? -1 : 1))).toEqual(inMemory)
  for (const { id } of [plain, agency]) {
    expect(keys.filter(({ agencyId }) => agencyId === id)).toEqual(catalogue.keys.of(id))
    expect(accessTokens.filter(({ agencyId }) => agencyId === id)).toEqual(catalogue.accessTokens.of(id))
  }
  expect([keys.length, accessTokens.length, people]).toEqual([2, 1, []])
})

test('a node reads the agencies of its shards, with their keys, access tokens and people, and nothing of others', async () => {
  const [own = '', other = ''] = agenciesOfShards(2)
  for (const id of [own, other]) {
    const agency = await addAgency(ledger, { id, slug: id, name: id })
    await makeKey(ledger, agency)
    await makeAccessToken(ledger, agency, 'desk')
    await database.sql`
      insert into person (agency_id, person_id, name, role, created_at, revision)
      values (${uuidOf(id)}, gen_random_uuid(), 'Rui', 'desk', now(), 0)`
  }
  const { agencies, keys, accessTokens, people } = await store.readShards([shardOf(own)])
  expect(agencies.map(({ id }) => id)).toEqual([own])
  expect([keys, accessTokens, people].map((of) => of.map(({ agencyId }) => agencyId))).toEqual([[own], [own], [own]])
})

test('a transaction that was open during the first read, and committed after it, is read again', async () => {
  const agency = await addAgency(ledger)
  const commit = await holding(database.url, "update agency set name = 'Late'")
  const earlier = await store.read()
  // Younger transactions, so that the slow one is not the newest.
  await addAgency(ledger, { id: sampleId('agc', 'b'), slug: 'younger' })
  expect(earlier.agencies.find(({ id }) => id === agency.id)?.name).not.toBe('Late')
  await commit()
  const catalogue = new Catalogue(store)
  await catalogue.load(earlier)
  expect(catalogue.agencyById(agency.id)?.name).toBe('Late')
  expect(catalogue.agencies().map(({ slug }) => slug)).toContain('younger')
})

test('every member of a unit that was changed is read back from its row', async () => {
  const agency = await addAgency(ledger)
  const first = await addUnit(ledger, agency, sampleUnit())
  expect((await store.loadInventory(agency.id)).units).toEqual([first])
  const season = { name: 'Summer', from: night('2027-06-01'), to: night('2027-09-01'), nightlyPrice: 1, minStay: null }
  const changed: Unit = {
    id: first.id,
    slug: 'garden',
    name: 'Garden',
    status: 'draft',
    city: null,
    area: 'Baixa',
    building: 'Rua Augusta 118',
    bedrooms: 1,
    beds: 1,
    bathrooms: 1,
    maxGuests: 3,
    sizeSqm: 31,
    checkinTime: '16:00',
    checkoutTime: '11:00',
    instantBook: false,
    registrationNumber: '61907/AL',
    rules: {
      ...{ basePrice: 1, cleaningFee: 2, extraBedFee: 3, minStay: 4, turnoverNights: 5 },
      rates: { ...sampleRules().rates, seasons: [season] },
      restrictions: {
        rows: [
          { from: night('2027-06-01'), to: null, weekdays: [1, 6], rule: 'closedToArrival', value: true },
          { from: null, to: night('2027-06-01'), weekdays: null, rule: 'maxStay', value: 14 },
        ],
        advanceNoticeHours: 24,
        bookingWindowDays: null,
      },
    },
  }
  await addUnit(ledger, agency, changed)
  const same = Object.entries(changed).filter(([name, value]) => first[name as keyof Unit] === value)
  expect(same.map(([name]) => name)).toEqual(['id'])
  expect((await store.loadInventory(agency.id)).units).toEqual([changed])
})
