import { afterAll, describe, expect, test } from 'bun:test'
import { cliWith } from '../support/cli-terminal.ts'

/** A service whose every answer is a 500. */
const failing = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: () => Response.json({ code: 'INTERNAL', title: 'The verification did not finish' }, { status: 500 }),
})
afterAll(() => failing.stop(true))

const KEY = { SECRET_KEY: 'ab'.repeat(32) }

const verify = (env: Record<string, string>, ...args: string[]) => cliWith(env)('verify', ...args)

describe('verify ends with 4, not as if something differed, when', () => {
  const served = { NIGHTLEDGER_URL: `http://127.0.0.1:${failing.port}`, PORTAL_TOKEN: 'x' }

  test('the service failed; its answer is JSON when asked for', async () => {
    const { code, stderr } = await verify(served)
    expect([code, stderr]).toEqual([4, expect.stringContaining('The verification did not finish')])
    const json = await verify(served, '--json')
    expect([json.code, JSON.parse(json.stderr)]).toMatchObject([4, { status: 500, code: 'INTERNAL' }])
  })

  test('no service answers', async () => {
    expect((await verify({ ...served, NIGHTLEDGER_URL: 'http://127.0.0.1:1' })).code).toBe(4)
  })

  test('the database is away', async () => {
    const { code, stderr } = await verify({ DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none', ...KEY }, '--database')
    expect([code, stderr]).toEqual([4, expect.stringMatching(/^Cannot verify: .*\n$/)])
  })

  test('it meets a fault of the program, which is shown with its stack', async () => {
    const env = {
      DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
      get SECRET_KEY(): string {
        throw new Error('a fault')
      },
    }
    const { code, stderr } = await verify(env, '--database')
    expect([code, stderr]).toEqual([4, expect.stringContaining('verify.ts')])
  })
})

test('verify --database without DATABASE_URL, or without SECRET_KEY, is wrong usage', async () => {
  expect(await verify({}, '--database')).toMatchObject({ code: 2, stderr: 'Cannot verify: DATABASE_URL is not set.\n' })
  expect(await verify({ DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }, '--database')).toMatchObject({
    code: 2,
    stderr: 'Cannot verify: SECRET_KEY is not set, or is not 32 bytes in hexadecimal or base64.\n',
  })
})

describe.each([
  [['verify', '--database']],
  [['migrate']],
  [['erasures', 'export']],
  [['after-restore', '--no-erasures']],
  [['rotate-secret-key']],
  [['journal', 'archive', '--month', '2026-01', '--out', '/nowhere']],
  [['audit', 'export', '--agency', 'harbour', '--out', '/nowhere']],
])('%p names the variable that is not the URL of a database, and what would be', (args) => {
  test.each([
    ['DATABASE_URL', 'no address', 'is not a URL such as postgres://user:password@host:5432/database'],
    ['MIGRATION_DATABASE_URL', 'postgres://u:p%@db/n', 'write %25 for a %'],
  ])('%s', async (name, url, reason) => {
    const { code, stderr } = await cliWith({ DATABASE_URL: 'postgres://u@127.0.0.1:1/n', ...KEY, [name]: url })(...args)
    expect([code, stderr]).toEqual([2, expect.stringMatching(new RegExp(`^${name} .*${reason}.*\n$`))])
  })
})
