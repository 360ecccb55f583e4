import { expect, test } from 'bun:test'
import { IdleMetrics } from '../../src/app/idle-metrics.ts'
import type { Sql } from '../../src/postgres/client/connect.ts'

test('a flood of scrapes asks the database once at a time: the take-over has no other connections', async () => {
  const answer = Promise.withResolvers<object[]>()
  let queries = 0
  const probes = (() => {
    queries += 1
    return answer.promise
  }) as unknown as Sql
  const idle = new IdleMetrics()
  idle.watch(probes)
  const pages = Array.from({ length: 100 }, () => idle.text('standby'))
  expect(queries).toBe(1)
  answer.resolve([{ epoch: 1, isReadOnly: false, isInRecovery: false }])
  for (const page of await Promise.all(pages)) expect(page).toContain('nightledger_database_up 1')
  await idle.text('standby')
  expect(queries).toBe(2)
})
