import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { idOf, uuidOf } from '../../src/lib/ids.ts'
import { runCliProcess } from '../support/cli-process.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { type ServiceProcess, startServiceOn, TEST_PORTAL_TOKEN, TEST_SECRET_KEY } from '../support/service-process.ts'
import { unlessGone } from '../support/unless-gone.ts'

const NEW_KEY = 'ff'.repeat(32)

let database: TestDatabase
let receiver: Bun.Server<undefined>
/** What came in: the body, and the signatures it came with. */
const received: { body: string; at: string; signatures: string[] }[] = []
let service: ServiceProcess

beforeAll(async () => {
  database = await testDatabase()
  receiver = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => {
      const [at = '', ...signatures] = (request.headers.get('x-service-signature') ?? '').split(', ')
      received.push({
        body: await request.text(),
        at: at.slice(2),
        signatures: signatures.map((text) => text.slice(3)),
      })
      return new Response()
    },
  })
})
afterAll(async () => {
  await receiver.stop(true)
  await database.drop()
})

function start(secretKey: string): Promise<ServiceProcess> {
  return startServiceOn(database.url, { SECRET_KEY: secretKey, WEBHOOK_ALLOW_HOSTS: `127.0.0.1:${receiver.port}` })
}

async function stop(): Promise<void> {
  service.kill('SIGTERM')
  expect(await service.exited).toBe(0)
}

async function cli(...args: string[]) {
  const run = await runCliProcess([...args, '--json'], {
    env: { NIGHTLEDGER_URL: service.baseUrl, PORTAL_TOKEN: TEST_PORTAL_TOKEN },
  })
  if (run.code !== 0) throw new Error(`${args.join(' ')} ended with ${run.code}: ${run.stderr}`)
  return run.json
}

function rotate(env: Record<string, string>) {
  return runCliProcess(['rotate-secret-key', '--json'], { env: { DATABASE_URL: database.url, ...env } })
}

/** What `verify --database` finds. */
async function differences(secretKey: string): Promise<{ what: string }[]> {
  const run = await runCliProcess(['verify', '--database', '--json'], {
    env: { DATABASE_URL: database.url, SECRET_KEY: secretKey },
  })
  return run.json.verification.differences
}

const rows = async () => [
  ...(await database.sql`select endpoint_id, secret_sealed, previous_secret_sealed from webhook_endpoint order by 1`),
]

test('after SECRET_KEY was changed, webhooks are signed with the secrets that the receivers have', async () => {
  service = await start(TEST_SECRET_KEY)
  const agency = ['--slug', 'harbour', '--name', 'Harbour', '--currency', 'EUR', '--timezone', 'Europe/Lisbon']
  await cli('agencies', 'create', ...agency)
  await service.portal('/agencies/harbour/units', { slug: 'early', name: 'Early', basePrice: 1 })
  const made = await cli('webhooks', 'create', '--endpoint-url', `http://127.0.0.1:${receiver.port}/in`)
  const endpoint = made.webhookEndpoint.id
  const changed = await cli('webhooks', 'rotate-secret', endpoint, '--overlap-hours', '24')
  await stop()

  const outcome = await rotate({ SECRET_KEY_OLD: TEST_SECRET_KEY, SECRET_KEY: NEW_KEY })
  expect([outcome.stderr, outcome.json]).toEqual(['', { endpoints: 1, changed: 1 }])
  // Once more is no harm.
  expect((await rotate({ SECRET_KEY_OLD: TEST_SECRET_KEY, SECRET_KEY: NEW_KEY })).json).toEqual({
    endpoints: 1,
    changed: 0,
  })

  service = await start(NEW_KEY)
  await cli('webhooks', 'ping', endpoint)
  const { body, at, signatures } = received.at(-1) ?? { body: '', at: '', signatures: [] }
  const signed = (secret: string) => createHmac('sha256', secret).update(`${at}.${body}`).digest('hex')
  expect(signatures).toEqual([signed(changed.secret), signed(made.secret)])
  // The chain continues with the same key.
  await service.portal('/agencies/harbour/units', { slug: 'later', name: 'Later', basePrice: 1 })
  await stop()
  expect(await differences(NEW_KEY)).toEqual([])
})

test('with a wrong old key nothing is changed, and the endpoints are named', async () => {
  const before = await rows()
  const outcome = await rotate({ SECRET_KEY_OLD: 'aa'.repeat(32), SECRET_KEY: 'bb'.repeat(32) })
  expect(outcome.code).toBe(1)
  expect(outcome.stderr).toContain('Cannot open the secrets of 1 webhook endpoints with either key: whe_')
  expect(await rows()).toEqual(before)
})

