/**
 * An installation from before access tokens and ADMIN_PORT, upgraded without a change to its settings: one port, one token, and every
 * call of the portal that its programs make.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { send } from '../support/http-call.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { credentialsFor, type ServiceProcess, startService } from '../support/service-process.ts'

const TOKEN = 'a.token.of.before.0123456789abcdef0123456789abcdef'
const { DATABASE_URL: _, ...CREDENTIALS } = credentialsFor('')

let database: TestDatabase
let service: ServiceProcess
beforeAll(async () => {
  database = await testDatabase()
  service = await startService({
    ...CREDENTIALS,
    DATABASE_URL: database.url,
    PORTAL_TOKEN: TOKEN,
    WEBHOOK_ALLOW_HOSTS: 'localhost:9',
  })
})
afterAll(async () => {
  service.kill('SIGTERM')
  await service.exited
  await database.drop()
})

test('listens on one port, which serves everything', async () => {
  for (const path of [
    '/metrics',
    '/healthz',
    '/readyz',
    '/docs',
    '/partner/v1/openapi.json',
    '/portal/v1/openapi.json',
  ])
    expect([path, (await service.ask(path)).status]).toEqual([path, 200])
  expect(listeningPorts(service.pid)).toEqual([Number(new URL(service.baseUrl).port)])
})

interface Call {
  readonly route: string
  readonly body?: object
  readonly status: number
  /** What later paths need of the answer, by the name of its parameter. */
  // biome-ignore lint/suspicious/noExplicitAny: bodies of every shape
  readonly ids?: (body: any) => Record<string, string>
}

const A = '/portal/v1/agencies/{agencySlug}'
const UNIT = `${A}/units/{unitSlug}`
const BOOKING = `${A}/bookings/{bookingId}`
const ENDPOINT = `${A}/webhook-endpoints/{endpointId}`
const GUEST = { firstName: 'Ana', lastName: 'Reis', email: 'ana@example.com' }

