/** A service with ADMIN_PORT: what is the operator's is served there, and nowhere else. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { runCliProcess } from '../support/cli-process.ts'
import { eventually } from '../support/eventually.ts'
import { type HttpCall, send } from '../support/http-call.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import {
  makeAgencyByPortal,
  type ServiceProcess,
  startServiceOn,
  TEST_PAGE_URL,
  TEST_PORTAL_TOKEN,
} from '../support/service-process.ts'

const AGENCY = '/portal/v1/agencies/harbour'

let database: TestDatabase
let service: ServiceProcess
let key: string
let calendar: URL
beforeAll(async () => {
  database = await testDatabase()
  service = await startServiceOn(database.url, { ADMIN_PORT: '0' })
  key = await makeAgencyByPortal(service, { scopes: ['read:units', 'read:availability', 'read:rates'] })
  const { body } = await service.portal('/agencies/harbour/units/sea-view/calendar-feed')
  calendar = new URL(body.calendarFeed.url)
})
afterAll(async () => {
  service.kill('SIGKILL')
  await service.exited
  await database.drop()
})

/** The status on PORT, and on ADMIN_PORT. */
async function statuses(path: string, call: HttpCall = {}): Promise<number[]> {
  const answers = await Promise.all([service.baseUrl, service.adminUrl].map((url) => send(url + path, call)))
  return answers.map(({ status }) => status)
}

describe('on PORT and on ADMIN_PORT', () => {
  const OPERATOR = { token: TEST_PORTAL_TOKEN }

  test.each(['/metrics', '/healthz', '/readyz'])('%s is served only on the latter', async (path) => {
    expect(await statuses(path)).toEqual([404, 200])
    expect(await statuses(path, { method: 'HEAD' })).toEqual([404, 200])
  })

  test.each([
    ['a list of agencies', '/portal/v1/agencies', OPERATOR],
    ['one agency', AGENCY, OPERATOR],
    ['what belongs to an agency', `${AGENCY}/units`, OPERATOR],
    ['a write', `${AGENCY}/fee-types`, { ...OPERATOR, json: {} }],
  ] as const)("the operator's token opens %s only on the latter", async (_, path, call) => {
    const [publicly, privately] = await statuses(path, call)
    expect(publicly).toBe(401)
    expect(privately).toBeOneOf([200, 400])
  })

  test('the token that is refused on PORT gets the answer of a wrong one', async () => {
    const refusals = await Promise.all(
      [TEST_PORTAL_TOKEN, 'x'.repeat(40)].map((token) => service.ask('/portal/v1/agencies', { token })),
    )
    const [real, wrong] = refusals.map(({ status, body }) => ({ status, ...body, requestId: '' }))
    expect(real).toEqual(wrong)
  })

  test.each([
    ["partners' routes", '/partner/v1/units', 200],
    ["partners' document", '/partner/v1/openapi.json', 200],
    ['the reference', '/docs', 200],
    ['the tools', '/mcp', 405],
    ['the page', '/portal/', 200],
  ] as const)('%s are served only on the former', async (_, path, status) => {
    expect(await statuses(path, { token: key })).toEqual([status, 404])
  })

  test("a channel's calendar is read only on the former, and its address begins with PUBLIC_URL wherever it was asked for", async () => {
    expect(calendar.origin).toBe(TEST_PAGE_URL)
    expect(await statuses(calendar.pathname + calendar.search)).toEqual([200, 404])
  })

  test('the document of the portal is served on both', async () => {
    expect(await statuses('/portal/v1/openapi.json')).toEqual([200, 200])
  })
})

test('no script of another origin reads an answer on ADMIN_PORT', async () => {
  for (const path of ['/metrics', '/readyz', '/portal/v1/agencies', AGENCY, '/portal/v1/openapi.json', '/nothing'])
    for (const method of ['GET', 'OPTIONS']) {
      const { headers } = await send(service.adminUrl + path, { method, headers: { origin: 'https://evil.example' } })
      expect([path, [...headers.keys()].filter((name) => name.startsWith('access-control'))]).toEqual([path, []])
    }
})

