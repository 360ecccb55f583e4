import { afterEach, beforeEach, expect, test } from 'bun:test'
import type { Ledger } from '../../../src/app/ledger.ts'
import { Catalogue } from '../../../src/core/catalogue/catalogue.ts'
import { PostgresCatalogueStore } from '../../../src/postgres/stores/postgres-catalogue-store.ts'
import { eventually } from '../../support/eventually.ts'
import { makeKey } from '../../support/fixtures.ts'
import { holding } from '../../support/held-lock.ts'
import { addAgency, openTestDatabaseLedger } from '../../support/open-ledger.ts'
import { type TestDatabase, testDatabase } from '../../support/postgres.ts'
import { sampleId } from '../../support/samples.ts'

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
  expect(catalogue.keysOf(agency.id)).toHaveLength(2)
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
