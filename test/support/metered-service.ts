import { type Receiver, startReceiver } from '../webhooks/support/receiver.ts'
import { eventually } from './eventually.ts'
import { type TestDatabase, testDatabase } from './postgres.ts'
import { type Scrape, scrape } from './scrape.ts'
import { type ServiceProcess, startServiceOn, TEST_PORTAL_TOKEN } from './service-process.ts'

/** What must never be seen outside an answer to whom it belongs. */
export const GUEST = { firstName: 'Wilhelmina', lastName: 'Quartermaine', email: 'wilhelmina@quartermaine.example' }
export const AGENCY_SLUG = 'harbour-of-secrets'
export const UNIT_SLUG = 'unmentionable-view'

/** The real service in a process of its own, with one agency, one unit, one key and one webhook receiver. */
export interface MeteredService {
  readonly service: ServiceProcess
  /** As a partner sends it. */
  readonly key: string
  readonly webhookSecret: string
  readonly receiver: Receiver
  readonly database: TestDatabase
  scrape(): Promise<Scrape>
  /** A partner's request; `path` begins after `/partner/v1`. A body makes it a POST. @returns its status */
  partner(path: string, json?: unknown, key?: string | null): Promise<number>
  portal(path: string, json?: unknown): Promise<{ readonly status: number; readonly body: Record<string, unknown> }>
  close(): Promise<void>
}

/** @param plan of the agency */
export async function startMeteredService(
  plan: { requestsPerMinute: number; requestsPerMonth: number },
  env: Record<string, string> = {},
): Promise<MeteredService> {
  const database = await testDatabase()
  const receiver = startReceiver(null)
  const hosts = { WEBHOOK_ALLOW_HOSTS: `127.0.0.1:${receiver.port}` }
  const service = await startServiceOn(database.url, { ...hosts, ...env })
  const ask = async (path: string, token: string | null, json?: unknown) => {
    const response = await fetch(service.baseUrl + path, {
      method: json === undefined ? 'GET' : 'POST',
      headers: {
        'content-type': 'application/json',
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    })
    return { status: response.status, text: await response.text() }
  }
  const portal = async (path: string, json?: unknown) => {
    const { status, text } = await ask(`/portal/v1${path}`, TEST_PORTAL_TOKEN, json)
    return { status, body: JSON.parse(text) }
  }
  const agency = { slug: AGENCY_SLUG, name: 'Harbour', currency: 'EUR', timezone: 'Europe/Lisbon' }
  await portal('/agencies', { ...agency, plan: { apiAccess: true, ...plan } })
  await portal(`/agencies/${AGENCY_SLUG}/units`, {
    ...{ slug: UNIT_SLUG, name: 'Unmentionable view', maxGuests: 4, minStay: 1, basePrice: 10_000 },
  })
  const url = `http://127.0.0.1:${receiver.port}/in`
  const endpoint = await portal(`/agencies/${AGENCY_SLUG}/webhook-endpoints`, { url })
  const scopes = ['read:units', 'read:availability', 'read:rates', 'read:bookings', 'read:guests', 'write:bookings']
  const key = await portal(`/agencies/${AGENCY_SLUG}/keys`, { scopes })
  const secret = key.body['secret']
  if (typeof secret !== 'string') throw new Error(`No key to test with: ${JSON.stringify(key.body)}`)
  await eventually('the sender says how it is', async () =>
    (await scrape(service.baseUrl)).seriesNames().has('nightledger_webhook_attempts_total'),
  )
  return {
    ...{ service, receiver, database, portal, key: secret, webhookSecret: String(endpoint.body['secret']) },
    scrape: () => scrape(service.baseUrl),
    partner: async (path, json, given = secret) => (await ask(`/partner/v1${path}`, given, json)).status,
    close: async () => {
      service.kill('SIGTERM')
      await service.exited
      await receiver.stop()
      await database.drop()
    },
  }
}
