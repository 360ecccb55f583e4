/** Events as the journal keeps them: JSON that people can read, dates as dates, instants as ISO 8601. */
import type { UnitEvent } from '../domain/event.ts'
import { formatNight } from '../domain/night.ts'
import type { Rates, UnitRules } from '../domain/rules.ts'
import type { Unit } from '../domain/unit.ts'
import { decodeBooking, type EncodedBooking, encodeBooking } from './booking-fields.ts'
import { CorruptLedgerError } from './corrupt-ledger-error.ts'
import { decodeNight } from './fields.ts'

export interface StoredEntry {
  readonly seq: number
  readonly unitId: string
  readonly otherUnitId: string | null
  readonly kind: string
  readonly payload: string
  readonly checksum: string
}

export interface EncodedEntry extends StoredEntry {
  /** The booking after the event, as the payload has it; null for an event of a unit. */
  readonly booking: EncodedBooking | null
}

/** The units an event belongs to: the one it is filed under, and the one a booking came from when it moved (U4). */
export function unitsOf(event: UnitEvent): { unitId: string; otherUnitId: string | null } {
  if (event.kind === 'unit_set') return { unitId: event.unit.id, otherUnitId: null }
  const unitId = event.after.unitId
  const from = event.kind === 'booking_created' ? unitId : event.before.unitId
  return { unitId, otherUnitId: from === unitId ? null : from }
}

/** An event as it is stored at `seq`. The checksum covers everything that recovery relies on. */
export function encodeEntry(event: UnitEvent, seq: number): EncodedEntry {
  const { unitId, otherUnitId } = unitsOf(event)
  const booking = event.kind === 'unit_set' ? null : encodeBooking(event.after)
  const draft = { seq, unitId, otherUnitId, kind: event.kind, payload: payloadOf(event, booking) }
  return { ...draft, checksum: checksumOf(draft), booking }
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

/** `after`: the event's, encoded. */
function payloadOf(event: UnitEvent, after: EncodedBooking | null): string {
  switch (event.kind) {
    case 'unit_set':
      return JSON.stringify({ unit: { ...event.unit, rules: encodeRules(event.unit.rules) } })
    case 'booking_created':
      return JSON.stringify({ after })
    case 'booking_changed':
    case 'booking_cancelled':
      return JSON.stringify({ before: encodeBooking(event.before), after })
  }
}

type Json = Record<string, unknown>

function decodeEvent(kind: string, payload: string, seq: number): UnitEvent {
  const body = JSON.parse(payload) as { unit: Json; before: EncodedBooking; after: EncodedBooking }
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
