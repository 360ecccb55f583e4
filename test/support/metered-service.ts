import { type Receiver, startReceiver } from '../events/webhooks/support/receiver.ts'
import { eventually } from './eventually.ts'
import { type TestDatabase, testDatabase } from './postgres.ts'
import { type Scrape, scrape } from './scrape.ts'
import { makeAgencyByPortal, type ServiceProcess, startServiceOn } from './service-process.ts'

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
  partner(path: string, json?: object, key?: string | null): Promise<number>
  portal: ServiceProcess['portal']
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
  const key = await makeAgencyByPortal(service, {
    slug: AGENCY_SLUG,
    scopes: ['read:units', 'read:availability', 'read:rates', 'read:bookings', 'read:guests', 'write:bookings'],
    plan: { apiAccess: true, ...plan },
    unit: { slug: UNIT_SLUG, name: 'Unmentionable view', maxGuests: 4, minStay: 1 },
  })
  const url = `http://127.0.0.1:${receiver.port}/in`
  const endpoint = await service.portal(`/agencies/${AGENCY_SLUG}/webhook-endpoints`, { url })
  await eventually('the sender says how it is', async () =>
    (await scrape(service.baseUrl)).seriesNames().has('nightledger_webhook_attempts_total'),
  )
  return {
    service,
    receiver,
    database,
    key,
    portal: service.portal,
    webhookSecret: String(endpoint.body['secret']),
    scrape: () => scrape(service.baseUrl),
    partner: async (path, json, token = key) => {
      const call = { token, ...(json === undefined ? {} : { json }) }
      return (await service.ask(`/partner/v1${path}`, call)).status
    },
    close: async () => {
      service.kill('SIGTERM')
      await service.exited
      await receiver.stop()
      await database.drop()
    },
  }
}
