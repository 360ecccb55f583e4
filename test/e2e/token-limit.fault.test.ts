/** The budget of an access token, over the real service. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { eventually } from '../support/eventually.ts'
import { send } from '../support/http-call.ts'
import { signIn } from '../support/page-sessions.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { makeAgencyByPortal, type ServiceProcess, startServiceOn } from '../support/service-process.ts'

const LIMIT = 60
const A = '/portal/v1/agencies/harbour'

let database: TestDatabase
let service: ServiceProcess
beforeAll(async () => {
  database = await testDatabase()
  service = await startServiceOn(database.url, { PORTAL_REQUESTS_PER_MINUTE: String(LIMIT) })
  await makeAgencyByPortal(service, { scopes: [] })
})
afterAll(async () => {
  service.kill('SIGTERM')
  await service.exited
  await database.drop()
})

async function makeToken(name: string): Promise<{ id: string; secret: string }> {
  const { body } = await service.portal('/agencies/harbour/access-tokens', { name, role: 'desk' })
  return { id: body.accessToken.id, secret: body.secret }
}

test('a token has so many requests a minute, with its sessions; others and the operator continue', async () => {
  const [busy, calm] = [await makeToken('Busy'), await makeToken('Calm')]
  const { cookie } = await signIn(service.baseUrl, busy.secret)
  const ofSession = () => send(`${service.baseUrl}${A}/units`, { headers: { cookie } })
  const answers = await Promise.all(
    Array.from({ length: LIMIT }, (_, n) =>
      n % 2 === 0 ? ofSession() : service.ask('/portal/v1/me', { token: busy.secret }),
    ),
  )
  // The sign-in was the first.
  expect(answers.map(({ status }) => status).toSorted()).toEqual([...Array(LIMIT - 1).fill(200), 429])
  const refused = await ofSession()
  expect([refused.status, refused.body.code]).toEqual([429, 'RATE_LIMITED'])
  expect(Number(refused.headers.get('retry-after'))).toBeWithin(1, 61)
  expect((await signIn(service.baseUrl, busy.secret)).answer.status).toBe(429)
  expect((await service.ask('/portal/v1/me', { token: calm.secret })).status).toBe(200)
  for (let n = 0; n <= LIMIT; n++) expect((await service.portal('/agencies/harbour/units')).status).toBe(200)

  // However many writes are refused, the trail has one line of them, with their number.
  for (let n = 0; n < 5; n++) await service.ask(`${A}/bookings`, { token: busy.secret, json: { unit: 'nowhere' } })
  await eventually('the line is written', async () => {
    const { audit } = (await service.portal(`/agencies/harbour/audit?token=${busy.id}&outcome=RATE_LIMITED`)).body
    // The sign-in is one of them.
    return audit.reduce((sum: number, { count }: { count: number }) => sum + count, 0) === 6
  })
  const { audit } = (await service.portal(`/agencies/harbour/audit?token=${busy.id}&outcome=RATE_LIMITED`)).body
  expect(audit.length).toBeLessThanOrEqual(2)
})
