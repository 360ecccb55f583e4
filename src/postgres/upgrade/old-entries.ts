/** Journal entries of the layout before shards: what they say, as an entry of today, and how they are written. */
import type { Booking, BookingStatus, BookingType } from '../../core/domain/booking.ts'
import type { UnitEvent } from '../../core/domain/event.ts'
import type { Unit } from '../../core/domain/unit.ts'
import { CorruptLedgerError } from '../../core/journal/corrupt-ledger-error.ts'
import { decodeRules, encodeRules, unitsOf } from '../../core/journal/entry-codec.ts'
import {
  bigint,
  boolean,
  decoderOf,
  type Encoded,
  encoderOf,
  type Field,
  instant,
  integer,
  night,
  nullable,
  text,
} from '../../core/journal/fields.ts'

/** The columns that an old entry is read from. Ids are text with their prefix. */
export interface OldEntry {
  readonly seq: number
  readonly unitId: string
  readonly otherUnitId: string | null
  readonly kind: string
  readonly payload: string
  /** 16 hexadecimal digits. */
  readonly checksum: string
}

/** In the order of the old payload. */
const OLD_BOOKING_FIELDS = {
  id: text(),
  unitId: text(),
  type: text<BookingType>(),
  status: text<BookingStatus>(),
  source: text(),
  sourceRef: nullable(text()),
  arrival: night(),
  departure: night(),
  adults: integer(),
  children: integer(),
  extraBed: boolean(),
  totalAmount: bigint(),
  holdExpiresAt: nullable(instant()),
  expectedUntil: nullable(night()),
  cancelledAt: nullable(instant()),
  cancelReason: nullable(text()),
  createdAt: instant(),
  updatedAt: instant(),
  version: integer(),
} as const satisfies { readonly [N in keyof Booking]: Field<Booking[N]> }
const OLD_BOOKING_NAMES = Object.keys(OLD_BOOKING_FIELDS) as (keyof Booking)[]

type OldBooking = Encoded<typeof OLD_BOOKING_FIELDS>

const encodeBooking = encoderOf(OLD_BOOKING_FIELDS)
const decodeBooking = decoderOf(OLD_BOOKING_FIELDS)

interface OldPayload {
  readonly unit: Unit & { readonly rules: Record<string, unknown> }
  readonly before: OldBooking
  readonly after: OldBooking
}

/** The event of an entry, with the free texts. @throws CorruptLedgerError when the row is not as it was written */
export function decodeOldEvent(entry: OldEntry): UnitEvent {
  const { kind, payload, seq } = entry
  if (oldChecksum(entry) !== entry.checksum)
    throw new CorruptLedgerError(`Cannot read journal entry ${seq}: its checksum does not match`)
  const { unit, before, after } = JSON.parse(payload) as OldPayload
  switch (kind) {
    case 'unit_set':
      return { kind, unit: { ...unit, rules: decodeRules(unit.rules as unknown as Record<string, unknown>) } }
    case 'booking_created':
      return { kind, after: decodeBooking(after) }
    case 'booking_changed':
    case 'booking_cancelled':
      return { kind, before: decodeBooking(before), after: decodeBooking(after) }
    default:
      throw new CorruptLedgerError(`Cannot read journal entry ${seq}: its kind ${kind} is not known to this version`)
  }
}

/** An event as the old layout stores it at `seq`. */
export function encodeOldEvent(event: UnitEvent, seq: number): OldEntry {
  const draft = { seq, ...unitsOf(event), kind: event.kind, payload: JSON.stringify(payloadOf(event)) }
  return { ...draft, checksum: oldChecksum(draft) }
}

function payloadOf(event: UnitEvent): object {
  if (event.kind === 'unit_set') return { unit: { ...event.unit, rules: encodeRules(event.unit.rules) } }
  const after = encodeOldBooking(event.after)
  return event.kind === 'booking_created' ? { after } : { before: encodeOldBooking(event.before), after }
}

/** As payloads have it. */
export function encodeOldBooking(booking: Booking): object {
  const encoded = encodeBooking(booking)
  return Object.fromEntries(OLD_BOOKING_NAMES.map((name) => [name, encoded[name]]))
}

function oldChecksum({ seq, unitId, otherUnitId, kind, payload }: Omit<OldEntry, 'checksum'>): string {
  const covered = `${seq}|${unitId}|${otherUnitId ?? ''}|${kind}|${payload}`
  return Bun.hash.xxHash64(covered).toString(16).padStart(16, '0')
}
