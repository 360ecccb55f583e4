/** What the overview says of a tape: who comes, goes and stays today, and how the months go. Pure. */
import type { Schema } from '../../api/schema.ts'
import { type Day, dayOf, monthStart } from '../../format/days.ts'
import { nameText } from '../../format/texts.ts'

type Tape = Schema<'Tape'>
type StayType = Tape['types'][number]
type StayStatus = Tape['statuses'][number]

export interface SheetStay {
  readonly id: string
  readonly unit: string
  readonly arrival: Day
  /** The day after the last night. */
  readonly departure: Day
  readonly type: StayType
  readonly status: StayStatus
  readonly guest: string | null
  /** Minor units. */
  readonly total: number | null
  /** Milliseconds. */
  readonly holdExpiresAt: number | null
  readonly guests: number
}

/** One month; only guest stays count, and only those that are not holds or drafts. */
export interface Month {
  readonly start: Day
  readonly soldNights: number
  /** Nights of all units that are rented out today. */
  readonly nights: number
  /** Minor units: the part of each stay's total that falls on nights of the month. */
  readonly revenue: number
}

export interface DaySheet {
  readonly today: Day
  readonly arrivals: readonly SheetStay[]
  readonly departures: readonly SheetStay[]
  /** Guests who sleep here tonight. */
  readonly inHouse: readonly SheetStay[]
  /** Soonest first. */
  readonly holds: readonly SheetStay[]
  /** Units that are rented out. */
  readonly units: number
  readonly months: readonly Month[]
}

const SOLD: ReadonlySet<StayStatus> = new Set(['confirmed', 'checked_in', 'checked_out'])

/** The days that `daySheet` needs: whole months around today. */
export function sheetWindow(today: Day): { from: Day; to: Day } {
  return { from: monthStart(today, -5), to: monthStart(today, 7) }
}

export function daySheet(tape: Tape): DaySheet {
  const [from, to, today] = [dayOf(tape.from), dayOf(tape.to), dayOf(tape.today)]
  const stays = tape.stays.map((row) => readStay(tape, from, row))
  const guests = stays.filter(({ type, status }) => type === 'guest' && SOLD.has(status))
  const units = tape.units.filter((unit) => unit[9] === 'active').length
  return {
    today,
    units,
    arrivals: guests.filter(({ arrival }) => arrival === today).sort(byUnit),
    departures: guests.filter(({ departure }) => departure === today).sort(byUnit),
    inHouse: guests
      .filter(({ arrival, departure, status }) => arrival <= today && departure > today && status !== 'checked_out')
      .sort((a, b) => a.departure - b.departure || byUnit(a, b)),
    holds: stays
      .filter(({ status, holdExpiresAt }) => status === 'option' && holdExpiresAt !== null)
      .sort((a, b) => (a.holdExpiresAt ?? 0) - (b.holdExpiresAt ?? 0)),
    months: monthsOf(guests, { from, to, units }),
  }
}

function monthsOf(stays: readonly SheetStay[], { from, to, units }: { from: Day; to: Day; units: number }): Month[] {
  const months: Month[] = []
  for (let start = from; start < to; start = monthStart(start, 1)) {
    const end = monthStart(start, 1)
    let [soldNights, revenue] = [0, 0]
    for (const { arrival, departure, total } of stays) {
      const nights = Math.min(departure, end) - Math.max(arrival, start)
      if (nights <= 0) continue
      soldNights += nights
      revenue += ((total ?? 0) * nights) / (departure - arrival)
    }
    months.push({ start, soldNights, nights: units * (end - start), revenue: Math.round(revenue) })
  }
  return months
}

function readStay({ types, statuses, units }: Tape, from: Day, row: Tape['stays'][number]): SheetStay {
  const [id, unit, arrival, departure, type, status, guest, , total, holdExpiresAt, , , adults, children] = row
  return {
    id,
    unit: units[unit]?.[1] ?? '',
    arrival: from + arrival,
    departure: from + departure,
    type: types[type] ?? 'block',
    status: statuses[status] ?? 'draft',
    guest: guest === null ? null : nameText(guest),
    total,
    holdExpiresAt: holdExpiresAt === null ? null : holdExpiresAt * 1_000,
    guests: adults + children,
  }
}

function byUnit(a: SheetStay, b: SheetStay): number {
  return a.unit.localeCompare(b.unit)
}
