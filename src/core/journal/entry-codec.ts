/** Events as the journal keeps them: JSON that people can read, dates as dates, instants as ISO 8601. */
import type { Booking, BookingStatus, BookingType, Instant } from '../domain/booking.ts'
import type { UnitEvent } from '../domain/event.ts'
import { formatNight, type Night, parseNight } from '../domain/night.ts'
import type { Rates, UnitRules } from '../domain/rules.ts'
import type { Unit } from '../domain/unit.ts'

/** A journal row or snapshot does not say what it said when it was written. */
export class CorruptLedgerError extends Error {
  override readonly name = 'CorruptLedgerError'
}

export interface StoredEntry {
  readonly seq: number
  readonly unitId: string
  readonly otherUnitId: string | null
  readonly kind: string
  readonly payload: string
  readonly checksum: string
}

/** The units an event belongs to: the one it is filed under, and the one a booking came from when it moved (U4). */
export function unitsOf(event: UnitEvent): { unitId: string; otherUnitId: string | null } {
  if (event.kind === 'unit_set') return { unitId: event.unit.id, otherUnitId: null }
  const unitId = event.after.unitId
  const from = event.kind === 'booking_created' ? unitId : event.before.unitId
  return { unitId, otherUnitId: from === unitId ? null : from }
}

/** The row of an event at `seq`. The checksum covers everything that recovery relies on. */
export function encodeEntry(event: UnitEvent, seq: number): StoredEntry {
  const draft = { seq, ...unitsOf(event), kind: event.kind, payload: encodeEvent(event) }
  return { ...draft, checksum: checksumOf(draft) }
}

/** @throws CorruptLedgerError naming the sequence number when the row is not as it was written */
export function decodeEntry(entry: StoredEntry): UnitEvent {
  if (checksumOf(entry) !== entry.checksum)
    throw new CorruptLedgerError(`Cannot read journal entry ${entry.seq}: its checksum does not match`)
  return decodeEvent(entry.kind, entry.payload, entry.seq)
}

function checksumOf(entry: Omit<StoredEntry, 'checksum'>): string {
  const covered = `${entry.seq}|${entry.unitId}|${entry.otherUnitId ?? ''}|${entry.kind}|${entry.payload}`
  return Bun.hash.xxHash64(covered).toString(16).padStart(16, '0')
}

function encodeEvent(event: UnitEvent): string {
  switch (event.kind) {
    case 'unit_set':
      return JSON.stringify({ unit: { ...event.unit, rules: encodeRules(event.unit.rules) } })
    case 'booking_created':
      return JSON.stringify({ after: encodeBooking(event.after) })
    case 'booking_changed':
    case 'booking_cancelled':
      return JSON.stringify({ before: encodeBooking(event.before), after: encodeBooking(event.after) })
  }
}

type Json = Record<string, unknown>

function decodeEvent(kind: string, payload: string, seq: number): UnitEvent {
  const body = JSON.parse(payload) as { unit: Json; before: Json; after: Json }
  switch (kind) {
    case 'unit_set':
      return { kind, unit: { ...(body.unit as unknown as Unit), rules: decodeRules(body.unit['rules'] as Json) } }
    case 'booking_created':
      return { kind, after: decodeBooking(body.after) }
    case 'booking_changed':
    case 'booking_cancelled':
      return { kind, before: decodeBooking(body.before), after: decodeBooking(body.after) }
    default:
      throw new CorruptLedgerError(`Cannot read journal entry ${seq}: its kind ${kind} is not known to this version`)
  }
}

export function encodeBooking(booking: Booking): Json {
  return {
    ...booking,
    arrival: formatNight(booking.arrival),
    departure: formatNight(booking.departure),
    holdExpiresAt: encodeInstant(booking.holdExpiresAt),
    expectedUntil: booking.expectedUntil === null ? null : formatNight(booking.expectedUntil),
    cancelledAt: encodeInstant(booking.cancelledAt),
    createdAt: encodeInstant(booking.createdAt),
    updatedAt: encodeInstant(booking.updatedAt),
  }
}

/** Takes what `encodeBooking` wrote; a stored row in the same shape is read the same way. */
export function decodeBooking(json: Json): Booking {
  return {
    id: json['id'] as string,
    unitId: json['unitId'] as string,
    type: json['type'] as BookingType,
    status: json['status'] as BookingStatus,
    source: json['source'] as string,
    sourceRef: json['sourceRef'] as string | null,
    arrival: decodeNight(json['arrival']),
    departure: decodeNight(json['departure']),
    adults: json['adults'] as number,
    children: json['children'] as number,
    extraBed: json['extraBed'] as boolean,
    totalAmount: json['totalAmount'] as number,
    holdExpiresAt: decodeInstant(json['holdExpiresAt']),
    expectedUntil: json['expectedUntil'] === null ? null : decodeNight(json['expectedUntil']),
    cancelledAt: decodeInstant(json['cancelledAt']),
    cancelReason: json['cancelReason'] as string | null,
    createdAt: decodeInstant(json['createdAt']) ?? corrupt('createdAt'),
    updatedAt: decodeInstant(json['updatedAt']) ?? corrupt('updatedAt'),
    version: json['version'] as number,
  }
}

export function encodeRules(rules: UnitRules): Json {
  return { ...rules, rates: encodeRates(rules.rates) }
}

export function decodeRules(json: Json): UnitRules {
  return { ...(json as unknown as UnitRules), rates: decodeRates(json['rates'] as Json) }
}

/** Also the shape of the `rates` column of `unit`. */
export function encodeRates(rates: Rates): Json {
  return {
    ...rates,
    seasons: rates.seasons.map((season) => ({ ...season, from: formatNight(season.from), to: formatNight(season.to) })),
  }
}

export function decodeRates(json: Json): Rates {
  const seasons = json['seasons'] as Json[]
  return {
    ...(json as unknown as Rates),
    seasons: seasons.map((season) => ({
      ...(season as unknown as Rates['seasons'][number]),
      from: decodeNight(season['from']),
      to: decodeNight(season['to']),
    })),
  }
}

export function decodeNight(value: unknown): Night {
  const night = typeof value === 'string' ? parseNight(value) : null
  return night ?? corrupt('a date')
}

function encodeInstant(instant: Instant | null): string | null {
  return instant === null ? null : new Date(instant).toISOString()
}

function decodeInstant(value: unknown): Instant | null {
  if (value === null) return null
  const instant = Date.parse(String(value))
  return Number.isNaN(instant) ? corrupt('an instant') : instant
}

function corrupt(what: string): never {
  throw new CorruptLedgerError(`Cannot read the ledger: ${what} is not as it was written`)
}
