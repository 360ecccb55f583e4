import { expect, test } from 'bun:test'
import { DeadlineError } from '../../../src/lib/deadline.ts'
import type { Sql } from '../../../src/postgres/client/connect.ts'
import { ListReads } from '../../../src/postgres/stores/list-reads.ts'

const lists = new ListReads(null as unknown as Sql)
const read = (error: Error) => lists.read('agency', Promise.reject(error)).catch((caught: unknown) => caught)

test.each([
  ['the server cancels at its timeout', Object.assign(new Error('canceling statement'), { code: '57014' })],
  ['has no answer by its deadline', new DeadlineError(5_000)],
])('a list that %s is reported as slow', async (_, error) => {
  expect(await read(error)).toMatchObject({ kind: 'slow', cause: error })
})

test('any other failure of a list is passed on as it is', async () => {
  const error = new Error('connection lost')
  expect(await read(error)).toBe(error)
})
