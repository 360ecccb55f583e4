/** Entries as the journal keeps them: JSON that people can read, dates as dates, instants as ISO 8601. */

import { assert } from '../../lib/assert.ts'
import { leafHash } from '../../lib/merkle-hash.ts'
import {
  type BookingFacts,
  type DateSpan,
  isUnitSet,
  type LedgerEvent,
  type LoggedEvent,
  PRICINGS,
  type Pricing,
  type UnitSet,
  webhookEventOf,
} from '../domain/booking.ts'
import { formatNight, type Night } from '../domain/night.ts'
import type { Restrictions } from '../domain/restrictions.ts'
import type { Rates, Unit, UnitRules } from '../domain/unit.ts'
import {
  decodeLoggedBooking,
  type EncodedBooking,
  encodeBooking,
  type LoggedBooking,
  loggedBooking,
  loggedDifference,
  withCreatedAt,
} from './booking-codec.ts'
import { decodeNight, SharedValues } from './fields.ts'
import { CorruptLedgerError } from './journal-error.ts'
import type { Entry, Envelope } from './record.ts'
import { coveredText, type Link, type LinkedEntry, type Month, NO_LINK, nextLink } from './shard.ts'

/** What a unit is recovered from, and the checksum that covers it. */
export interface StoredEntry {
  readonly seq: number
  /** Null for an erased guest. */
  readonly unitId: string | null
  readonly otherUnitId: string | null
  readonly bookingId: string | null
  readonly kind: string
  readonly payload: string
  /** A signed 64-bit integer in decimal digits. */
  readonly checksum: string
}

/** An entry as it is stored, in full. */
export interface EncodedEntry extends StoredEntry, LinkedEntry {
  readonly link: Link
  /** The hash of its leaf in the tree of its agency. */
  readonly leaf: Uint8Array
  /** The booking after the event, for its row; null for any other event. */
  readonly booking: EncodedBooking | null
}

/** Where an entry stands in the log of its shard. */
export interface EntryPlace {
  readonly shard: number
  readonly seq: number
  readonly month: Month
  /** The link of the entry before it. */
  readonly previousLink: Link
  /** Of the shard's chain. */
  readonly chainKey: Uint8Array
  /** Left out: it is the only entry of its record. */
  readonly part?: EntryPart | undefined
}

/** Which entry of its record it is, from 1, and how many the record has (J9). */
export type EntryPart = readonly [number: number, of: number]

/** The units an event belongs to: the one it is filed under, and the one a booking came from when it moved (U4). */
export function unitsOf(event: LoggedEvent): { unitId: string; otherUnitId: string | null } {
  if (isUnitSet(event)) return { unitId: event.unit.id, otherUnitId: null }
  const unitId = event.after.unitId
  const from = event.kind === 'booking_created' ? unitId : event.before.unitId
  return { unitId, otherUnitId: from === unitId ? null : from }
}

const OF_NO_UNIT = { unitId: null, otherUnitId: null } as const

/** An entry as it is stored at `place`. */
export function encodeEntry(agencyId: string, entry: Entry, place: EntryPlace): EncodedEntry {
  const { event } = entry
  const { actor, route, requestId, traceparent = null } = entry.caller
  const { shard, seq, month } = place
  const { unitId, otherUnitId } = event.kind === 'guest_erased' ? OF_NO_UNIT : unitsOf(event)
  const booking = 'after' in event ? encodeBooking(event.after) : null
  // One object, filled in two steps: copies of it were a tenth of the cost of an entry.
  const encoded = {
    shard,
    seq,
    month,
    at: entry.at,
    agencyId,
    unitId,
    otherUnitId,
    bookingId: booking?.id ?? null,
    id: entry.id,
    kind: event.kind,
    isAnnounced: webhookEventOf(event) !== null,
    actor,
    route,
    requestId,
    traceparent,
    payload: payloadOf(entry, booking, place.part),
    checksum: '',
    link: NO_LINK,
    leaf: NO_LINK,
    booking,
  }
  encoded.checksum = checksumOf(encoded)
  const covered = coveredText(encoded)
  encoded.link = nextLink(place.chainKey, place.previousLink, covered)
  encoded.leaf = leafHash(covered)
  return encoded
}

/** Of an entry of a unit. @throws CorruptLedgerError naming the sequence number when the row is not as it was written */
export function decodeEntry(entry: StoredEntry): LoggedEvent {
  const event = decodeAnyEntry(entry)
  if (event.kind === 'guest_erased')
    throw new CorruptLedgerError(`Cannot read journal entry ${entry.seq} as that of a unit: it erases a guest`)
  return event
}

