import type { Sql } from '../../../src/postgres/client/connect.ts'

/**
 * Replaces a place in a function of the database.
 * @param text must occur exactly once
 */
export async function breakFunction(sql: Sql, name: string, text: string, instead: string): Promise<void> {
  const [row] = await sql<{ definition: string }[]>`select pg_get_functiondef(${name}::text::regproc) as "definition"`
  const parts = row?.definition.split(text) ?? []
  if (parts.length !== 2) throw new Error(`Cannot break ${name}: "${text}" occurs ${parts.length - 1} times`)
  await sql.unsafe(parts.join(instead))
}
