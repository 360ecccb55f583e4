/** The tape chart as compact JSON text: lists of values in place of objects, a tenth of the size of as many bookings. */

import { type Static, type TSchema, Type } from '@sinclair/typebox'
import type { TapeStay } from '../../core/bookings/booking-lists.ts'
import type { Agency, Inventory } from '../../core/catalogue/agency.ts'
import { BOOKING_STATUSES, BOOKING_TYPES, type BookingStatus } from '../../core/domain/booking.ts'
import { currencyDigits } from '../../core/domain/money.ts'
import type { Night } from '../../core/domain/night.ts'
import { closedDates } from '../../core/domain/restrictions.ts'
import { UNIT_STATUSES, type Unit } from '../../core/domain/unit.ts'
import { nightOf } from '../../http/json/request-fields.ts'
import { choice, dateText, nullable } from '../../http/text-schema.ts'
import { Slices } from '../../lib/slices.ts'

/** A quarter of a millisecond of CPU. */
const STAYS_PER_SLICE = 200
/** This many dates of restrictions take as long as one stay, and this many rows the first time that they are read. */
const DATES_PER_STAY = 40
const ROWS_PER_STAY = 2

type TapeStatus = TapeStay['status']
const TAPE_STATUSES = BOOKING_STATUSES.filter((status: BookingStatus): status is TapeStatus => status !== 'cancelled')

/** A list with a fixed number of members, each with a schema of its own. */
function row<const M extends readonly TSchema[]>(description: string, members: M) {
  const { length } = members
  return Type.Unsafe<{ -readonly [I in keyof M]: Static<M[I]> }>({
    type: 'array',
    description,
    prefixItems: members,
    items: false,
    minItems: length,
    maxItems: length,
  })
}

const integer = (description: string) => Type.Integer({ description })
const textOrNull = (description: string) => nullable(Type.String({ description }))

export const TapeJson = Type.Object(
  {
    from: dateText('As requested.'),
    to: dateText('As requested.'),
    today: dateText("The current day in the agency's time zone."),
    currency: Type.String({ description: 'ISO 4217 code. Amounts are in its minor unit.' }),
    currencyDigits: Type.Integer({ minimum: 0, maximum: 4, description: 'Digits of the minor unit, by ISO 4217.' }),
    timezone: Type.String({ description: 'IANA name.' }),
    cursor: Type.String({
      description: 'Cursor of the feed of changes: everything that this answer does not show comes after it.',
    }),
    types: Type.Array(choice(BOOKING_TYPES)),
    statuses: Type.Array(choice(TAPE_STATUSES)),
    sources: Type.Array(Type.String()),
    units: Type.Array(
      row('A unit.', [
        Type.String({ description: 'slug' }),
        Type.String({ description: 'name' }),
        textOrNull('city'),
        textOrNull('area'),
        Type.Number({ description: 'bedrooms' }),
        Type.Number({ description: 'maxGuests' }),
        integer('minStay, nights'),
        integer('turnoverNights'),
        integer('extraBedFee, minor units'),
        choice(UNIT_STATUSES, { description: 'status' }),
      ]),
      { description: 'By name; archived units come last, and only if one of their stays is shown.' },
    ),
    restrictions: Type.Optional(
      Type.Array(
        row('Closed days of a unit.', [
          integer('unit: its index in `units`'),
          Type.String({
            description:
              'A digit per day from `from` on: the sum of 1 (closed to arrival), 2 (closed to departure) and 4 (the night is not for sale). ' +
              'Trailing zeros are left out.',
          }),
        ]),
        { description: 'One for each unit with closed days in the window. Absent if there are none.' },
      ),
    ),
    groups: Type.Optional(
      Type.Array(
        row('The stays of a group.', [
          Type.String({ description: 'groupId' }),
          Type.Array(Type.Integer(), { description: 'Their indexes in `stays`; the others are not in the window.' }),
        ]),
        { description: 'Absent if no shown stay is of a group.' },
      ),
    ),
    stays: Type.Array(
      row('A stay.', [
        Type.String({ description: 'id of the booking' }),
        integer('unit: its index in `units`'),
        integer('arrival: days from `from`; can be negative'),
        integer('departure: days from `from`'),
        integer('type: its index in `types`'),
        integer('status: its index in `statuses`'),
        textOrNull('guest: first and last name'),
        integer('source: its index in `sources`'),
        nullable(integer('total: minor units')),
        nullable(integer('holdExpiresAt: seconds since 1970; null unless the booking is a hold')),
        nullable(integer('expectedUntil: days from `from`')),
        integer('version of the booking'),
        integer('adults'),
        integer('children'),
        textOrNull('sourceRef'),
      ]),
      { description: 'In no particular order, without cancelled bookings.' },
    ),
  },
  { $id: 'Tape' },
)

interface Shown {
  readonly agency: Agency
  readonly inventory: Inventory
  /** As requested. */
  readonly from: string
  readonly to: string
  readonly today: string
  readonly cursor: string
  readonly stays: readonly TapeStay[]
}

