/** What is large counts as several requests of its token and agency (src/accounts/token-rate-limit.ts). */
import { expect, test } from 'bun:test'
import { AGENCY_BUDGET_FACTOR, BODY_BYTES_PER_REQUEST } from '../../../src/accounts/token-rate-limit.ts'
import { sharedTestService } from '../../support/test-service.ts'

const LIMIT = 12
const service = await sharedTestService({ requestsPerMinute: LIMIT })

/** How many of these requests pass before the first 429. */
async function passed(ask: () => Promise<{ status: number }>): Promise<number> {
  for (let n = 0; n <= LIMIT; n++) if ((await ask()).status === 429) return n
  return LIMIT + 1
}

test('a large answer and a large body use up the budget sooner', async () => {
  const agency = await service.agency()
  const a = `/agencies/${agency.slug}`
  await service.unit(agency)
  const small = await service.accessToken(agency, 'viewer')
  expect(await passed(() => service.ask(`${a}/units`, undefined, { token: small.secret }))).toBe(LIMIT)
  for (let n = 0; n < 100; n++) await service.unit(agency, { slug: `unit-${n}`, name: 'x'.repeat(100) })
  const reader = await service.accessToken(agency, 'viewer')
  const many = () => service.ask(`${a}/units?pageSize=200`, undefined, { token: reader.secret })
  const chars = JSON.stringify((await service.get(`${a}/units?pageSize=200`)).body).length
  expect(chars).toBeGreaterThan(32_768)
  expect(await passed(many)).toBeLessThanOrEqual(LIMIT / 2)
  const writer = await service.accessToken(agency, 'viewer')
  const body = { notes: 'x'.repeat(BODY_BYTES_PER_REQUEST) }
  expect(await passed(() => service.ask(`${a}/bookings`, body, { token: writer.secret }))).toBeLessThanOrEqual(
    LIMIT / 2,
  )
})

test('a preview of many long stays uses up the budget sooner, one of a few does not', async () => {
  const agency = await service.agency()
  await service.unit(agency, { slug: 'sea-view' })
  const preview = async (to: string, nights: number) => {
    const { secret } = await service.accessToken(agency, 'viewer')
    const json = { restrictions: { advanceNoticeHours: 1 }, from: '2027-03-01', to, nights }
    const path = `/agencies/${agency.slug}/units/sea-view/restrictions/preview`
    return passed(() => service.ask(path, json, { token: secret }))
  }
  expect(await preview('2028-03-01', 366)).toBeLessThanOrEqual(LIMIT / 2)
  expect(await preview('2027-06-01', 7)).toBe(LIMIT)
})

test('the tokens of an agency share a budget; those of another agency and the operator continue', async () => {
  const [agency, other] = [await service.agency(), await service.agency()]
  const ask = (secret: string) => service.ask('/me', undefined, { token: secret })
  for (let n = 0; n < AGENCY_BUDGET_FACTOR; n++) {
    const { secret } = await service.accessToken(agency, 'viewer')
    expect(await passed(() => ask(secret))).toBe(LIMIT)
  }
  const one = await service.accessToken(agency, 'viewer')
  const refused = await ask(one.secret)
  expect([refused.status, refused.body.code]).toEqual([429, 'RATE_LIMITED'])
  expect(refused.body.title).toContain('of an agency exceeded')
  expect(Number(refused.headers.get('retry-after'))).toBeWithin(1, 61)
  expect((await ask((await service.accessToken(other, 'viewer')).secret)).status).toBe(200)
  expect((await service.get(`/agencies/${agency.slug}`)).status).toBe(200)
})