/** Every operation of the previous version without access tokens, in an order in which each can do its work. */
const CALLS: readonly Call[] = [
  {
    route: 'POST /portal/v1/agencies',
    body: { slug: 'harbour', name: 'Harbour', currency: 'EUR', timezone: 'Europe/Lisbon' },
    status: 201,
  },
  { route: 'GET /portal/v1/agencies', status: 200 },
  { route: `GET ${A}`, status: 200 },
  { route: `PATCH ${A}`, body: { name: 'Harbour Stays' }, status: 200 },
  { route: `POST ${A}/keys`, body: { name: 'Website' }, status: 201, ids: ({ key }) => ({ keyId: key.id }) },
  { route: `GET ${A}/keys`, status: 200 },
  { route: `DELETE ${A}/keys/{keyId}`, status: 200 },
  { route: `POST ${A}/units`, body: { slug: 'sea-view', name: 'Sea View', basePrice: 10_000 }, status: 201 },
  { route: `GET ${A}/units`, status: 200 },
  { route: `GET ${UNIT}`, status: 200 },
  { route: `PATCH ${UNIT}`, body: { maxGuests: 3 }, status: 200 },
  { route: `GET ${UNIT}/rates`, status: 200 },
  {
    route: `PUT ${UNIT}/rates`,
    body: { seasons: [], weekdayAdjustments: [{ weekday: 5, pct: 10 }], lengthOfStayDiscounts: [] },
    status: 200,
  },
  {
    route: `POST ${A}/fee-types`,
    body: { label: 'City tax', kind: 'fixed', amount: 800 },
    status: 201,
    ids: ({ feeType }) => ({ feeTypeId: feeType.id }),
  },
  { route: `GET ${A}/fee-types`, status: 200 },
  { route: `PATCH ${A}/fee-types/{feeTypeId}`, body: { active: false }, status: 200 },
  {
    route: `POST ${A}/bookings`,
    body: { unit: 'sea-view', arrival: '2030-05-01', departure: '2030-05-04', guest: GUEST },
    status: 201,
    ids: ({ booking }) => ({ bookingId: booking.id, guestId: booking.guest.id }),
  },
  { route: `GET ${A}/bookings`, status: 200 },
  { route: `GET ${BOOKING}`, status: 200 },
  { route: `PATCH ${BOOKING}`, body: { departure: '2030-05-05' }, status: 200 },
  { route: `POST ${BOOKING}/cancel`, body: { reason: 'Ill' }, status: 200 },
  { route: `GET ${A}/guests`, status: 200 },
  { route: `GET ${A}/guests/{guestId}`, status: 200 },
  { route: `PATCH ${A}/guests/{guestId}`, body: { phone: '+351 1' }, status: 200 },
  { route: `GET ${A}/audit`, status: 200 },
  { route: `GET ${A}/usage`, status: 200 },
  { route: `GET ${UNIT}/calendar?from=2030-05-01&to=2030-06-01`, status: 200 },
  { route: `GET ${UNIT}/calendar-feed`, status: 200 },
  { route: `POST ${UNIT}/calendar-feed`, status: 200 },
  {
    route: `POST ${A}/webhook-endpoints`,
    body: { url: 'http://localhost:9/hooks' },
    status: 201,
    ids: ({ webhookEndpoint }) => ({ endpointId: webhookEndpoint.id }),
  },
  { route: `GET ${A}/webhook-endpoints`, status: 200 },
  { route: `GET ${ENDPOINT}`, status: 200 },
  { route: `PATCH ${ENDPOINT}`, body: { description: 'Ours' }, status: 200 },
  { route: `POST ${ENDPOINT}/rotate-secret`, body: { overlapHours: 0 }, status: 200 },
  { route: `POST ${ENDPOINT}/ping`, status: 200, ids: ({ delivery }) => ({ deliveryId: delivery.id }) },
  { route: `GET ${ENDPOINT}/deliveries`, status: 200 },
  // A ping is not sent again.
  { route: `POST ${A}/deliveries/{deliveryId}/resend`, status: 400 },
  { route: `DELETE ${ENDPOINT}`, status: 200 },
  { route: 'GET /portal/v1/verification', status: 200 },
]

test('takes its token for every operation that there was, on that port, and asks for nothing new', async () => {
  const ids: Record<string, string> = { agencySlug: 'harbour', unitSlug: 'sea-view' }
  for (const { route, body, status, ids: idsOf } of CALLS) {
    const [method = '', template = ''] = route.split(' ')
    const path = template.replaceAll(/\{(\w+)\}/g, (_, name) => String(ids[name]))
    const json = body === undefined ? {} : { json: body }
    const answer = await send(service.baseUrl + path, { method, token: TOKEN, ...json })
    expect([route, answer.status, answer.text]).toEqual([route, status, expect.any(String)])
    Object.assign(ids, idsOf?.(answer.body))
  }
  const { body } = await service.ask(`/portal/v1/agencies/harbour/audit?pageSize=200`, { token: TOKEN })
  const actors = new Set(body.audit.map(({ actor }: { actor: { kind: string } }) => actor.kind))
  expect([...actors]).toEqual(['portal'])
})

/** TCP ports on which a process listens, in ascending order. */
function listeningPorts(pid: number): number[] {
  const LISTEN = '0A'
  const inodes = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      return /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${pid}/fd/${fd}`))?.[1] ?? []
    }),
  )
  return ['tcp', 'tcp6']
    .flatMap((table) => readFileSync(`/proc/${pid}/net/${table}`, 'utf8').trim().split('\n').slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , , state, , , , , , inode = '']) => state === LISTEN && inodes.has(inode))
    .map(([, local = '']) => Number.parseInt(local.split(':')[1] ?? '', 16))
    .toSorted((a, b) => a - b)
}

/** Empty for a file that was open a moment ago and is gone. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}
