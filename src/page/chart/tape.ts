import type { Tape } from '../api/tape.ts'
import { type Day, dayOf } from '../format/days.ts'
import { nameText } from '../format/texts.ts'
import type { ChartUnit, Stay } from './stay.ts'

/** A page of the tape as the chart takes it. */
export interface ChartTape {
  readonly from: Day
  /** Exclusive. */
  readonly to: Day
  readonly today: Day
  /** Where the changes go on from. */
  readonly cursor: string
  readonly units: readonly ChartUnit[]
  readonly stays: readonly Stay[]
}

/** Reads the rows of values of `GET …/tape`. */
export function readTape({ types, statuses, sources, ...tape }: Tape): ChartTape {
  const from = dayOf(tape.from)
  const units = tape.units.map(readUnit)
  const stays = tape.stays.map((row): Stay => {
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
    }
  })
  return { from, to: dayOf(tape.to), today: dayOf(tape.today), cursor: tape.cursor, units, stays }
}

function readUnit(row: Tape['units'][number]): ChartUnit {
  const [slug, name, city, area, bedrooms, maxGuests, minStay, turnoverNights, , status] = row
  return { slug, name, city, area, bedrooms, maxGuests, minStay, turnoverNights, isArchived: status === 'archived' }
}
