import { afterAll, expect, test } from 'bun:test'
import { connect } from '../../../src/postgres/client/connect.ts'

const uncaught: unknown[] = []
const onUncaught = (error: unknown) => void uncaught.push(error)
process.on('uncaughtException', onUncaught)
afterAll(() => void process.off('uncaughtException', onUncaught))

test('a statement fails, and the process does not, when the network is unreachable', async () => {
  // No route leads there, as from a machine that has lost its network: the system refuses at once, not later.
  const sql = connect('postgres://nobody@255.255.255.255/nowhere', { purpose: 'probes' })
  const codes = [1, 2, 3].map(() => sql`select 1`.catch(({ code }) => code))
  expect(await Promise.all(codes)).toEqual(['ECONNREFUSED', 'ECONNREFUSED', 'ECONNREFUSED'])
  await sql.end({ timeout: 0 })
  expect(uncaught).toEqual([])
})
