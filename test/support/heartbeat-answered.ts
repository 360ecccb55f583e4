import type { Sql } from '../../src/postgres/client/connect.ts'
import { eventually } from './eventually.ts'

/**
 * Waits until a service that has just started has had the answer to a heartbeat. Until then it cannot know that no standby waits, and
 * refuses everything once Postgres is away for longer (P3).
 */
export async function heartbeatAnswered(sql: Sql): Promise<void> {
  const beat = async () => (await sql<{ at: string }[]>`select beat_at::text as "at" from writer`)[0]?.at
  const first = await beat()
  await eventually('a heartbeat was answered', async () => (await beat()) !== first)
}
