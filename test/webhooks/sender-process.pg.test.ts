import { afterEach, beforeAll, beforeEach, test } from 'bun:test'
import type { Ledger } from '../../src/build.ts'
import { openWebhooks, type Webhooks } from '../../src/build-webhooks.ts'
import type { Agency } from '../../src/catalogue/agency.ts'
import type { Unit } from '../../src/domain/unit.ts'
import { addAgency, addUnit, CALLER, openTestDatabaseLedger, requestFor } from '../support/open-ledger.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { sampleUnit } from '../support/samples.ts'
import { eventually, type Receiver, startReceiver } from './support/receiver.ts'
import { TestAuthority } from './support/test-authority.ts'

let database: TestDatabase
let ledger: Ledger
let webhooks: Webhooks
let agency: Agency
let unit: Unit
let receiver: Receiver
let authority: TestAuthority

beforeAll(async () => {
  authority = await TestAuthority.create()
})
beforeEach(async () => {
  database = await testDatabase()
  receiver = startReceiver(await authority.issue({ names: ['localhost'] }))
  ledger = await openTestDatabaseLedger(database.url, { onBookingChange: () => webhooks.sender.wake() })
  agency = await addAgency(ledger)
  unit = await addUnit(ledger, agency, sampleUnit())
  webhooks = openWebhooks(ledger, {
    databaseUrl: database.url,
    secretKey: new Uint8Array(32),
    allowHosts: [`localhost:${receiver.port}`],
    logLevel: 'info',
    trustedCa: [authority.pem],
    onSenderExit: () => {},
  })
})
afterEach(async () => {
  await webhooks.sender.stop(1_000)
  await ledger.close()
  await receiver.stop()
  await database.drop()
})

async function register() {
  const outcome = await webhooks.desk.register(agency.id, {
    url: `https://localhost:${receiver.port}/in`,
    description: null,
  })
  if (outcome.kind !== 'registered') throw new Error(outcome.kind)
  return outcome
}

test('a booking arrives', async () => {
  const { endpoint } = await register()
  await eventually('up', () => webhooks.sender.vitals.isUp)
  await Bun.sleep(500)
  const t = performance.now()
  await ledger.desk.book(agency, requestFor(unit, '2027-03-01', '2027-03-04'), CALLER)
  await eventually('a delivery', () => receiver.received.length === 1)
  console.log('ms', performance.now() - t, receiver.received[0]?.headers, receiver.received[0]?.body)
  await eventually(
    'recorded',
    async () =>
      (await webhooks.desk.deliveries(agency.id, endpoint.id, { offset: 0, limit: 10 }))?.rows[0]?.status ===
      'delivered',
  )
  console.log(JSON.stringify(await webhooks.desk.deliveries(agency.id, endpoint.id, { offset: 0, limit: 10 })))
  console.log(await webhooks.desk.ping(agency.id, endpoint.id))
  await Bun.sleep(1100)
  console.log(webhooks.sender.vitals)
})