/** @throws CorruptLedgerError as `decodeEntry` does */
export function decodeAnyEntry(entry: StoredEntry): LedgerEvent<BookingFacts> {
  if (checksumOf(entry) !== entry.checksum)
    throw new CorruptLedgerError(`Cannot read journal entry ${entry.seq}: its checksum does not match`)
  try {
    return decodeEvent(entry)
  } catch (error) {
    if (error instanceof CorruptLedgerError) throw error
    throw new CorruptLedgerError(`Cannot read journal entry ${entry.seq}: it is not as it was written`, {
      cause: error,
    })
  }
}

/** What the webhook event of an entry says beyond the booking. @throws CorruptLedgerError when the entry has none */
export function envelopeIn({ payload, seq }: Pick<StoredEntry, 'payload' | 'seq'>): Envelope {
  const { envelope } = JSON.parse(payload) as { envelope?: Envelope }
  if (envelope === undefined) throw new CorruptLedgerError(`Cannot read journal entry ${seq}: it has no envelope`)
  return envelope
}

/** Null: it is the only entry of its record. Quotes inside texts are escaped, so no text can look like the member. */
export function partIn({ payload }: Pick<StoredEntry, 'payload'>): EntryPart | null {
  if (!payload.includes('"part":[')) return null
  return (JSON.parse(payload) as { part?: EntryPart }).part ?? null
}

/** The group of the booking that an entry creates; null: it creates no booking, or one without a group. */
export function groupIn({ kind, payload }: Pick<StoredEntry, 'kind' | 'payload'>): string | null {
  if (kind !== 'booking_created' || !payload.includes('"groupId":"')) return null
  return (JSON.parse(payload) as { after: Partial<LoggedBooking> }).after.groupId ?? null
}

/** Covers everything that recovery relies on. */
function checksumOf({ seq, unitId, otherUnitId, bookingId, kind, payload }: Omit<StoredEntry, 'checksum'>): string {
  const covered = `${seq}|${unitId ?? ''}|${otherUnitId ?? ''}|${bookingId ?? ''}|${kind}|${payload}`
  return BigInt.asIntN(64, Bun.hash.xxHash64(covered)).toString()
}

/** `after`: the event's booking, encoded. Of a booking before its change, only what is different is kept. */
function payloadOf({ event, envelope }: Entry, after: EncodedBooking | null, part: EntryPart | undefined): string {
  if (event.kind === 'guest_erased') return JSON.stringify({ guestId: event.guestId, part })
  if (isUnitSet(event))
    return JSON.stringify({ unit: encodeUnit(event.unit), changed: encodeChanged(event.changed), part })
  assert(after !== null, 'Cannot encode an entry: its booking is missing')
  assert(envelope !== null, 'Cannot encode an entry: its envelope is missing')
  const before = event.kind === 'booking_created' ? null : loggedDifference(encodeBooking(event.before), after)
  // Last: the audit trail finds it there.
  const pricing = event.kind === 'booking_changed' ? event.pricing : undefined
  if (before !== null) return JSON.stringify({ after: loggedBooking(after), before, part, envelope, pricing })
  const logged = loggedBooking(after)
  // A new booking was created when it was last changed: the same time is not written twice.
  if (logged.createdAt === logged.updatedAt)
    return JSON.stringify({ after: { ...logged, createdAt: undefined }, part, envelope })
  const { createdAt, ...others } = logged
  return JSON.stringify({ after: { createdAt, ...others }, part, envelope })
}

type Json = Record<string, unknown>

function decodeEvent(entry: StoredEntry): LedgerEvent<BookingFacts> {
  const { kind, payload, seq, unitId, otherUnitId, bookingId } = entry
  const body = JSON.parse(payload) as {
    unit: Json
    changed?: Json
    before: Partial<LoggedBooking>
    after: Partial<LoggedBooking>
    pricing?: Pricing
    guestId?: string
  }
  if (kind === 'guest_erased') {
    const { guestId } = body
    if (guestId === undefined || unitId !== null)
      throw new CorruptLedgerError(`Cannot read journal entry ${seq}: it names no guest, or a unit`)
    return { kind, guestId }
  }
  if (unitId === null) throw new CorruptLedgerError(`Cannot read journal entry ${seq}: it names no unit`)
  if (kind === 'unit_set' || kind === 'rates_set') return decodeUnitSet(kind, body)
  if (bookingId === null) throw new CorruptLedgerError(`Cannot read journal entry ${seq}: it names no booking`)
  const ids = { id: bookingId, unitId }
  switch (kind) {
    case 'booking_created':
      return { kind, after: decodeLoggedBooking(withCreatedAt(body.after), ids) }
    case 'booking_changed':
    case 'booking_cancelled': {
      const before = decodeLoggedBooking({ ...body.after, ...body.before }, { ...ids, unitId: otherUnitId ?? unitId })
      const after = decodeLoggedBooking(body.after, ids)
      const { pricing } = body
      if (kind === 'booking_cancelled' || pricing === undefined) return { kind, before, after }
      if (!PRICINGS.includes(pricing))
        throw new CorruptLedgerError(
          `Cannot read journal entry ${seq}: its pricing ${pricing} is not known to this version`,
        )
      return { kind, before, after, pricing }
    }
    default:
      throw new CorruptLedgerError(`Cannot read journal entry ${seq}: its kind ${kind} is not known to this version`)
  }
}

