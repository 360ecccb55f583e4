/**
 * The world that every server of the benchmark serves: agencies, units, calendars, keys. All of it follows from
 * numbers, so that the seed, the load generator and the peer agree without communicating.
 */
import { createHash } from 'node:crypto'
import type { Booking } from '../../src/core/domain/booking.ts'
import { formatNight, type Night, parseNight } from '../../src/core/domain/night.ts'
import type { FeeType, Unit } from '../../src/core/domain/unit.ts'
import { SeededRandom } from '../../src/lib/seeded-random.ts'

export interface WorldSize {
  readonly agencies: number
  readonly unitsPerAgency: number
  readonly bookingsPerUnit: number
  /** Of agency 0, in addition to those of its calendar: for lists and the guest search. */
  readonly bookingsOfFirst: number
}

export const FULL_WORLD: WorldSize = {
  agencies: 1_000,
  unitsPerAgency: 20,
  bookingsPerUnit: 20,
  bookingsOfFirst: 10_000,
}
export const QUICK_WORLD: WorldSize = {
  agencies: 100,
  unitsPerAgency: 20,
  bookingsPerUnit: 20,
  bookingsOfFirst: 10_000,
}

/** What a large installation keeps in memory. */
export const LARGE_WORLD: WorldSize = { agencies: 10_000, unitsPerAgency: 20, bookingsPerUnit: 2, bookingsOfFirst: 0 }

export const agencyIdOf = (agency: number): string => `agc_${hex(agency)}`
/** Of the agency's one key. */
export const keyIdOf = (agency: number): string => `key_${hex(agency)}`
export const unitIdOf = (agency: number, unit: number): string => `unt_${hex(agency * 1_000 + unit)}`
export const slugOf = (unit: number): string => `unit-${String(unit).padStart(3, '0')}`
/** As long as a real key. */
export const secretOf = (agency: number): string => `hr_live_${String(agency).padStart(43, 'k')}`
/** Of the `n`th booking of agency 0's long list. */
export const listedBookingIdOf = (n: number): string => `bkg_${hex(900_000_000 + n)}`

const FIRST = nightOf('2026-12-01')
/** Nights of agency 0's long list, outside of every calendar that is measured. */
const LISTED_FIRST = nightOf('2029-01-01')
/** Nights from here to the end of the dates are for the bookings that the benchmark makes. */
const SALE_FIRST = nightOf('2033-01-01')
const SALE_STEP_NIGHTS = 3
const SALE_NIGHTS = 2
export const SALES_PER_UNIT = Math.floor((nightOf('2099-12-01') - SALE_FIRST) / SALE_STEP_NIGHTS)

/** The `n`th stay sold in a unit: no two share a night, nor does one lie in the cleaning block of another. */
export function saleOf(n: number): { arrival: string; departure: string } {
  const arrival = (SALE_FIRST + n * SALE_STEP_NIGHTS) as Night
  return { arrival: formatNight(arrival), departure: formatNight((arrival + SALE_NIGHTS) as Night) }
}

/** Seasons, weekday prices and discounts as agencies keep them; a quarter of the units is cleaned for a night. */
export function unitOf(agency: number, unit: number): Unit {
  const base = 6_000 + ((agency * 7 + unit * 131) % 20_000)
  return {
    id: unitIdOf(agency, unit),
    slug: slugOf(unit),
    name: `Unit ${String(unit).padStart(3, '0')}`,
    status: 'active',
    city: 'Lisbon',
    area: 'Alfama',
    building: null,
    bedrooms: 1 + (unit % 4),
    beds: 2 + (unit % 4),
    bathrooms: 1,
    maxGuests: 2 + (unit % 5),
    sizeSqm: 40 + unit,
    checkinTime: '15:00',
    checkoutTime: '10:00',
    instantBook: true,
    registrationNumber: null,
    rules: {
      basePrice: base,
      cleaningFee: 4_500,
      extraBedFee: 1_500,
      minStay: 1,
      turnoverNights: unit % 4 === 3 ? 1 : 0,
      rates: {
        seasons: [2027, 2028, 2029].flatMap((year) => [
          {
            name: `Summer ${year}`,
            from: nightOf(`${year}-06-15`),
            to: nightOf(`${year}-09-15`),
            nightlyPrice: base * 2,
            minStay: 2,
          },
          {
            name: `Carnival ${year}`,
            from: nightOf(`${year}-02-10`),
            to: nightOf(`${year}-02-20`),
            nightlyPrice: base + 3_000,
            minStay: null,
          },
        ]),
        weekdayAdjustments: [
          { weekday: 5, basisPoints: 1_000 },
          { weekday: 6, basisPoints: 1_500 },
        ],
        lengthOfStayDiscounts: [
          { minNights: 7, basisPoints: 700 },
          { minNights: 28, basisPoints: 2_000 },
        ],
      },
    },
  }
}

export function feeTypesOf(agency: number): FeeType[] {
  const common = { includesWeeklyCleaning: false, application: 'every_stay', active: true } as const
  return [
    { ...common, id: `fee_${hex(agency * 2)}`, label: 'City tax', kind: 'fixed', amount: 800, basisPoints: null },
    {
      ...common,
      id: `fee_${hex(agency * 2 + 1)}`,
      label: 'Service fee',
      kind: 'percent',
      amount: null,
      basisPoints: 350,
    },
  ]
}

/** What is in the calendar before anything is measured: about half of the coming year, in stays of 2 to 9 nights. */
export function calendarOf(size: WorldSize, agency: number, unit: number): Booking[] {
  const random = new SeededRandom(agency * 1_000 + unit)
  const bookings: Booking[] = []
  let arrival = FIRST + random.below(10)
  for (let n = 0; n < size.bookingsPerUnit; n++) {
    const departure = arrival + 2 + random.below(8)
    const id = `bkg_${hex((agency * 1_000 + unit) * 2_000 + n)}`
    bookings.push(bookingOf(id, unitIdOf(agency, unit), arrival as Night, departure as Night))
    arrival = departure + 1 + random.below(12)
  }
  return bookings
}

/** The long list of agency 0: one stay after the other, dealt out to its units. */
export function listedBookingOf(size: WorldSize, n: number): Booking {
  const arrival = (LISTED_FIRST + Math.floor(n / size.unitsPerAgency) * 2) as Night
  const unitId = unitIdOf(0, n % size.unitsPerAgency)
  return bookingOf(listedBookingIdOf(n), unitId, arrival, (arrival + 1) as Night)
}

function bookingOf(id: string, unitId: string, arrival: Night, departure: Night): Booking {
  const at = Date.UTC(2026, 10, 1)
  return {
    id,
    unitId,
    type: 'guest',
    status: 'confirmed',
    source: 'partner',
    sourceRef: `REF-${id.slice(-6)}`,
    arrival,
    departure,
    adults: 2,
    children: 0,
    extraBed: false,
    totalAmount: 45_000,
    holdExpiresAt: null,
    expectedUntil: null,
    cancelledAt: null,
    cancelReason: null,
    createdAt: at,
    updatedAt: at,
    version: 1,
    groupId: null,
  }
}

/** 32 digits, as ids of the service have, spread like random ones so that indexes are used as in earnest. */
function hex(n: number): string {
  return createHash('md5').update(String(n)).digest('hex')
}

export function nightOf(date: string): Night {
  const night = parseNight(date)
  if (night === null) throw new Error(`Cannot make the world: ${date} is not a date`)
  return night
}
