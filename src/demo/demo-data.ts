/**
 * The demo agency's data: twelve flats and houses around Lisbon, their rates, fees and guests as an import reads them, and the stays
 * around its today. Amounts are in euro cents.
 */
import { parse } from 'csv-parse/sync'
import type { BookingRequest } from '../core/bookings/booking-turns.ts'
import type { BookingStatus, BookingType } from '../core/domain/booking.ts'
import { basisPointsOfPct } from '../core/domain/money.ts'
import { parseNight } from '../core/domain/night.ts'
import type { FeeType, Rates, Unit, UnitRules } from '../core/domain/unit.ts'
import { assert } from '../lib/assert.ts'
import feeTypesCsv from './data/fee-types.csv' with { type: 'text' }
import guestsCsv from './data/guests.csv' with { type: 'text' }
import ratesCsv from './data/rates.csv' with { type: 'text' }
import unitsCsv from './data/units.csv' with { type: 'text' }
import weekCsv from './data/week.csv' with { type: 'text' }

/** The members of the portal's unit. */
type UnitRow = Omit<Unit, 'id' | 'rules'> & Omit<UnitRules, 'rates'>

/** The dates of a season are its month and day, in every year; one that ends before it begins ends in the next year. */
interface RateRow {
  readonly unit: string
  readonly kind: 'season' | 'weekday' | 'length_of_stay'
  readonly name: string
  readonly from: string
  readonly to: string
  readonly nightlyPrice: number
  readonly minStay: number | null
  readonly weekday: Rates['weekdayAdjustments'][number]['weekday']
  readonly minNights: number
  readonly pct: number
}

type FeeTypeRow = Omit<FeeType, 'id' | 'basisPoints'> & { readonly pct: number | null }

/** A stay around today, chosen so that every screen has something to do. */
export interface WeekStay {
  readonly unit: string
  /** Days from today. */
  readonly arrival: number
  readonly departure: number
  readonly type: BookingType
  readonly status: BookingStatus
  /** E-mail of one of `demoGuests`. */
  readonly guest: string | null
  readonly source: string
  readonly holdHours: number | null
  /** Days from today. */
  readonly expectedUntil: number | null
  readonly notes: string | null
}

/** The seasons of this year and the next two are priced. */
const YEARS = 3

/** What an import makes before there are bookings; each row has the members of the file of its name. */
export function demoFolder(year: number) {
  const years = Array.from({ length: YEARS }, (_, i) => year + i)
  return {
    units: rowsOf<UnitRow>(unitsCsv),
    rates: rowsOf<RateRow>(ratesCsv).flatMap((row) =>
      row.kind === 'season' ? years.map((each) => ({ ...row, ...seasonDates(row, each) })) : [row],
    ),
    'fee-types': rowsOf<FeeTypeRow>(feeTypesCsv),
  }
}

function seasonDates({ from, to }: RateRow, year: number) {
  return { from: `${year}-${from}`, to: `${to < from ? year + 1 : year}-${to}` }
}

/** @param year the first one whose seasons are priced */
export function demoUnits(year: number): Omit<Unit, 'id'>[] {
  const { units, rates } = demoFolder(year)
  return units.map(({ basePrice, cleaningFee, extraBedFee, minStay, turnoverNights, ...unit }) => ({
    ...unit,
    rules: {
      basePrice,
      cleaningFee,
      extraBedFee,
      minStay,
      turnoverNights,
      rates: ratesOf(rates.filter((row) => row.unit === unit.slug)),
    },
  }))
}

function ratesOf(rows: readonly RateRow[]): Rates {
  const ofKind = (kind: RateRow['kind']) => rows.filter((row) => row.kind === kind)
  return {
    seasons: ofKind('season').map(({ name, from, to, nightlyPrice, minStay }) => ({
      name,
      from: nightOf(from),
      to: nightOf(to),
      nightlyPrice,
      minStay,
    })),
    weekdayAdjustments: ofKind('weekday').map(({ weekday, pct }) => ({ weekday, basisPoints: basisPointsOf(pct) })),
    lengthOfStayDiscounts: ofKind('length_of_stay').map(({ minNights, pct }) => ({
      minNights,
      basisPoints: basisPointsOf(pct),
    })),
  }
}

export function demoFeeTypes(): Omit<FeeType, 'id'>[] {
  return rowsOf<FeeTypeRow>(feeTypesCsv).map(({ pct, ...feeType }) => ({
    ...feeType,
    basisPoints: pct === null ? null : basisPointsOf(pct),
  }))
}

/** Few enough that some of them come again. Their telephone numbers are ones that regulators have set aside for fiction. */
export function demoGuests(): NonNullable<BookingRequest['guest']>[] {
  return rowsOf(guestsCsv)
}

/** In order; between two stays of a unit are its turnover nights at least. */
export function demoWeek(): WeekStay[] {
  return rowsOf(weekCsv)
}

/** An empty cell is null. */
function rowsOf<R>(csv: string): R[] {
  return parse(csv, { columns: true, cast: (text, { header }) => (header ? text : readCell(text)) }) as R[]
}

function readCell(text: string): string | number | boolean | null {
  if (text === '') return null
  if (text === 'true' || text === 'false') return text === 'true'
  return /^-?\d+(?:\.\d)?$/.test(text) ? Number(text) : text
}

function nightOf(iso: string) {
  const night = parseNight(iso)
  assert(night !== null, 'Cannot make the demo: a season has no date')
  return night
}

function basisPointsOf(pct: number): number {
  const basisPoints = basisPointsOfPct(pct)
  assert(basisPoints !== null, 'Cannot make the demo: a percentage has too many digits')
  return basisPoints
}
