import { connect } from '../../src/postgres/client/connect.ts'

/**
 * Begins a transaction and runs a statement in it, on a connection of its own: what the statement locks stays locked until then.
 * @returns commits it
 */
export async function holding(databaseUrl: string, statement: string): Promise<() => Promise<void>> {
  const sql = connect(databaseUrl, { purpose: 'admin' })
  await sql.unsafe(`begin; ${statement}`).simple()
  return async () => {
    await sql.unsafe('commit').simple()
    await sql.end()
  }
}
