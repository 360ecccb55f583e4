import { afterAll, describe, expect, test } from 'bun:test'
import { type AddressInfo, createServer } from 'node:net'
import { checkServer } from '../../../src/postgres/client/check-server.ts'
import { connect, type Purpose } from '../../../src/postgres/client/connect.ts'
import { classifyDatabaseError } from '../../../src/postgres/client/database-error.ts'
import { failedWrite } from '../../../src/postgres/client/failed-write.ts'
import { eventually } from '../../support/eventually.ts'
import { testDatabase } from '../../support/postgres.ts'

const database = await testDatabase({ template: 'empty' })
afterAll(() => database.drop())

describe('a connection', () => {
  test.each([
    ['journal', { statement: '2s', lock: '1500ms', commit: 'on' }],
    ['queries', { statement: '5s', lock: '2s', commit: 'on' }],
    ['admin', { statement: '0', lock: '0', commit: 'on' }],
    ['verification', { statement: '2min', lock: '0', commit: 'on' }],
  ] as const)('for %s says who it is and has its timeouts', async (purpose: Purpose, settings) => {
    const sql = connect(database.url, { purpose })
    const [row] = await sql`
      select current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock,
             current_setting('synchronous_commit') as commit, current_setting('application_name') as name`
    await sql.end()
    expect(row).toEqual({ ...settings, name: `nightledger ${purpose}` })
  })

  test('reads what was written, however the database writes values for others', async () => {
    const other = await testDatabase({ template: 'empty' })
    for (const setting of [
      "bytea_output = 'escape'",
      "DateStyle = 'SQL, DMY'",
      'extra_float_digits = -3',
      'standard_conforming_strings = off',
      "default_transaction_isolation = 'serializable'",
    ])
      await other.sql.unsafe(
        `do $$ begin execute format('alter database %I set ${setting.replaceAll("'", "''")}', current_database()); end $$`,
      )
    const sql = connect(other.url, { purpose: 'queries' })
    const [row] = await sql`
      select '\\x5c00ff'::bytea as bytes, timestamptz '2027-03-01 10:15:00Z' as at, date '2027-03-02'::text as day,
             1764412345678901::float8 as number, current_setting('transaction_isolation') as isolation`
    await sql.end()
    await other.drop()
    expect([Buffer.from(row?.['bytes'] as Uint8Array).toString('hex'), row?.['at'], row?.['day']]).toEqual([
      '5c00ff',
      new Date('2027-03-01T10:15:00Z'),
      '2027-03-02',
    ])
    expect([row?.['number'], row?.['isolation']]).toEqual([1_764_412_345_678_901, 'read committed'])
  })

  test('of a migration has no timeout, even where the database gives one to others', async () => {
    const other = await testDatabase({ template: 'empty' })
    await other.sql.unsafe(
      `do $$ begin execute format('alter database %I set statement_timeout = 10', current_database()); end $$`,
    )
    const sql = connect(other.url, { purpose: 'admin' })
    await sql`select pg_sleep(0.05)`
    await sql.end()
    await other.drop()
  })

  test('for the journal is one at a time, and a statement over its time ends as one that was too slow', async () => {
    const sql = connect(database.url, { purpose: 'journal' })
    expect(sql.options.max).toBe(1)
    // Again where the machine stood still so long that the client gave it up first.
    const outcome = () => sql`select pg_sleep(10)`.then(() => 'done', classifyDatabaseError)
    await eventually('it is too slow', async () => (await outcome()) === 'too_slow')
    await sql.end()
  })

  test('that is cut by the server leaves the outcome unknown', async () => {
    const sql = connect(database.url, { purpose: 'journal' })
    const [own] = await sql`select pg_backend_pid() as pid`
    const waiting = sql`select pg_sleep(30)`.then(
      () => 'done',
      (error: unknown) => classifyDatabaseError(error),
    )
    await Bun.sleep(50)
    await database.sql`select pg_terminate_backend(${own?.['pid']})`
    expect(await waiting).toBe('connection')
    await sql.end({ timeout: 0 })
  })

  test.each([
    ['a load balancer without servers', ''],
    ['another kind of server', 'HTTP/1.1 400 Bad Request\r\n\r\n'],
  ])('to %s is an error at once, and is not tried again without end', async (_, says) => {
    let accepted = 0
    const server = createServer((client) => {
      client.on('error', () => {}).once('data', () => client.end(says))
      accepted += 1
      if (accepted === 20) server.close()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const sql = connect(`postgres://u:p@127.0.0.1:${(server.address() as AddressInfo).port}/x`, { purpose: 'admin' })
    const error = await sql`select 1`.then(
      () => null,
      (thrown: unknown) => thrown,
    )
    expect([classifyDatabaseError(error), failedWrite(error), String(error), accepted]).toEqual([
      'connection',
      'not_written',
      'Error: the server closed the connection before the login was over',
      1,
    ])
    await sql.end({ timeout: 0 })
    server.close()
  })

  test('the server of the tests passes the check of servers', async () => {
    await checkServer(database.sql)
  })
})
