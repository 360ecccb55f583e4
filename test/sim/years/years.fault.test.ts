import { expect, test } from 'bun:test'
import { SimulatedYears, type Year } from './simulated-years.ts'

/** Short times, so that everything is due within a few years. */
const RETENTION = { bookingYears: 1, guestMonths: 6, logYears: 1, deliveryDays: 30 }

test('a ledger lives for years: what is no longer kept is gone, and what is kept agrees with what was known', async () => {
  const years = await SimulatedYears.open({
    years: 4,
    agencies: 2,
    unitsPerAgency: 5,
    staysPerUnitYear: 12,
    retention: RETENTION,
    seed: 1,
  })
  try {
    const lived: Year[] = []
    for (let year = 0; year < 3; year++) {
      lived.push(await years.live())
      expect(await years.problems()).toEqual([])
    }
    expect(await years.restore()).toMatch(/ [1-9]\d* guests were erased again/)
    expect(await years.problems()).toEqual([])
    lived.push(await years.live())
    expect(await years.problems()).toEqual([])
    const [, second, , fourth] = lived
    // Twelve months of log at most, and the bookings of a year.
    expect(fourth?.entries).toBeLessThan((second?.entries ?? 0) * 1.5)
    expect(fourth?.bookings).toBeLessThan((second?.bookings ?? 0) * 1.5)
    expect(fourth?.guests).toBeLessThan((second?.guests ?? 0) * 1.5)
  } finally {
    await years.close()
  }
}, 170_000)