/** Entries from before changes of units were announced have no `changed`, and fire no event. */
function decodeUnitSet(kind: UnitSet['kind'], { unit, changed }: { unit: Json; changed?: Json }): UnitSet {
  const set = { kind, unit: decodeUnit(unit) }
  if (changed === undefined) return set
  return { ...set, changed: { from: dateOrNull(changed['from']), to: dateOrNull(changed['to']) } }
}

function encodeChanged(changed: DateSpan | undefined): Json | undefined {
  return changed && { from: encodedDate(changed.from), to: encodedDate(changed.to) }
}

function encodedDate(night: Night | null): string | null {
  return night === null ? null : formatNight(night)
}

function dateOrNull(value: unknown): Night | null {
  return value === null ? null : decodeNight(value)
}

/** A unit without a registration number is encoded without the member, as before units had one. */
function encodeUnit(unit: Unit): Json {
  return { ...unit, registrationNumber: unit.registrationNumber ?? undefined, rules: encodeRules(unit.rules) }
}

function decodeUnit(json: Json): Unit {
  const { registrationNumber = null, ...unit } = json as Partial<Pick<Unit, 'registrationNumber'>>
  return { ...(unit as Unit), registrationNumber, rules: decodeRules(json['rules'] as Json) }
}

export function encodeRules(rules: UnitRules): Json {
  const { rates, restrictions } = rules
  const encoded = { ...rules, rates: encodeRates(rates) }
  return restrictions === undefined ? encoded : { ...encoded, restrictions: encodeRestrictions(restrictions) }
}

export function decodeRules(json: Json): UnitRules {
  const rules = { ...(json as unknown as UnitRules), rates: decodeRates(json['rates'] as Json) }
  return 'restrictions' in json ? { ...rules, restrictions: decodeRestrictions(json['restrictions'] as Json) } : rules
}

/** Also the shape of the `rates` column of `unit`. */
export function encodeRates(rates: Rates): Json {
  return {
    ...rates,
    seasons: rates.seasons.map((season) => ({ ...season, from: formatNight(season.from), to: formatNight(season.to) })),
  }
}

export function decodeRates(json: Json): Rates {
  const { seasons, weekdayAdjustments, lengthOfStayDiscounts } = json as unknown as Omit<Rates, 'seasons'> & {
    seasons: Json[]
  }
  return {
    ...(json as unknown as Rates),
    seasons: seasons.map((season) => ({
      ...(season as unknown as Rates['seasons'][number]),
      from: decodeNight(season['from']),
      to: decodeNight(season['to']),
    })),
    weekdayAdjustments: adjustments.shared(weekdayAdjustments),
    lengthOfStayDiscounts: discounts.shared(lengthOfStayDiscounts),
  }
}

/** Also the shape of the `restrictions` column of `unit`. */
export function encodeRestrictions(restrictions: Restrictions): Json {
  const rows = restrictions.rows.map((row) => ({ ...row, from: encodedDate(row.from), to: encodedDate(row.to) }))
  return { ...restrictions, rows }
}

export function decodeRestrictions(json: Json): Restrictions {
  const rows = (json['rows'] as Json[]).map((row) => ({
    ...(row as unknown as Restrictions['rows'][number]),
    from: dateOrNull(row['from']),
    to: dateOrNull(row['to']),
  }))
  return { ...(json as unknown as Restrictions), rows }
}

/** Distinct lists kept of each kind. */
const SHARED_MAX = 1_000
const adjustments = new SharedValues<Rates['weekdayAdjustments']>(SHARED_MAX)
const discounts = new SharedValues<Rates['lengthOfStayDiscounts']>(SHARED_MAX)
