import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import type { TSchema } from '@sinclair/typebox'
import { NOUNS } from '../../src/cli/nouns.ts'
import { portalOperation } from '../../src/cli/operations.ts'
import type { Verb } from '../../src/cli/verbs.ts'
import { cliOn } from '../support/cli-terminal.ts'

/* What a command line sends, and whether the tables in nouns.ts are true of their operations. What the service answers is in commands.fault.test.ts. */

let answer: object
let sent: { request: string; body: unknown }[]
const server = Bun.serve({
  port: 0,
  fetch: async (request) => {
    const { pathname, search } = new URL(request.url)
    const text = await request.text()
    sent.push({
      request: `${request.method} ${pathname.replace('/portal/v1/agencies', '')}${search}`,
      body: text === '' ? null : JSON.parse(text),
    })
    return Response.json(answer)
  },
})
beforeEach(() => {
  sent = []
  answer = {}
})
afterAll(() => server.stop(true))
const cli = cliOn({ url: `http://127.0.0.1:${server.port}` })

async function sentBy(...args: string[]) {
  expect(await cli(...args, '--json')).toMatchObject({ code: 0, stderr: '' })
  return sent
}

const VERBS = Object.entries(NOUNS).flatMap(([noun, { verbs }]) =>
  Object.entries(verbs).map(([name, verb]): [string, string, Verb] => [
    noun,
    name,
    typeof verb === 'string' ? { operation: verb } : verb,
  ]),
)

describe('a body', () => {
  test('has what the flags say, each as its member has it', async () => {
    const flags = ['--unit', 'sea view', '--adults', '2', '--extra-bed', 'yes', '--source-ref', '', '--notes', '7']
    const guest = ['--guest-first-name', 'Ana', '--guest-email', '']
    expect(await sentBy('bookings', 'create', '-a', 'harbour', ...flags, ...guest)).toEqual([
      {
        request: 'POST /harbour/bookings',
        body: {
          unit: 'sea view',
          adults: 2,
          extraBed: true,
          sourceRef: null,
          notes: '7',
          guest: { firstName: 'Ana', email: null },
        },
      },
    ])
  })

  test('keeps what --data says beside the flags, in its inner objects too', async () => {
    const data = { name: 'Harbour', plan: { apiAccess: false, requestsPerMinute: 5 } }
    const flags = ['--data', JSON.stringify(data), '--requests-per-minute', '9']
    expect(await sentBy('agencies', 'update', '-a', 'harbour', ...flags)).toEqual([
      { request: 'PATCH /harbour', body: { name: 'Harbour', plan: { apiAccess: false, requestsPerMinute: 9 } } },
    ])
  })

  test('is not sent where the flag cannot be read', async () => {
    const run = await cli('fee-types', 'update', 'fee_1', '-a', 'harbour', '--active', 'perhaps')
    expect([run.code, run.stderr, sent]).toEqual([2, '--active: "perhaps" is not yes or no.\n', []])
  })
})

test('the arguments are the parameters of the path, and the flags of a list its query', async () => {
  await sentBy('bookings', 'update', 'bkg/1', '-a', 'harbour', '--status', 'confirmed', '--dry-run')
  await sentBy('audit', '-a', 'harbour', '--access-token', 'tok_1', '--page', 'x')
  await sentBy('webhooks', 'enable', 'whe_1', '-a', 'harbour', '--pending', 'drop')
  expect(sent).toEqual([
    { request: 'PATCH /harbour/bookings/bkg%2F1?dryRun=true', body: { status: 'confirmed' } },
    { request: 'GET /harbour/audit?page=x&token=tok_1', body: null },
    { request: 'PATCH /harbour/webhook-endpoints/whe_1', body: { status: 'active', pending: 'drop' } },
  ])
})

test('the help of a flag is what the API says of its member', async () => {
  const { stdout } = await cli('fee-types', 'create', '--help')
  const help = stdout.replaceAll(/\s+/g, ' ')
  expect(help).toContain('--amount <n> minor units per stay; required when --kind is fixed; "" for none ')
  expect(help).toContain('--active <yes|no> partners see only active fee types (default: yes) ')
  expect(help).toContain('$ nightledger fee-types create --label "City tax" --kind fixed --amount 800')
  expect((await cli('fee-types', 'update', '--help')).stdout).not.toContain('default: yes')
})

test('an invitation whose link was shown before is answered with how to get another', async () => {
  answer = { invitation: { link: null, expiresAt: '2027-01-01T00:00:00Z', mailed: false } }
  const run = await cli('people', 'invite', 'per_1', '-a', 'harbour')
  expect(run.stdout).not.toContain('null')
  expect(run.stderr).toBe(
    'The link was shown before and is not shown again. For a new one: nightledger people invite\n',
  )
})

test.each(VERBS)('%s %s shows columns and renames members that its operation has', async (noun, name, verb) => {
  const { query, body, answer } = portalOperation(verb.operation)
  const members = { ...query?.properties, ...(body as TSchema | undefined)?.['properties'] }
  expect(Object.keys(verb.names ?? {}).filter((member) => !(member in members))).toEqual([])
  const [first] = Object.values<TSchema>(answer.schema['properties'])
  const row = first?.['items']?.properties ?? first?.['properties']
  const columns = Object.values(verb.columns ?? {}).filter((column) => typeof column === 'string')
  expect(columns.filter((column) => !(column in row))).toEqual([])
  // Two flags of the same name are an error of commander's.
  expect(await cli(noun, name, '--help')).toMatchObject({ code: 0, stderr: '' })
})