test('deleted endpoints do not prevent it, nor does a secret whose overlap has passed', async () => {
  service = await start(NEW_KEY)
  const url = `http://127.0.0.1:${receiver.port}/in`
  const gone = (await cli('webhooks', 'create', '--endpoint-url', url)).webhookEndpoint.id
  await cli('webhooks', 'delete', gone)
  await stop()
  const foreign = 'v1.c2VhbGVkIHdpdGggYSBrZXkgdGhhdCBub2JvZHkgaGFzIGFueSBtb3Jl'
  await database.sql`
    update webhook_endpoint set previous_secret_sealed = ${foreign}, previous_secret_until = now() - interval '1 second'
    where status <> 'deleted'`
  const outcome = await rotate({ SECRET_KEY_OLD: NEW_KEY, SECRET_KEY: TEST_SECRET_KEY })
  expect([outcome.stderr, outcome.json]).toEqual(['', { endpoints: 1, changed: 1 }])
  const [left] = await database.sql`
    select secret_sealed, previous_secret_sealed from webhook_endpoint where endpoint_id = ${uuidOf(gone)}`
  expect(left).toEqual({ secret_sealed: '', previous_secret_sealed: null })
  // Back again, with the check value: the service starts.
  expect((await rotate({ SECRET_KEY_OLD: TEST_SECRET_KEY, SECRET_KEY: NEW_KEY })).code).toBe(0)
  service = await start(NEW_KEY)
  await stop()
})

test('a service that still runs is fenced out, and started again with its old key it is refused', async () => {
  service = await start(NEW_KEY)
  expect((await rotate({ SECRET_KEY_OLD: NEW_KEY, SECRET_KEY: TEST_SECRET_KEY })).code).toBe(0)
  await unlessGone(service.portal('/agencies/harbour/units', { slug: 'late', name: 'Late', basePrice: 1 }))
  expect(await service.exited).toBe(1)
  const refusal = await start(NEW_KEY).catch((error: Error) => error.message)
  expect(refusal).toContain('SECRET_KEY does not match this database')
  expect((await rotate({ SECRET_KEY_OLD: TEST_SECRET_KEY, SECRET_KEY: NEW_KEY })).code).toBe(0)
})

test('keys that are both not the one in use are refused, whatever they open', async () => {
  const before = await rows()
  await database.sql`update secret_key_check set hmac = 'of another key'`
  const outcome = await rotate({ SECRET_KEY_OLD: NEW_KEY, SECRET_KEY: TEST_SECRET_KEY })
  expect([outcome.code, outcome.stderr]).toEqual([
    1,
    expect.stringContaining('the key of this database is neither SECRET_KEY_OLD nor SECRET_KEY'),
  ])
  expect(await rows()).toEqual(before)
})

test('when the old key is lost, the service can continue with a new one, and the endpoints that need a secret are named', async () => {
  const run = await runCliProcess(['rotate-secret-key', '--old-key-lost', '--json'], {
    env: { DATABASE_URL: database.url, SECRET_KEY: 'dd'.repeat(32) },
  })
  const [row] = await database.sql<{ id: string }[]>`
    select endpoint_id as "id" from webhook_endpoint where status <> 'deleted'`
  const endpoint = idOf('whe', row?.id ?? '')
  expect([run.stderr, run.json]).toEqual(['', { endpoints: 1, changed: 0, lost: [endpoint] }])
  service = await start('dd'.repeat(32))
  const made = await cli('webhooks', 'rotate-secret', endpoint, '--overlap-hours', '0')
  await cli('webhooks', 'ping', endpoint)
  const { body, at, signatures } = received.at(-1) ?? { body: '', at: '', signatures: [] }
  expect(signatures).toEqual([createHmac('sha256', made.secret).update(`${at}.${body}`).digest('hex')])
  // The chains begin again: what was written before can no longer be checked, what is written now can.
  await service.portal('/agencies/harbour/units', { slug: 'last', name: 'Last', basePrice: 1 })
  await stop()
  expect(await differences('dd'.repeat(32))).toEqual([])
  // If an entry is in its agency's tree by now, that needs no key.
  const ofTheChain = async () => (await differences('dd'.repeat(32))).filter(({ what }) => what !== 'checkpoint')
  await database.sql`update journal set route = 'x' where payload like '%"slug":"early"%'`
  expect(await ofTheChain()).toEqual([])
  await database.sql`update journal set route = 'x' where payload like '%"slug":"last"%'`
  expect(await ofTheChain()).toMatchObject([{ what: 'chain' }])
})

test('without a key, or with half a one, it says so', async () => {
  const outcome = await rotate({ SECRET_KEY_OLD: TEST_SECRET_KEY, SECRET_KEY: 'beef' })
  expect([outcome.code, outcome.stderr]).toEqual([
    2,
    'Cannot change the key: SECRET_KEY is not set, or is not 32 bytes in hexadecimal or base64.\n',
  ])
})
