/** Wrong tokens are throttled by the client's address; valid ones never. Over the real service, whose sockets have addresses. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { WRONG_TOKENS_PER_MINUTE } from '../../../src/accounts/wrong-token-throttle.ts'
import { eventually } from '../../support/eventually.ts'
import type { HttpAnswer } from '../../support/http-call.ts'
import { type TestDatabase, testDatabase } from '../../support/postgres.ts'
import { Scrape } from '../../support/scrape.ts'
import {
  makeAgencyByPortal,
  type ServiceProcess,
  startServiceOn,
  TEST_PORTAL_TOKEN,
} from '../../support/service-process.ts'

const REFUSALS = 'nightledger_portal_token_refusals_total'
const SECOND_TOKEN = 'the-next-portal-token-0123456789abcdef'
const WRONG = 'a-guess-that-is-long-enough-0123456789'

let database: TestDatabase
let service: ServiceProcess
let accessToken: string
let revoked: string
beforeAll(async () => {
  database = await testDatabase()
  service = await startServiceOn(database.url, {
    PORTAL_TOKEN: `${TEST_PORTAL_TOKEN},${SECOND_TOKEN}`,
    TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/8',
  })
  await makeAgencyByPortal(service, { scopes: [] })
  const tokens = '/agencies/harbour/access-tokens'
  accessToken = (await service.portal(tokens, { name: 'Maria', role: 'viewer' })).body.secret
  const other = (await service.portal(tokens, { name: 'Rui', role: 'viewer' })).body
  revoked = other.secret
  const path = `/portal/v1${tokens}/${other.accessToken.id}`
  expect((await service.ask(path, { method: 'DELETE', token: TEST_PORTAL_TOKEN })).status).toBe(200)
})
afterAll(async () => {
  await end(service)
  await database.drop()
})

/** One that is fenced out while idle would only notice at its next write, and outlive the test. */
async function end(ended: ServiceProcess): Promise<void> {
  ended.kill('SIGTERM')
  await ended.exited
}

/** Asks for an agency's units, through a proxy on this machine that says who asks. */
function ask(client: string, token: string | null, to = service): Promise<HttpAnswer> {
  return to.ask('/portal/v1/agencies/harbour/units', { token, headers: { 'x-forwarded-for': client } })
}

async function statuses(count: number, client: (i: number) => string, token: string | null, to = service) {
  const answers = await Promise.all(Array.from({ length: count }, (_, i) => ask(client(i), token, to)))
  return answers.map(({ status }) => status)
}

const all = (status: number, count: number) => Array.from({ length: count }, () => status)

describe('from one address', () => {
  test('twenty wrong tokens a minute get 401, and further ones 429 with the time to wait', async () => {
    const client = () => '198.51.100.1'
    expect(await statuses(WRONG_TOKENS_PER_MINUTE, client, WRONG)).toEqual(all(401, WRONG_TOKENS_PER_MINUTE))
    const { status, headers, body } = await ask(client(), WRONG)
    expect([status, body.code]).toEqual([429, 'RATE_LIMITED'])
    const waitS = Number(headers.get('retry-after'))
    expect(waitS).toBeWithin(1, 61)
    expect(body.title).toBe(
      `Invalid portal token, after 20 others from your address within a minute: send a valid one, or wait ${waitS} s`,
    )
  })

  test('valid tokens pass all the same, for others may share the address', async () => {
    const client = '198.51.100.2'
    await statuses(WRONG_TOKENS_PER_MINUTE, () => client, WRONG)
    for (const token of [TEST_PORTAL_TOKEN, SECOND_TOKEN, accessToken])
      expect([token, (await ask(client, token)).status]).toEqual([token, 200])
    expect((await ask(client, WRONG)).status).toBe(429)
  })

  test('a revoked token counts as wrong, and a request without a token does not', async () => {
    const client = () => '198.51.100.3'
    expect(await statuses(50, client, null)).toEqual(all(401, 50))
    expect(await statuses(WRONG_TOKENS_PER_MINUTE, client, revoked)).toEqual(all(401, WRONG_TOKENS_PER_MINUTE))
    expect((await ask(client(), WRONG)).status).toBe(429)
    expect((await ask(client(), null)).status).toBe(401)
  })

  test('every address of an IPv6 /64 counts', async () => {
    await statuses(WRONG_TOKENS_PER_MINUTE, (i) => `2001:db8:1:2::${i}`, WRONG)
    expect((await ask('2001:db8:1:2:3:4:5:6', WRONG)).status).toBe(429)
    expect((await ask('2001:db8:1:3::', WRONG)).status).toBe(401)
  })
})

describe('the address is', () => {
  test('what the proxy has appended, not what the client has written', async () => {
    const forged = (i: number) => `203.0.113.${i}, 198.51.100.4`
    await statuses(WRONG_TOKENS_PER_MINUTE, forged, WRONG)
    expect((await ask(forged(99), WRONG)).status).toBe(429)
    // Nobody can be throttled by another who writes his address.
    expect((await ask('203.0.113.1', WRONG)).status).toBe(401)
  })

  test('found behind a row of trusted proxies', async () => {
    await statuses(WRONG_TOKENS_PER_MINUTE, () => '198.51.100.5, 10.0.0.1, 10.0.0.2', WRONG)
    expect((await ask('198.51.100.5', WRONG)).status).toBe(429)
  })

  test('that of the connection when no proxy is trusted', async () => {
    await end(service)
    const own = await startServiceOn(database.url)
    await statuses(WRONG_TOKENS_PER_MINUTE, (i) => `198.51.100.${i}`, WRONG, own)
    expect((await ask('203.0.113.7', WRONG, own)).status).toBe(429)
    await end(own)
    service = await startServiceOn(database.url, { TRUSTED_PROXIES: '127.0.0.1' })
  })
})

test('the metrics count every refusal once, by its kind', async () => {
  const page = async () => new Scrape((await service.ask('/metrics')).text)
  const before = await page()
  const client = () => '198.51.100.6'
  await statuses(WRONG_TOKENS_PER_MINUTE + 3, client, WRONG)
  await statuses(2, client, null)
  await statuses(2, client, TEST_PORTAL_TOKEN)
  const after = await page()
  const grown = (reason: string) => after.value(REFUSALS, { reason }) - before.value(REFUSALS, { reason })
  expect([grown('missing'), grown('wrong'), grown('throttled')]).toEqual([2, WRONG_TOKENS_PER_MINUTE, 3])
})

test('the log names a throttled address once a minute, and never a token', async () => {
  await statuses(WRONG_TOKENS_PER_MINUTE + 5, () => '198.51.100.7', WRONG)
  const lines = () =>
    service
      .log()
      .split('\n')
      .filter((line) => line.includes('198.51.100.7'))
      .map((line) => JSON.parse(line))
  await eventually('it is logged', () => lines().length > 0)
  expect(lines()).toEqual([
    expect.objectContaining({ level: 40, msg: 'wrong tokens throttled', address: '198.51.100.7' }),
  ])
  expect(service.log()).not.toContain(WRONG)
})
