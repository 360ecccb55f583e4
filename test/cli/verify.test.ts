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
    const { code, stderr } = await verify({ DATABASE_URL: 'no address', ...KEY }, '--database')
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
