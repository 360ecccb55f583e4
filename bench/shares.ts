/*
 * `bun bench/shares.ts [role]`: how much slower an agency is served while another uses its share to the full, by role. Windows with and
 * without take turns in one run, so a busy machine is equally busy in both.
 */
import { openShareWindows } from '../test/support/share-windows.ts'
import { writeResult } from './report.ts'
import { startPostgres } from './support/processes.ts'

const postgres = await startPostgres()
const windows = await openShareWindows((await postgres.createDatabase('shares')).url)
const measured: Record<string, object> = {}
try {
  for (const [role, requests] of Object.entries(windows.attacks)) {
    if (process.argv[2] !== undefined && process.argv[2] !== role) continue
    const { calmMs, besetMs, ratio, ratios, statuses } = await windows.slowdown(requests)
    measured[role] = { calmMs, besetMs, ratio, ratios }
    console.log(
      `${role}: p99 ${calmMs.toFixed(2)} ms alone, ${besetMs.toFixed(2)} ms beside it: ${ratio.toFixed(2)} times; ` +
        `rounds ${ratios.map((each) => each.toFixed(2)).join(' ')}; ${statuses}`,
    )
  }
} finally {
  await windows.close()
  await postgres.stop()
}
if (process.argv[2] === undefined) await writeResult('shares', measured)
process.exit()
