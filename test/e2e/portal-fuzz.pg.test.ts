import { expect, test } from 'bun:test'
import { ROLES } from '../../src/core/catalogue/agency.ts'
import { SeededRandom } from '../../src/lib/seeded-random.ts'
import { Conformity, isOfBusyMachine } from '../support/conformity.ts'
import { send } from '../support/http-call.ts'
import { rounds } from '../support/long-run.ts'
import { RequestGenerator } from '../support/request-generator.ts'
import { sampleId, sampleRules } from '../support/samples.ts'
import { TEST_PORTAL_TOKEN } from '../support/service-process.ts'
import { sharedTestService } from '../support/test-service.ts'

const REQUESTS = rounds({ push: 4_000, long: 12_000 })
const AT_ONCE = 32
const seed = Number(process.env['FUZZ_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

const tokens: string[] = []
const known: Record<string, string[]> = {
  unitSlug: ['sea-view', 'garden'],
  unit: ['sea-view', 'garden'],
  bookingId: [sampleId('bkg', 'none'), 'bkg_none'],
  guestId: [sampleId('gst', 'none')],
  // Mostly of another version: few requests get as far as that.
  'If-Match': ['"1"', ...Array(10).fill('"9"')],
}

const service = await sharedTestService()
const [agency, other] = [await service.agency(), await service.agency()]
known['agencySlug'] = [...Array(8).fill(agency.slug), other.slug, 'nobody']
for (const slug of ['sea-view', 'garden'])
  await service.unit(agency, { slug, rules: sampleRules({ turnoverNights: slug === 'garden' ? 2 : 0 }) })
known['feeTypeId'] = [(await service.feeType(agency)).id]
const endpoints = `/agencies/${agency.slug}/webhook-endpoints`
known['endpointId'] = [(await service.ask(endpoints, { url: 'https://localhost:9/' })).body.webhookEndpoint.id]
for (const role of ROLES) tokens.push((await service.accessToken(agency, role)).secret)
tokens.push((await service.accessToken(other, 'owner')).secret, TEST_PORTAL_TOKEN, TEST_PORTAL_TOKEN)
tokens.push((await service.accessToken(agency, 'owner', { revokedAt: Date.UTC(2026, 0, 2) })).secret)
known['asOf'] = [new Date().toISOString(), '2020-01-01T00:00:00+02:00', '2098-01-01T00:00Z']
const document = (await service.ask('/openapi.json')).body

/** Closes the agency to everyone, or takes long; and while a calendar address is being changed, to read it is a 500 by design. */
const isSkipped = (method: string, path: string) =>
  (method === 'PATCH' && /^\/portal\/v1\/agencies\/[^/]*$/.test(path)) ||
  (method === 'POST' && path.includes('/calendar-feed')) ||
  path.startsWith('/portal/v1/verification')

test(`${REQUESTS} requests of all roles drawn from the portal's document get only answers that it allows, and never a 5xx (FUZZ_SEED=${seed})`, async () => {
  const random = new SeededRandom(seed)
  const lists = Object.fromEntries(Object.entries(known).map(([name, values]) => [name, () => values]))
  const generator = new RequestGenerator(document, random, lists)
  const conformity = new Conformity(document)
  const faults: string[] = []
  const statuses = new Map<number, number>()
  const learn = (name: string, id: string | undefined) => {
    if (id !== undefined && (known[name]?.length ?? 0) < 300) known[name]?.push(id)
  }

  const sendOne = async () => {
    const { method, path, headers, body } = generator.next()
    const token = random.pick(tokens)
    if (isSkipped(method, path)) return
    const sent = { method, headers, token, ...(body === null ? {} : { raw: body }) }
    const { status, text, ...response } = await send(service.url + path, sent)
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    // A 304 has no body.
    const answer = text === '' ? null : JSON.parse(text)
    learn('bookingId', answer?.booking?.id)
    learn('guestId', answer?.booking?.guest?.id)
    const found = conformity.faultsIn({ method, path, status, headers: response.headers, body: answer })
    if ((status >= 500 && !isOfBusyMachine(text)) || found.length > 0)
      faults.push(`${method} ${path} ${body} → ${status} ${text.slice(0, 300)} ${found.join('; ')}`)
  }
  let left = REQUESTS
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (left-- > 0) await sendOne()
    }),
  )

  console.log(Object.fromEntries([...statuses].sort(([a], [b]) => a - b)))
  expect(faults.slice(0, 5)).toEqual([])
  expect([service.logged, service.bugs]).toEqual([[], []])
  // Those of which there are at least a dozen: a seed has few 422, or none.
  const often = [200, 201, 400, 401, 403, 404]
  for (const status of rounds({ push: often, long: [...often, 409, 412] }))
    expect(`${status}: ${(statuses.get(status) ?? 0) > 0}`).toBe(`${status}: true`)
}, 300_000)

test('after all that, everything derived agrees with the journal', async () => {
  expect((await service.ask('/verification')).body.verification.differences).toEqual([])
})
