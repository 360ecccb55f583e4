/** Sends the same warm request `WAY_REQUESTS` times. `main.ts` runs it with coverage: as a test, because only tests have that. */
import { expect, test } from 'bun:test'
import { startTestService } from '../support/test-service.ts'

const HOUR_MS = 3_600_000
/** Bookings need other nights, and so another unit, each time. */
const BOOKED_UNITS = 4

export const REQUESTS = [
  'POST /partner/v1/bookings',
  'GET /partner/v1/availability',
  'POST /partner/v1/quote',
  'GET /partner/v1/changes',
  'POST /mcp',
  'PATCH /portal/v1/agencies/{agencySlug}/units/{unitSlug}',
  'GET /portal/v1/agencies/{agencySlug}/units',
] as const

// `main.ts` imports the list alone.
if (process.env['WAY_REQUESTS'] !== undefined) test('requests', sendAll, HOUR_MS)

async function sendAll(): Promise<void> {
  const service = await startTestService()
  const agency = await service.agency()
  const units = await Promise.all(Array.from({ length: BOOKED_UNITS }, () => service.unit(agency)))
  const { secret } = await service.key(agency)
  const slugOf = (i: number) => units[i % BOOKED_UNITS]?.slug ?? ''
  const day = (i: number) => new Date(Date.UTC(2090, 0, 1) + i * 86_400_000).toISOString().slice(0, 10)
  const nightOf = (i: number) => {
    const night = Math.floor(i / BOOKED_UNITS)
    return { arrival: day(night), departure: day(night + 1) }
  }
  const guest = { firstName: 'A', lastName: 'B', email: 'a@example.com' }
  const send: Record<(typeof REQUESTS)[number], (i: number) => Promise<{ status: number; text: string }>> = {
    'POST /partner/v1/bookings': (i) =>
      service.call('/bookings', {
        key: secret,
        headers: { 'idempotency-key': `way-${i}` },
        // One night after the other: the snapshots that the service writes when it is closed are as short as after a few requests.
        json: { unit: slugOf(i), ...nightOf(i), adults: 2, guest },
      }),
    'GET /partner/v1/availability': (i) =>
      service.asPartner(secret, `/availability?unit=${slugOf(i)}&from=2090-01-01&to=2090-02-01`),
    'POST /partner/v1/quote': (i) =>
      service.asPartner(secret, '/quote', { unit: slugOf(i), arrival: day(i), departure: day(i + 1), adults: 2 }),
    'GET /partner/v1/changes': () => service.asPartner(secret, '/changes?after=start&limit=5'),
    'POST /mcp': (i) =>
      service.mcp(secret, {
        jsonrpc: '2.0',
        id: i,
        method: 'tools/call',
        params: {
          name: 'get_availability',
          arguments: { unit: slugOf(i), from: '2090-01-01', to: '2090-02-01' },
        },
      }),
    'PATCH /portal/v1/agencies/{agencySlug}/units/{unitSlug}': (i) =>
      service.patch(`/agencies/${agency.slug}/units/${slugOf(i)}`, { basePrice: 10_000 + i }),
    'GET /portal/v1/agencies/{agencySlug}/units': () => service.get(`/agencies/${agency.slug}/units`),
  }
  const route = REQUESTS.find((each) => each === process.env['WAY_ROUTE'])
  if (route === undefined) throw new Error(`No such request: name one of\n${REQUESTS.join('\n')}`)
  for (let i = 0; i < Number(process.env['WAY_REQUESTS']); i++) {
    const answer = await send[route](i)
    if (answer.status >= 300) expect.unreachable(`${route} is answered with ${answer.status}: ${answer.text}`)
  }
  await service.close()
}
