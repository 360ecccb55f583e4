import { expect, test } from 'bun:test'
import { SimulatedYears, TWENTY_YEARS, type Year } from './simulated-years.ts'

const KB = ['journal', 'webhook_delivery', 'webhook_attempt', 'guest', 'booking', 'audit_line'] as const

test('twenty years of 1,000 units, with the default times: the disk of what is not kept stays flat', async () => {
  const years = await SimulatedYears.open(TWENTY_YEARS)
  try {
    const lived: Year[] = []
    for (let n = 1; n <= TWENTY_YEARS.years; n++) {
      const year = await years.live()
      lived.push(year)
      console.log(JSON.stringify(year))
      const problems = await years.problems()
      expect([year.year, problems]).toEqual([year.year, []])
      if (n === 12) await years.restore()
    }
    const disk = (table: (typeof KB)[number], n: number) => lived[n - 1]?.disk[table] ?? 0
    // Deliveries are kept for 90 days and guests for three years; log and bookings for ten years, and not longer.
    // An emptied month of deliveries still has the first pages of its indexes, until the month is archived. The restore writes every booking.
    const since = {
      webhook_delivery: 11,
      webhook_attempt: 11,
      guest: 5,
      journal: 11,
      audit_line: 11,
      booking: 13,
    }
    const grown = KB.filter((table) => disk(table, 20) > 1.25 * disk(table, since[table]))
    expect(grown).toEqual([])
  } finally {
    await years.close()
  }
}, 3_600_000)
