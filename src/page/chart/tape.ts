/** Units and stays as the chart has them: read from the tape, and from units and bookings of their own. */
import { answerOf, client } from '../api/client.ts'
import type { Schema } from '../api/schema.ts'
import { type Day, dayOf, isoOf } from '../format/days.ts'
import { nameText } from '../format/texts.ts'
import { guestName } from '../stays/stay-name.ts'
import type { ChartUnit, Stay } from './stay.ts'

/** Units and stays of a window, as rows of values. */
export type Tape = Schema<'Tape'>

/** @param window from the first day to the day after the last. @throws Problem */
export async function getTape(
  path: { readonly agencySlug: string },
  { from, to }: { from: Day; to: Day },
  signal: AbortSignal,
): Promise<Tape> {
  const query = { from: isoOf(from), to: isoOf(to) }
  const tape = await answerOf(client.GET('/portal/v1/agencies/{agencySlug}/tape', { params: { path, query }, signal }))
  // The client's types forget how long a row is.
  return tape as Tape
}

/** A page of the tape as the chart takes it. */
export interface ChartTape {
  readonly from: Day
  /** Exclusive. */
  readonly to: Day
  readonly today: Day
  /** Where the changes continue from. */
  readonly cursor: string
  readonly units: readonly ChartUnit[]
  readonly stays: readonly Stay[]
}

/** Reads the rows of values of `GET …/tape`. */
export function readTape({ types, statuses, sources, ...tape }: Tape): ChartTape {
  const from = dayOf(tape.from)
  const window = { from, to: dayOf(tape.to) }
  const closed = new Map(tape.restrictions)
  const groups = new Map(tape.groups?.flatMap(([groupId, stays]) => stays.map((stay) => [stay, groupId] as const)))
  const units = tape.units.map((row, index) => {
    const digits = closed.get(index)
    return readUnit(row, digits === undefined ? [] : [{ ...window, digits }])
  })
  const stays = tape.stays.map((row, index): Stay => {
    const [id, unit, arrival, departure, type, status, guest, source, total, holdExpiresAt, expectedUntil, ...rest] =
      row
    const [version, adults, children, sourceRef] = rest
    return {
      id,
      unit: units[unit]?.slug ?? '',
      arrival: from + arrival,
      departure: from + departure,
      type: types[type] ?? 'block',
      status: statuses[status] ?? 'confirmed',
      guest: guest === null ? null : nameText(guest),
      source: sources[source] ?? '',
      sourceRef,
      total,
      holdExpiresAt,
      expectedUntil: expectedUntil === null ? null : from + expectedUntil,
      version,
      adults,
      children,
      groupId: groups.get(index) ?? null,
    }
  })
  return { ...window, today: dayOf(tape.today), cursor: tape.cursor, units, stays }
}

function readUnit(row: Tape['units'][number], closed: ChartUnit['closed']): ChartUnit {
  const [slug, name, city, area, bedrooms, maxGuests, minStay, turnoverNights, , status] = row
  const isArchived = status === 'archived'
  return { slug, name, city, area, bedrooms, maxGuests, minStay, turnoverNights, isArchived, closed }
}

/** A booking as the chart has it. */
export function stayOfBooking(booking: Schema<'Booking'>): Stay {
  const { id, unitSlug, type, status, source, sourceRef, totalAmount, version, adults, children, guest } = booking
  return {
    id,
    type,
    status,
    source,
    sourceRef,
    version,
    adults,
    children,
    groupId: booking.groupId ?? null,
    unit: unitSlug,
    arrival: dayOf(booking.arrival),
    departure: dayOf(booking.departure),
    guest: guest === null ? null : guestName(guest),
    total: totalAmount,
    holdExpiresAt: booking.holdExpiresAt === null ? null : Math.floor(Date.parse(booking.holdExpiresAt) / 1_000),
    expectedUntil: booking.expectedUntil === null ? null : dayOf(booking.expectedUntil),
  }
}

/** @param closed the closed days, which `unit` does not have */
export function unitOfJson(unit: Schema<'Unit'>, closed: ChartUnit['closed']): ChartUnit {
  const { slug, name, city, area, bedrooms, maxGuests, minStay, turnoverNights, status } = unit
  const isArchived = status === 'archived'
  return { slug, name, city, area, bedrooms, maxGuests, minStay, turnoverNights, isArchived, closed }
}