/** The answer's text. Other requests are answered in between. */
export async function tapeText(
  { agency, inventory, from, to, today, cursor, stays }: Shown,
  slices = new Slices(STAYS_PER_SLICE),
): Promise<string> {
  const units = new TapeUnits(inventory)
  const sources = new Indexes()
  const groups = new Map<string, number[]>()
  let written = 0
  let text = ''
  for (let start = 0; start < stays.length; start += STAYS_PER_SLICE) {
    const some = stays.slice(start, start + STAYS_PER_SLICE)
    const rows = some.flatMap((stay) => {
      const unit = units.indexOf(stay.unitId)
      // The unit of another writer, which has fenced out this one; it does not know of it yet.
      if (unit === null) return []
      if (stay.groupId !== null) groups.set(stay.groupId, [...(groups.get(stay.groupId) ?? []), written])
      written += 1
      return [stayText(stay, unit, sources.of(stay.source))]
    })
    text += `${text === '' || rows.length === 0 ? '' : ','}${rows.join()}`
    const pause = slices.spend(some.length)
    if (pause !== null) await pause
  }
  const { currency, timezone } = agency
  const head = JSON.stringify({ from, to, today, currency, currencyDigits: currencyDigits(currency), timezone, cursor })
  const lists = JSON.stringify({
    types: BOOKING_TYPES,
    statuses: TAPE_STATUSES,
    sources: sources.keys,
    units: units.rows,
    ...(await closedMember(units.shown, { from: nightOf(from), to: nightOf(to) }, slices)),
    ...(groups.size === 0 ? {} : { groups: [...groups] }),
  })
  return `${head.slice(0, -1)},${lists.slice(1, -1)},"stays":[${text}]}`
}

async function closedMember(shown: readonly Unit[], { from, to }: { from: Night; to: Night }, slices: Slices) {
  const closed: [unit: number, digits: string][] = []
  for (const [index, { rules }] of shown.entries()) {
    if (rules.restrictions === undefined) continue
    const digits = closedDates(rules.restrictions, from, to)
    if (digits !== '') closed.push([index, digits])
    const rows = rules.restrictions.rows.length
    const pause = slices.spend(Math.ceil((to - from) / DATES_PER_STAY + rows / ROWS_PER_STAY))
    if (pause !== null) await pause
  }
  return closed.length === 0 ? {} : { restrictions: closed }
}

const TYPE_INDEXES = indexesOf(BOOKING_TYPES)
const STATUS_INDEXES = indexesOf(TAPE_STATUSES)

function stayText(stay: TapeStay, unit: number, source: number): string {
  const { id, arrival, departure, total, holdExpiresAt, expectedUntil, version, adults, children } = stay
  const [type, status] = [TYPE_INDEXES[stay.type], STATUS_INDEXES[stay.status]]
  const [guest, sourceRef] = [quoted(stay.guest), quoted(stay.sourceRef)]
  return `["${id}",${unit},${arrival},${departure},${type},${status},${guest},${source},${total},${holdExpiresAt},${expectedUntil},${version},${adults},${children},${sourceRef}]`
}

function quoted(text: string | null): string {
  return text === null ? 'null' : JSON.stringify(text)
}

function indexesOf<K extends string>(keys: readonly K[]): Readonly<Record<K, number>> {
  return Object.fromEntries(keys.map((key, index) => [key, index])) as Record<K, number>
}

/** Numbers keys in the order in which they come. */
class Indexes {
  readonly #indexes = new Map<string, number>()

  get keys(): string[] {
    return [...this.#indexes.keys()]
  }

  of(key: string): number {
    const known = this.#indexes.get(key)
    if (known !== undefined) return known
    this.#indexes.set(key, this.#indexes.size)
    return this.#indexes.size - 1
  }
}

/** The units of the chart: all that are listed, and those archived ones that a stay is shown of. */
class TapeUnits {
  readonly #inventory: Inventory
  readonly shown: Unit[]
  readonly #indexes: Map<string, number>

  constructor(inventory: Inventory) {
    this.#inventory = inventory
    this.shown = [...inventory.listed]
    this.#indexes = new Map(this.shown.map(({ id }, index) => [id, index]))
  }

  get rows(): unknown[][] {
    return this.shown.map((unit) => {
      const { slug, name, city, area, bedrooms, maxGuests, rules, status } = unit
      const { minStay, turnoverNights, extraBedFee } = rules
      return [slug, name, city, area, bedrooms, maxGuests, minStay, turnoverNights, extraBedFee, status]
    })
  }

  /** Null for a unit that is not in the inventory. */
  indexOf(unitId: string): number | null {
    const known = this.#indexes.get(unitId)
    if (known !== undefined) return known
    const unit = this.#inventory.unitById(unitId)
    if (unit === null) return null
    this.#indexes.set(unitId, this.shown.length)
    return this.shown.push(unit) - 1
  }
}
