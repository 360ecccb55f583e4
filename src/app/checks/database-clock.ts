import { type Check, type DatabaseWorld, failure, ok, warning } from './check.ts'

const WARNED_MS = 2_000
const WRONG_MS = 60_000

/** Holds and sessions expire by this machine's clock; heartbeats and months use the database's. */
export const databaseClock: Check<DatabaseWorld> = {
  name: 'clock',
  run: async ({ sql, machine }) => {
    const sentAt = machine.now()
    const [row] = await sql<{ at: number }[]>`select extract(epoch from clock_timestamp())::float8 * 1000 as "at"`
    const receivedAt = machine.now()
    // The round trip does not count as a difference.
    const at = row?.at ?? sentAt
    const aheadMs = at > receivedAt ? at - receivedAt : at < sentAt ? at - sentAt : 0
    const offMs = Math.abs(aheadMs)
    const text = `The clock of the database is ${(offMs / 1_000).toFixed(1)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} that of this machine`
    const fix = 'Let both synchronise their clocks: `timedatectl set-ntp true` on each.'
    if (offMs >= WRONG_MS) return [failure(`${text}: holds and sessions end at the wrong time.`, fix)]
    if (offMs >= WARNED_MS) return [warning(`${text}.`, fix)]
    return [ok('The clocks of this machine and of the database agree.')]
  },
}
