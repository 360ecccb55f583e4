import { afterAll, describe, expect, test } from 'bun:test'
import postgres from 'postgres'
import { connect, type Sql } from '../../../src/postgres/client/connect.ts'
import { testDatabase } from '../../support/postgres.ts'

const database = await testDatabase({ template: 'empty' })
const sql = connect(database.url, { purpose: 'queries', max: 1 })
afterAll(async () => {
  await sql.end({ timeout: 1 })
  await database.drop()
})

/** Sends three rows, then fails; what is asked next on the same connection is `after`. */
async function afterFailure<T>(client: Sql, after: () => PromiseLike<T>): Promise<T> {
  const failing = client`select i, 1 / (4 - i) as boom from generate_series(1, 10) i`.catch((error: Error) => error)
  const next = after()
  expect(await failing).toBeInstanceOf(Error)
  return next
}

describe('a statement behind one that failed in the middle of its rows', () => {
  test('has its own rows and no holes', async () => {
    const rows = await afterFailure(sql, () => sql<{ x: number }[]>`select x from generate_series(1, 5) x`)
    expect(rows.map(({ x }) => x)).toEqual([1, 2, 3, 4, 5])
    expect(rows[0]).toEqual({ x: 1 })
  })

  test('has none when it has none', async () => {
    const rows = await afterFailure(sql, () => sql`select 1 where false`)
    expect([...rows]).toEqual([])
  })

  test('says how many rows it wrote', async () => {
    await sql`create table written (n int)`
    const written = await afterFailure(sql, () => sql`insert into written select generate_series(1, 7) returning n`)
    expect([written.count, written.length]).toEqual([7, 7])
    expect((await afterFailure(sql, () => sql`update written set n = n + 1`)).count).toBe(7)
  })

  test('comes whole through a nested fragment and through unsafe, too', async () => {
    const nested = await afterFailure(sql, () => sql`select ${sql`7 as x`}`)
    const unsafe = await afterFailure(sql, () => sql.unsafe('select 8 as x'))
    expect([nested[0]?.['x'], unsafe[0]?.['x']]).toEqual([7, 8])
  })

  test('has holes without the mending: upstream is as it was (#1181); when this fails, remove the mending', async () => {
    const bare = postgres(database.url, { max: 1 })
    const rows = await afterFailure(bare, () => bare`select x from generate_series(1, 5) x`)
    expect([rows.length, 0 in rows]).toEqual([8, false])
    await bare.end({ timeout: 1 })
  })
})
