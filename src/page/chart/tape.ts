import { type Day, dayOf } from './day.ts'
import type { ChartUnit, Stay, StayStatus, StayType } from './stay.ts'

/** The answer of `GET …/tape`: rows as arrays, since members' names would be most of it. */
export interface TapeJson {
  readonly from: string
  readonly to: string
  readonly today: string
  readonly currency: string
  readonly currencyDigits: number
  readonly timezone: string
  readonly cursor: string
  readonly types: readonly string[]
  readonly statuses: readonly string[]
  readonly sources: readonly string[]
  readonly units: readonly (readonly unknown[])[]
  readonly stays: readonly (readonly unknown[])[]
}

export interface Tape {
  readonly from: Day
  /** Exclusive. */
  readonly to: Day
  readonly today: Day
  readonly currency: string
  readonly currencyDigits: number
  readonly timezone: string
  /** Where the changes go on from. */
  readonly cursor: string
  readonly units: readonly ChartUnit[]
  readonly stays: readonly Stay[]
}

type UnitRow = [
  slug: string,
  name: string,
  city: string | null,
  area: string | null,
  bedrooms: number,
  maxGuests: number,
  minStay: number,
  turnoverNights: number,
  extraBedFee: number,
  status: string,
]

type StayRow = [
  id: string,
  unit: number,
  arrival: number,
  departure: number,
  type: number,
  status: number,
  guest: string | null,
  source: number,
  total: number | null,
  holdExpiresAt: number | null,
  expectedUntil: number | null,
  version: number,
  adults: number,
  children: number,
  sourceRef: string | null,
]

export function readTape(json: TapeJson): Tape {
  const { types, statuses, sources } = json
  const from = dayOf(json.from)
  const units = (json.units as readonly UnitRow[]).map(readUnit)
  const stays = (json.stays as readonly StayRow[]).map((row): Stay => {
    const [id, unit, arrival, departure, type, status, guest, source, total, holdExpiresAt, expectedUntil, ...rest] = row
    const [version, adults, children, sourceRef] = rest
    return {
      id,
      unit: units[unit]?.slug ?? '',
      arrival: from + arrival,
      departure: from + departure,
      type: types[type] as StayType,
      status: statuses[status] as StayStatus,
      guest,
      source: sources[source] ?? '',
      sourceRef,
      total,
      holdExpiresAt,
      expectedUntil: expectedUntil === null ? null : from + expectedUntil,
      version,
      adults,
      children,
    }
  })
  const { currency, currencyDigits, timezone, cursor } = json
  return { from, to: dayOf(json.to), today: dayOf(json.today), currency, currencyDigits, timezone, cursor, units, stays }
}

function readUnit(row: UnitRow): ChartUnit {
  const [slug, name, city, area, bedrooms, maxGuests, minStay, turnoverNights, , status] = row
  return { slug, name, city, area, bedrooms, maxGuests, minStay, turnoverNights, isArchived: status === 'archived' }
}
