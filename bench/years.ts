/**
 * Twenty years of 1,000 units (test/sim/years): what the disk holds at each new year, with the default times of retention and every month
 * archived when it is due. `bun bench/years.ts`, about 20 minutes.
 */

import { SimulatedYears, TWENTY_YEARS, type Year } from '../test/sim/years/simulated-years.ts'
import { SERVER_URL_VARIABLE } from '../test/support/postgres.ts'
import { startTestServer } from '../test/support/test-server.ts'
import { writeResult } from './report.ts'

const TABLES = [
  'journal',
  'audit_line',
  'webhook_delivery',
  'webhook_attempt',
  'booking',
  'guest',
  'snapshot',
  'archives',
]
const BAR_MAX = 40

const server = await startTestServer((step) => console.log(step), { fills: true })
process.env[SERVER_URL_VARIABLE] = server.url
try {
  const years = await SimulatedYears.open(TWENTY_YEARS)
  const lived: Year[] = []
  try {
    for (let n = 0; n < TWENTY_YEARS.years; n++) {
      const year = await years.live()
      const problems = await years.problems()
      if (problems.length > 0) throw new Error(`${year.year}: ${problems.join('\n')}`)
      lived.push(year)
      console.log(
        `${year.year}  ${year.entries} entries, ${year.bookings} bookings, ${year.guests} guests, ${year.seconds.toFixed(0)} s`,
      )
    }
  } finally {
    await years.close()
  }
  for (const table of TABLES) console.log(`\n${table}\n${curveOf(lived, table)}`)
  await writeResult('years', lived)
} finally {
  await server.stop()
}

/** A line a year, with its megabytes. */
function curveOf(lived: readonly Year[], table: string): string {
  const sizes = lived.map(({ disk }) => disk[table] ?? 0)
  const most = Math.max(...sizes, 1)
  return lived
    .map(({ year }, n) => {
      const kb = sizes[n] ?? 0
      return `${year}  ${(kb / 1_024).toFixed(1).padStart(8)} MB  ${'#'.repeat(Math.round((BAR_MAX * kb) / most))}`
    })
    .join('\n')
}