test('the metrics count requests of both, and open requests of both', async () => {
  const { text } = await send(`${service.adminUrl}/metrics`)
  expect(text).toContain('route="/partner/v1/units"')
  expect(text).toContain('route="/portal/v1/agencies/{agencySlug}"')
  // At least this one.
  expect(Number(/^nightledger_http_requests_open (\d+)$/m.exec(text)?.[1])).toBeGreaterThanOrEqual(1)
})

describe('the command line, with the environment of the service', () => {
  const envOf = () => ({
    PORT: new URL(service.baseUrl).port,
    ADMIN_PORT: new URL(service.adminUrl).port,
    PORTAL_TOKEN: TEST_PORTAL_TOKEN,
    DATA_DIR: '/nowhere',
  })

  test('asks ADMIN_PORT whether the service is ready, as the container does', async () => {
    const { code, stdout } = await runCliProcess(['health'], { env: envOf() })
    expect([code, stdout]).toEqual([0, expect.stringContaining('"status":"ready"')])
  })

  test("uses the operator's token on ADMIN_PORT, and access tokens on PORT", async () => {
    const create = ['access-tokens', 'create', '--name', 'Maria', '--role', 'viewer', '--json']
    const made = await runCliProcess(create, { env: envOf() })
    const { secret } = made.json
    const listed = await runCliProcess(['units', 'list', '--json'], { env: { ...envOf(), PORTAL_TOKEN: secret } })
    expect(listed.json.units).toHaveLength(1)
    expect(await statuses(`${AGENCY}/units`, { token: secret })).toEqual([200, 401])
    expect(await statuses('/portal/v1/me', { token: secret })).toEqual([200, 401])
    expect(await statuses('/portal/v1/agencies', { token: secret })).toEqual([403, 401])
  })

  test('says where both are', async () => {
    const where = async (...options: string[]) =>
      (await runCliProcess(['where', ...options], { env: envOf() })).stdout.trim()
    expect([await where(), await where('--admin')]).toEqual([service.baseUrl, service.adminUrl])
  })
})

test('SIGTERM answers the requests that have arrived on either, and ends with 0', async () => {
  const quote = { unit: 'sea-view', arrival: '2030-05-01', departure: '2030-05-04' }
  const halves = await Promise.all([
    halfSent(service.baseUrl, '/partner/v1/quote', { token: key, json: quote }),
    halfSent(service.adminUrl, `${AGENCY}/fee-types`, {
      token: TEST_PORTAL_TOKEN,
      json: { label: 'Late', kind: 'fixed', amount: 1 },
    }),
  ])
  service.kill('SIGTERM')
  await eventually('it drains', () => service.log().includes('"draining"'))
  // Longer than answers are held back.
  await Bun.sleep(500)
  const [partner, operator] = halves
  const first = await partner.finish()
  // Long enough for the process to end, if it did not wait for the other one.
  await Bun.sleep(500)
  const answers = [first, await operator.finish()]
  expect(answers.map((answer) => answer.split('\r\n')[0])).toEqual(['HTTP/1.1 200 OK', 'HTTP/1.1 201 Created'])
  expect(await service.exited).toBe(0)
})

/** A request of which the last byte is missing; `finish` sends it, and returns everything that is answered. */
async function halfSent(url: string, path: string, { token, json }: { token: string; json: object }) {
  const { port } = new URL(url)
  const body = JSON.stringify(json)
  const socket: Socket = connect(Number(port), '127.0.0.1')
  let received = ''
  socket.on('data', (piece) => {
    received += piece
  })
  const closed = once(socket, 'close')
  await once(socket, 'connect')
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${body.length}\r\n\r\n${body.slice(0, -1)}`,
  )
  return {
    finish: async () => {
      socket.write(body.slice(-1))
      await closed
      return received
    },
  }
}
