/*
 * `bun bench/shares.ts [role]`: how much slower an agency is served while another uses its share to the full, by role. Windows with and
 * without take turns in one run, so a busy machine is equally busy in both. As a control, the same attack is made on another service
 * beside it: what that costs is due to the machine, since both share two cores and PostgreSQL, and no limit of this service can prevent it.
 */
import { openShareWindows, type Slowdown } from '../test/support/share-windows.ts'
import { writeResult } from './report.ts'
import { startPostgres } from './support/processes.ts'

const postgres = await startPostgres()
const windows = await openShareWindows((await postgres.createDatabase('shares')).url)
const other = await openShareWindows((await postgres.createDatabase('shares_control')).url)
const results: Record<string, { measured: Slowdown; control: Slowdown }> = {}
try {
  for (const [role, requests] of Object.entries(windows.attacks)) {
    if (process.argv[2] !== undefined && process.argv[2] !== role) continue
    const measured = await windows.slowdown(requests)
    const control = await windows.slowdown(other.attacks[role] ?? [], other.base)
    results[role] = { measured, control }
    console.log(`${role}: ${inWords(measured)}\n  on another service: ${inWords(control)}`)
  }
} finally {
  await windows.close()
  await other.close()
  await postgres.stop()
}
if (process.argv[2] === undefined) await writeResult('shares', results)
process.exit()

function inWords({ calmMs, besetMs, ratio, ratios, statuses }: Slowdown): string {
  return (
    `p99 ${calmMs.toFixed(2)} ms alone, ${besetMs.toFixed(2)} ms beside it: ${ratio.toFixed(2)} times; ` +
    `rounds ${ratios.map((each) => each.toFixed(2)).join(' ')}; ${statuses}`
  )
}
