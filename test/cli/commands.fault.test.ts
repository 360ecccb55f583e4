import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { programFile } from '../support/bundled-program.ts'
import { runCliProcess } from '../support/cli-process.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { type ServiceProcess, startServiceOn, TEST_PAGE_URL, TEST_PORTAL_TOKEN } from '../support/service-process.ts'

let database: TestDatabase
let service: ServiceProcess

beforeAll(async () => {
  database = await testDatabase()
  service = await startServiceOn(database.url, { WEBHOOK_ALLOW_HOSTS: 'localhost:9' })
})
afterAll(async () => {
  service.kill('SIGTERM')
  await service.exited
  await database.drop()
})

function cli(args: string[], more: { env?: Record<string, string>; input?: string } = {}) {
  const env = { NIGHTLEDGER_URL: service.baseUrl, PORTAL_TOKEN: TEST_PORTAL_TOKEN, ...more.env }
  return runCliProcess(args, { ...more, env })
}

async function json(...args: string[]) {
  const run = await cli([...args, '--json'])
  if (run.code !== 0) throw new Error(`${args.join(' ')} ended with ${run.code}: ${run.stderr}`)
  return run.json
}

describe('the command line', () => {
  test('takes an agency through its life, in tables and as JSON', async () => {
    const create = ['agencies', 'create', '--slug', 'harbour', '--name', 'Harbour Stays', '--currency', 'EUR']
    const made = await cli([...create, '--timezone', 'Europe/Lisbon', '--requests-per-minute', '120'])
    expect([made.code, made.stderr]).toEqual([0, ''])
    expect(made.stdout).toMatch(/^slug +harbour$/m)
    expect(made.stdout).toMatch(/^plan\.requestsPerMinute +120$/m)

    // The only agency needs no name.
    const unit = await json(
      'units',
      'create',
      '--slug',
      'sea-view',
      '--name',
      'Sea View',
      '--base-price',
      '12000',
      '--city',
      '',
    )
    expect(unit.unit).toMatchObject({ slug: 'sea-view', basePrice: 12_000, city: null })
    await json('units', 'update', 'sea-view', '--turnover-nights', '1', '--instant-book', 'no')
    const listed = await cli(['units', 'list'])
    expect(listed.stdout.split('\n').slice(0, 2)).toEqual([
      'SLUG      NAME      STATUS  CITY  GUESTS  PRICE  MIN STAY  TURNOVER',
      'sea-view  Sea View  active  -          2  12000         1         1',
    ])

    const rates = await json(
      'rates',
      'set',
      'sea-view',
      '--season',
      'Summer: high:2027-06-01:2027-09-01:18000:3',
      '--weekday',
      '5:12.5',
      '--discount',
      '7:10',
    )
    expect(rates.rates).toEqual({
      seasons: [{ name: 'Summer: high', from: '2027-06-01', to: '2027-09-01', nightlyPrice: 18_000, minStay: 3 }],
      weekdayAdjustments: [{ weekday: 5, pct: 12.5 }],
      lengthOfStayDiscounts: [{ minNights: 7, pct: 10 }],
    })
    expect((await cli(['rates', 'show', 'sea-view'])).stdout).toMatch(/Friday +12\.5/)
    const fee = await json('fee-types', 'create', '--label', 'City tax', '--kind', 'fixed', '--amount', '800')
    expect((await json('fee-types', 'update', fee.feeType.id, '--active', 'no')).feeType.active).toBe(false)
    expect((await cli(['fee-types', 'list'])).stdout).toMatch(/City tax +fixed +800 +- +every_stay +no/)

    const stay = ['--unit', 'sea-view', '--arrival', '2027-03-01', '--departure', '2027-03-04']
    const guest = ['--guest-first-name', 'Ana', '--guest-last-name', 'Reis', '--guest-email', 'ana@example.com']
    const { booking } = await json('bookings', 'create', ...stay, ...guest, '--notes', 'late')
    expect(booking).toMatchObject({ status: 'confirmed', notes: 'late', guest: { firstName: 'Ana' } })
    expect((await json('bookings', 'update', booking.id, '--status', 'checked_in')).booking.status).toBe('checked_in')
    expect((await cli(['bookings', 'list', '--unit', 'sea-view'])).stdout).toMatch(/checked_in +portal +Ana Reis/)
    expect((await cli(['bookings', 'show', booking.id])).stdout).toMatch(/^guest\.email +ana@example\.com$/m)
    expect((await json('guests', 'update', booking.guest.id, '--phone', '+351 1')).guest.phone).toBe('+351 1')
    expect((await cli(['guests', 'show', booking.guest.id])).stdout).toContain(booking.id)
    expect((await json('guests', 'list', '--search', 'rei')).totalItems).toBe(1)

    const calendar = await cli(['calendar', 'sea-view', '--month', '2027-03'])
    expect(calendar.stdout).toContain('March 2027\n Mo  Tu  We  Th  Fr  Sa  Su\n  1#  2#  3#  4~  5   6   7\n')
    expect((await json('bookings', 'cancel', booking.id, '--reason', 'Ill')).booking.cancelReason).toBe('Ill')

    const { key, secret } = await json('keys', 'create', '--name', 'Website', '--scopes', 'read:units, write:bookings')
    expect(key.scopes).toEqual(['read:units', 'write:bookings'])
    const asPartner = () =>
      fetch(`${service.baseUrl}/partner/v1/me`, { headers: { authorization: `Bearer ${secret}` } })
    expect((await asPartner()).status).toBe(200)
    expect((await json('usage')).usage[0].used).toBe(1)
    expect((await cli(['keys', 'revoke', key.id])).code).toBe(0)
    expect((await asPartner()).status).toBe(401)

    const audit = await cli(['audit', 'list', '--page-size', '2'])
    expect(audit.stdout).toContain('DELETE /portal/v1/agencies/{agencySlug}/keys/{keyId}')
    expect(audit.stderr).toMatch(/^Page 1 of \d+, \d+ in total/)
  })

  test('shows a secret once, and says so where a pipe does not see it', async () => {
    const run = await cli(['keys', 'create', '--agency', 'harbour'])
    expect(run.stdout).toMatch(/^secret {2}hr_live_/m)
    expect(run.stderr).toContain('not shown again')
  })

  test('looks after webhook endpoints', async () => {
    const { webhookEndpoint, secret } = await json('webhooks', 'create', '--endpoint-url', 'http://localhost:9/hooks')
    expect(secret).toStartWith('whsec_')
    const { id } = webhookEndpoint
    expect((await cli(['webhooks', 'list'])).stdout).toContain(id)
    expect((await json('webhooks', 'update', id, '--description', 'Mine')).webhookEndpoint.description).toBe('Mine')
    expect((await json('webhooks', 'ping', id)).delivery.status).toBe('dead')
    expect((await cli(['webhooks', 'deliveries', id])).stdout).toMatch(/ping +dead +1/)
    expect((await json('webhooks', 'rotate-secret', id, '--overlap-hours', '0')).secret).not.toBe(secret)
    expect((await json('webhooks', 'enable', id, '--pending', 'drop')).webhookEndpoint.status).toBe('active')
    expect((await json('webhooks', 'delete', id)).webhookEndpoint.id).toBe(id)
    expect((await cli(['webhooks', 'show', id])).code).toBe(3)
  })

  test('takes a body as it is, from a file or standard input; options override it', async () => {
    const body = JSON.stringify({ slug: 'piped', name: 'Piped', basePrice: 5 })
    const run = await cli(['units', 'create', '--data', '@-', '--name', 'Told', '--json'], { input: body })
    expect(run.json.unit).toMatchObject({ slug: 'piped', name: 'Told', basePrice: 5 })
    expect((await cli(['units', 'create', '--data', '[1]'])).code).toBe(2)
    expect((await cli(['units', 'create', '--data', '@/nowhere.json'])).code).toBe(1)
  })

  test('knows the secret calendar address and changes it', async () => {
    const first = await cli(['units', 'calendar-url', 'sea-view'])
    const { origin, pathname, search } = new URL(first.stdout.trim())
    expect(origin).toBe(TEST_PAGE_URL)
    const feed = await service.ask(pathname + search)
    expect(feed.headers.get('content-type')).toContain('text/calendar')
    const second = await cli(['units', 'calendar-url', 'sea-view', '--change'])
    expect(second.stdout).not.toBe(first.stdout)
    expect((await service.ask(pathname + search)).status).toBe(404)
  })

  test('invites people, changes their role and removes them', async () => {
    const add = await cli(['people', 'add', '--name', 'Rui', '--role', 'desk', '--email', 'rui@example.com'])
    expect([add.code, add.stderr]).toEqual([0, expect.stringContaining('it is not shown again')])
    const [, id = '', link = ''] = /^id +(per_\S+)$.*^link {2}(\S+)$/ms.exec(add.stdout) ?? []
    expect(link).toMatch(/\/portal\/#\/join\/hl_[\w-]{72}$/)
    const again = await json('people', 'invite', id)
    expect(again.invitation.link).not.toBe(link)
    expect((await json('people', 'update', id, '--role', 'manager')).person.role).toBe('manager')
    expect((await cli(['people', 'list'])).stdout).toMatch(new RegExp(`^${id} +Rui +rui@example.com +manager +0 `, 'm'))
    expect((await json('people', 'remove', id)).person.id).toBe(id)
    expect((await json('people', 'list')).people).toEqual([])
  })

  test('gives programs of the agency access tokens, and takes either kind of token', async () => {
    const create = ['access-tokens', 'create', '--name', 'Maria', '--role', 'desk', '--expires-at', '2099-01-01']
    const run = await cli(create)
    expect([run.code, run.stderr]).toEqual([0, 'Store the secret now: it is not shown again.\n'])
    const [, id = '', secret = ''] = /^id +(tok_\S+)$.*^secret {2}(hp_live_\S+)$/ms.exec(run.stdout) ?? []
    expect((await cli(['access-tokens', 'list'])).stdout).toMatch(new RegExp(`^${id} +Maria +desk +hp_live_`, 'm'))

    // With an access token, the agency needs no name, however many there are.
    const asMaria = (args: string[]) => cli([...args, '--json'], { env: { PORTAL_TOKEN: secret } })
    expect((await asMaria(['units', 'list'])).json.units).toHaveLength(2)
    expect((await cli(['units', 'list', '--json', '--token', secret])).json.units).toHaveLength(2)
    const stay = ['--unit', 'sea-view', '--arrival', '2027-09-01', '--departure', '2027-09-04']
    expect((await asMaria(['bookings', 'create', ...stay])).code).toBe(0)
    const audit = await cli(['audit', 'list', '--access-token', id])
    expect(audit.stdout).toMatch(
      new RegExp(`access_token ${id} Maria +POST /portal/v1/agencies/\\{agencySlug\\}/bookings +OK`),
    )

    const refused = await cli(['keys', 'create', '--token', secret])
    expect(refused.code).toBe(3)
    expect(refused.stderr).toContain('needed: an access token with the role owner\n')
    const forManagers = await cli([
      'fee-types',
      'create',
      '--label',
      'Towels',
      '--kind',
      'fixed',
      '--amount',
      '1',
      '--token',
      secret,
    ])
    expect(forManagers.stderr).toContain('needed: an access token with the role manager or a higher one\n')
    expect(refused.stderr).toContain('(403 ROLE_MISSING, request req_')
    const operators = await cli(['agencies', 'list', '--token', secret])
    expect([operators.code, operators.stderr.includes("needed: the operator's token")]).toEqual([3, true])

    expect((await json('access-tokens', 'revoke', id)).accessToken.revokedAt).toBeString()
    expect((await asMaria(['units', 'list'])).code).toBe(3)
  })

  test('makes a demo agency through the portal', async () => {
    const demo = await json('demo', '--slug', 'playground')
    expect(Object.keys(demo.accessTokens)).toEqual(['viewer', 'desk', 'manager', 'owner'])
    for (const token of Object.values<string>(demo.accessTokens))
      expect((await cli(['units', 'list', '--token', token])).code).toBe(0)
    expect(demo).toMatchObject({ agency: 'playground', units: 12, keys: 5, webhookEndpoints: 1 })
    const keys = (await json('keys', 'list', '--agency', 'playground')).keys as {
      name: string
      revokedAt: string | null
    }[]
    expect(keys.map(({ name, revokedAt }) => [name, revokedAt === null])).toEqual([
      ['Old website', false],
      ['Website', true],
      ['Channel manager', true],
      ['Price comparison', true],
      ['Demo key', true],
    ])
    const { webhookEndpoints } = await json('webhooks', 'list', '--agency', 'playground')
    expect(webhookEndpoints).toMatchObject([{ description: 'Website before its move' }])
    expect(demo.bookings).toBeGreaterThan(100)
    expect((await json('units', 'list', '--agency', 'playground')).totalItems).toBe(12)
    const several = await cli(['units', 'list'])
    expect(several.code).toBe(2)
    expect(several.stderr).toContain('harbour, playground')
    expect((await cli(['units', 'list'], { env: { NIGHTLEDGER_AGENCY: 'harbour' } })).code).toBe(0)
    expect((await cli(['demo', '--slug', 'playground'])).code).toBe(3)
  })
})

describe('the exit code', () => {
  test('0: help, with examples, on the standard output', async () => {
    for (const args of [['--help'], ['bookings', 'create', '--help'], ['import', '--help']]) {
      const run = await cli(args)
      expect(run.code).toBe(0)
      expect(run.stdout).toContain('Examples:')
      expect(run.stderr).toBe('')
    }
  })

  test.each([
    ['an unknown noun', ['bookins'], /Did you mean bookings/],
    ['an unknown verb', ['units', 'crate'], /Did you mean create/],
    ['an unknown option', ['units', 'list', '--sulg', 'x'], /unknown option/],
    ['a missing argument', ['units', 'show'], /missing required argument/],
    ['a noun alone', ['units'], /Usage: nightledger units/],
    ['a number that is none', ['units', 'update', 'x', '--base-price', 'much'], /--base-price: "much" is not a number/],
    ['a season of another form', ['rates', 'set', 'x', '--season', 'Summer'], /--season/],
    ['a month that is none', ['calendar', 'x', '--month', '2027-13', '--agency', 'harbour'], /not a month/],
  ])('2: %s', async (_, args, message) => {
    const run = await cli(args)
    expect([run.code, run.stdout]).toEqual([2, ''])
    expect(run.stderr).toMatch(message)
  })

  test('3: what the service refuses, with every field, the possible moves, and the request id', async () => {
    const create = ['units', 'create', '--agency', 'harbour', '--slug', 'X', '--base-price', '-1']
    const run = await cli(create)
    expect(run.code).toBe(3)
    expect(run.stderr).toMatch(/^Refused: name is required/)
    expect(run.stderr).toContain('basePrice must be')
    expect(run.stderr).toMatch(/\(400 VALIDATION, request req_\w+\)/)
    const asJson = await cli([...create, '--json'])
    expect(JSON.parse(asJson.stderr)).toMatchObject({ status: 400, code: 'VALIDATION' })
    expect(asJson.stdout).toBe('')

    const stay = ['--unit', 'sea-view', '--arrival', '2027-04-01', '--departure', '2027-04-04', '--agency', 'harbour']
    const { booking } = await json('bookings', 'create', ...stay)
    const moved = await cli(['bookings', 'update', booking.id, '--status', 'draft', '--agency', 'harbour'])
    expect(moved.code).toBe(3)
    expect(moved.stderr).toContain('allowed: checked_in, cancelled')
    expect((await cli(['bookings', 'create', ...stay])).code).toBe(3)
    expect((await cli(['agencies', 'show', '--agency', 'nobody'])).code).toBe(3)
    const stranger = await cli(['agencies', 'list', '--token', 'not-the-token'])
    expect([stranger.code, stranger.stderr.includes('PORTAL_TOKEN')]).toEqual([3, true])
  })

  test('4: nothing answers', async () => {
    const run = await cli(['agencies', 'list', '--url', 'http://127.0.0.1:9'])
    expect(run.code).toBe(4)
    expect(run.stderr).toContain('Cannot reach the service at http://127.0.0.1:9')
  })

  test('1: the server that answers is not nightledger', async () => {
    const stranger = Bun.serve({ port: 0, fetch: () => new Response('<html>') })
    const run = await cli(['agencies', 'list', '--url', `http://127.0.0.1:${stranger.port}`])
    await stranger.stop(true)
    expect(run.code).toBe(1)
    expect(run.stderr).toContain('Is it nightledger?')
  })
})

test('migrate reports the version of the schema, and needs a database', async () => {
  const run = await cli(['migrate', '--json'], { env: { DATABASE_URL: database.url } })
  expect(run.code).toBe(0)
  expect(run.json).toMatchObject({ applied: [] })
  expect((await cli(['migrate'])).code).toBe(2)
  expect((await cli(['migrate'], { env: { DATABASE_URL: 'postgres://x:y@127.0.0.1:9/z' } })).code).toBe(1)
})

test('migrate refuses the database of another build with what to do', async () => {
  await database.sql`update schema_migration set checksum = 'x' || checksum`
  const { code, stderr } = await cli(['migrate'], { env: { DATABASE_URL: database.url } })
  await database.sql`update schema_migration set checksum = substr(checksum, 2)`
  expect([code, stderr]).toEqual([1, expect.stringContaining('set DATABASE_URL to a new, empty database')])
})

test('a reader that has seen enough is no failure', async () => {
  const script = `set -o pipefail; for i in 1 2 3 4 5; do "${process.execPath}" run "${programFile()}" bookings create --help | true; done`
  const child = Bun.spawn(['bash', '-c', script], { stdout: 'pipe', stderr: 'pipe' })
  expect(await new Response(child.stderr).text()).toBe('')
  expect(await child.exited).toBe(0)
})
